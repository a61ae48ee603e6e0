//! The application keys, and what each may do. Reference 3.1.

use serde::{Deserialize, Deserializer, Serialize};

use crate::domain::identity::site_origin::SiteOrigin;
use crate::domain::records::added::{in_format_2, in_format_2_or};
use crate::domain::records::ids::GroupId;
use crate::domain::records::text::Text;
use crate::planted_faults::PlantedFault;

/// An application key. Reference 3.1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Apikey {
    /// The label that the operator gave it.
    pub label: Text<255>,
    /// The groups it covers, ascending; `None` for all groups.
    pub groups: Option<Vec<GroupId>>,
    /// The program that holds the key.
    #[serde(deserialize_with = "holder_unless_known")]
    pub holder: ApikeyHolder,
    /// The origins of other sites whose pages may log people in with this key, in the order in
    /// which they were given. Reference 3.3.
    #[serde(deserialize_with = "in_format_2")]
    pub origins: Vec<SiteOrigin>,
}

/// The program that holds an application key. Reference 3.1. The order of the variants is the
/// format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ApikeyHolder {
    /// A page or program of the public, which can read the key.
    Public,
    /// A site's own server or a trusted integration. Its source address stands for many clients.
    Server,
    /// Unknown: the key comes from a store that did not hold this. It counts as a server's.
    Unknown,
    /// A program of the operator, which may also found groups. The key covers all groups.
    Operator,
}

/// Decodes the holder of a key; unknown in records of format 1.
fn holder_unless_known<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<ApikeyHolder, D::Error> {
    in_format_2_or(deserializer, ApikeyHolder::Unknown)
}

impl Apikey {
    /// Whether the key covers a group.
    #[must_use]
    pub fn covers(&self, group: GroupId) -> bool {
        if PlantedFault::ForeignGroupKeyAccepted.is_active() {
            return true;
        }
        match &self.groups {
            Some(groups) => groups.binary_search(&group).is_ok(),
            None => true,
        }
    }

    /// Whether pages of an origin, as a browser sends it, may log people in with this key.
    #[must_use]
    pub fn names_origin(&self, origin: &str) -> bool {
        match SiteOrigin::new(origin) {
            Ok(origin) => self.origins.contains(&origin),
            Err(_) => false,
        }
    }

    /// Whether the key counts as one of a server.
    #[must_use]
    pub const fn is_server(&self) -> bool {
        match self.holder {
            ApikeyHolder::Public => false,
            ApikeyHolder::Server | ApikeyHolder::Unknown | ApikeyHolder::Operator => true,
        }
    }

    /// Whether the key is held by the operator.
    #[must_use]
    pub fn is_operator(&self) -> bool {
        self.holder == ApikeyHolder::Operator
    }
}
