//! Warnings to the professionals of a group. Reference 7.3.

use serde::{Deserialize, Serialize};

use crate::domain::records::ids::WebhookId;

/// A warning to the professionals of a group. The order of the variants is the format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ShopWarning {
    /// Half of the codes of a day were asked for and not given.
    CodesHalfUsed,
    /// Far more bookings than usual were made, and the group asks for codes now.
    CodesAsked,
    /// The group asks for codes no more.
    CodesNoLongerAsked,
    /// A webhook delivers no more.
    WebhookOff(WebhookId),
}
