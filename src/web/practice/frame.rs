//! The frame of the practice's own screens. Reference 15.

use crate::notify::language::Language;
use crate::web::practice::texts::frame::FrameTexts;

/// The screens that the frame leads to, in order.
pub(crate) const SECTIONS: &[Section] =
    &[Section::Agenda, Section::Clients, Section::Hours, Section::Settings, Section::History];

/// The path of the second factor below `/p/<urlname>`.
pub(crate) const SECOND_FACTOR_PATH: &str = "/second-factor";

/// A screen of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Agenda,
    /// The professional's own logins. The name of the professional leads there.
    Logins,
    Clients,
    Hours,
    Settings,
    History,
    /// The end of the first run. Nothing else leads there.
    Welcome,
}

impl Section {
    /// The path below `/p/<urlname>`.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Agenda => "/agenda",
            Self::Logins => "/logins",
            Self::Clients => "/clients",
            Self::Hours => "/hours",
            Self::Settings => "/settings",
            Self::History => "/history",
            Self::Welcome => "/welcome",
        }
    }

    /// The name that the frame shows.
    pub(crate) const fn label(self, text: &FrameTexts) -> &'static str {
        match self {
            Self::Agenda => text.agenda,
            Self::Logins => text.logins,
            Self::Clients => text.clients,
            Self::Hours => text.hours,
            Self::Settings => text.settings,
            Self::History => text.history,
            Self::Welcome => text.welcome,
        }
    }
}

/// The parts of a screen around its content.
pub(crate) struct ScreenFrame<'v> {
    pub(crate) lang: &'static str,
    pub(crate) text: &'static FrameTexts,
    pub(crate) title: String,
    pub(crate) style_url: String,
    pub(crate) script_url: String,
    pub(crate) other_lang: &'static str,
    /// This screen in the other language; empty for no way there.
    pub(crate) other_url: String,
    /// The professional who is logged in.
    pub(crate) person: Option<FramePerson>,
    /// The group that the screen is of, if it is of one.
    pub(crate) shop: Option<FrameShop<'v>>,
}

/// The professional in the frame.
pub(crate) struct FramePerson {
    /// The names, or else the address.
    pub(crate) name: String,
    /// The list of logins; `None` on a page that belongs to no group.
    pub(crate) logins: Option<SectionLink>,
    /// The form that logs out.
    pub(crate) logout_url: String,
    /// The choice of a group; empty with one group only.
    pub(crate) groups_url: String,
}

/// The group in the frame.
pub(crate) struct FrameShop<'v> {
    pub(crate) name: &'v str,
    pub(crate) home: String,
    pub(crate) links: Vec<SectionLink>,
}

/// A link to a screen of the group.
pub(crate) struct SectionLink {
    pub(crate) label: &'static str,
    pub(crate) url: String,
    pub(crate) is_current: bool,
}

/// The language that a screen offers beside its own.
pub(crate) const fn other_language(language: Language) -> Language {
    match language {
        Language::French => Language::English,
        Language::English => Language::French,
    }
}
