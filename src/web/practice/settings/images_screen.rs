//! The images of a group: logo, cover, and a photo of each calendar. Reference 15.18.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::records::image::ImageSlot;
use crate::domain::state::command::Command;
use crate::domain::state::refusal::Refusal;
use crate::engine::Rejection;
use crate::http::{ApiError, make_in_turn, removal_command, set_command};
use crate::web::face::ImageView;
use crate::web::page::{Privacy, redirect, render, respond};
use crate::web::practice::frame::{ScreenFrame, Section};
use crate::web::practice::message;
use crate::web::practice::settings::part::Part;
use crate::web::practice::settings::upload::ProUpload;
use crate::web::practice::texts::images::ImagesTexts;
use crate::web::practice::texts::settings::SettingsTexts;
use crate::web::practice::visit::ProVisit;
use crate::web::text::fill;
use crate::wire::field::Audience;
use crate::wire::image::ImageFault;

#[derive(Template)]
#[template(path = "web/practice/images.html")]
struct ImagesScreen<'v> {
    frame: ScreenFrame<'v>,
    text: &'static ImagesTexts,
    settings: &'static SettingsTexts,
    back_url: String,
    action: String,
    is_saved: bool,
    slots: Vec<SlotView>,
}

/// A slot with its image.
struct SlotView {
    /// Its name in forms.
    name: String,
    title: String,
    image: Option<ImageView>,
    /// The words for those who do not see the image.
    alt: String,
    /// The sentence of what is wrong; empty without a fault.
    fault: String,
}

/// A fault of a form: the slot, and the sentence.
type SlotFault = (ImageSlot, String);

/// GET /p/{urlname}/settings/images.
pub(crate) async fn show(visit: ProVisit) -> Response {
    respond_with_slots(&visit, StatusCode::OK, None)
}

/// POST /p/{urlname}/settings/images: puts the `file` into the `slot`, or empties it if the form
/// says `remove`.
pub(crate) async fn change(mut form: ProUpload) -> Response {
    let Some(slot) = ImageSlot::from_name(form.text("slot")) else {
        return message::not_found(&form.visit.request);
    };
    if !form.text("remove").is_empty() {
        return write(form.visit, slot, removal_command(slot)).await;
    }
    let file = form.take_file("file");
    let visit = form.visit;
    match make_in_turn(&visit.request.pages.server, slot, file).await {
        Ok(Ok(image)) => write(visit, slot, set_command(slot, image)).await,
        Ok(Err(fault)) => {
            let fault = in_words(ImagesTexts::in_language(visit.language()), fault);
            respond_with_slots(&visit, StatusCode::BAD_REQUEST, Some((slot, fault)))
        }
        Err(error) => message::failed(&visit.request, &error),
    }
}

async fn write(visit: ProVisit, slot: ImageSlot, command: Command) -> Response {
    let engine = &visit.request.pages.server.engine;
    let saved = || redirect(&visit.url(&Part::Images.path(), &[("saved", "1")]));
    match engine.write(visit.group().id, visit.author(), command).await {
        Ok(_) => saved(),
        Err(Rejection::Refused(refusals)) => match refusals[..] {
            // It was emptied meanwhile, or its calendar was deleted.
            [Refusal::NoResult] => saved(),
            _ => {
                let fault = ImagesTexts::in_language(visit.language()).fault_space.to_owned();
                respond_with_slots(&visit, StatusCode::BAD_REQUEST, Some((slot, fault)))
            }
        },
        Err(rejection) => {
            let error = ApiError::from_rejection(rejection, visit.zone(), Audience::Pro);
            message::failed(&visit.request, &error)
        }
    }
}

fn in_words(text: &ImagesTexts, fault: ImageFault) -> String {
    let sentence = match fault {
        ImageFault::Empty => text.fault_none,
        ImageFault::Bytes(_) => text.fault_bytes,
        ImageFault::Text => text.fault_text,
        ImageFault::Format => text.fault_format,
        ImageFault::Pixels(width, height) => {
            let words = fill(text.fault_pixels, "width", &width.to_string());
            return fill(&words, "height", &height.to_string());
        }
        ImageFault::Scans | ImageFault::Broken => text.fault_broken,
    };
    sentence.to_owned()
}

fn respond_with_slots(visit: &ProVisit, status: StatusCode, fault: Option<SlotFault>) -> Response {
    let text = ImagesTexts::in_language(visit.language());
    let settings = SettingsTexts::in_language(visit.language());
    let mut slots = vec![(ImageSlot::Logo, text.logo.to_owned())];
    slots.push((ImageSlot::Cover, text.cover.to_owned()));
    for calendar in visit.state.catalogue.live_calendars() {
        let title = fill(text.photo, "name", calendar.name.as_str());
        slots.push((ImageSlot::Calendar(calendar.id), title));
    }
    let view = |(slot, title): (ImageSlot, String)| SlotView {
        name: slot.to_string(),
        image: visit.state.images.in_slot(slot).map(|it| ImageView::new(visit.group(), it)),
        alt: fill(text.shown, "slot", &title),
        fault: match &fault {
            Some((faulty, words)) if *faulty == slot => words.clone(),
            Some(_) | None => String::new(),
        },
        title,
    };
    let screen = ImagesScreen {
        frame: visit.frame(settings.images, Section::Settings),
        text,
        settings,
        back_url: visit.url(Section::Settings.path(), &[]),
        action: visit.url(&Part::Images.path(), &[]),
        is_saved: visit.request.params.value("saved").is_some(),
        slots: slots.into_iter().map(view).collect(),
    };
    respond(status, Privacy::Client, render(&screen))
}
