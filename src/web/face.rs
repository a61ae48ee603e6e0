//! The images and texts by which a group's pages are recognised. Reference 14.9.

use crate::domain::availability::postal_address::PostalAddress;
use crate::domain::records::group::Group;
use crate::domain::records::image::{Image, ImageSlot};
use crate::domain::state::group_state::GroupState;
use crate::notify::links::image_path;
use crate::web::group_path::booking_path;
use crate::web::map_link::map_url;
use crate::web::text::{Texts, fill};

/// An image on a page. Its dimensions keep its place while it loads.
pub(crate) struct ImageView {
    pub(crate) url: String,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl ImageView {
    pub(crate) fn new(group: &Group, image: &Image) -> Self {
        Self { url: image_path(group, image), width: image.width, height: image.height }
    }
}

/// The face of a group in the frame of its pages.
pub(crate) struct Face<'v> {
    /// The logo; `None` without one, or if the link hides it.
    pub(crate) logo: Option<ImageView>,
    /// The image above the first page; `None` without one.
    pub(crate) cover: Option<ImageView>,
    /// The words for those who do not see it.
    pub(crate) cover_alt: String,
    /// The icon: the logo, or an empty one.
    pub(crate) icon: String,
    /// One sentence about the pages, for search engines and previews of links.
    pub(crate) description: String,
    /// The address of the first page under the server's public one; empty if it is not known.
    pub(crate) shared_url: String,
    /// The address of the image of previews; empty without one.
    pub(crate) shared_image: String,
    /// The way in and how to get there.
    pub(crate) access: &'v str,
    /// Things to bring to each appointment.
    pub(crate) bring: &'v str,
    /// A search for the address on a map; empty without an address.
    pub(crate) map_url: String,
}

impl<'v> Face<'v> {
    /// Returns the face of a group with an address of these lines. `public_url` is the server's.
    pub(crate) fn new(
        state: &'v GroupState,
        text: &Texts,
        public_url: &str,
        hides_logo: bool,
        address: &[String],
    ) -> Self {
        let group = &state.catalogue.group;
        let logo = if hides_logo { None } else { find_image(state, ImageSlot::Logo) };
        let absolute = |path: String| {
            if public_url.is_empty() { String::new() } else { format!("{public_url}{path}") }
        };
        let shared =
            find_image(state, ImageSlot::Cover).or_else(|| find_image(state, ImageSlot::Logo));
        let town = PostalAddress::of_group(&state.catalogue).city.trim();
        let place = match town {
            "" => group.name.as_str().to_owned(),
            town => format!("{}, {town}", group.name.as_str()),
        };
        Self {
            cover: find_image(state, ImageSlot::Cover),
            cover_alt: fill(text.cover_alt, "group", group.name.as_str()),
            icon: logo.as_ref().map_or_else(|| "data:,".to_owned(), |logo| logo.url.clone()),
            logo,
            description: fill(text.page_about, "group", &place),
            shared_url: absolute(booking_path(group, "")),
            shared_image: shared.map_or_else(String::new, |image| absolute(image.url)),
            access: group.access_text.as_str().trim(),
            bring: group.bring_text.as_str().trim(),
            map_url: map_url(address),
        }
    }
}

/// Finds the image of a slot of a group.
pub(crate) fn find_image(state: &GroupState, slot: ImageSlot) -> Option<ImageView> {
    let image = state.images.in_slot(slot)?;
    Some(ImageView::new(&state.catalogue.group, image))
}
