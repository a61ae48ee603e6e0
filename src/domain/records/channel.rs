//! Channels by which a message reaches a client. Reference 7.5.

use serde::{Deserialize, Serialize};

/// The channel of a message. The order of the variants is the format on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[expect(missing_docs, reason = "e-mail and text message are the only channels")]
pub enum Channel {
    Mail,
    Sms,
}

impl Channel {
    /// Both channels.
    pub const ALL: [Self; 2] = [Self::Mail, Self::Sms];

    /// The channel's name in metrics and lists.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_have_the_names_of_the_reference() {
        assert_eq!(Channel::ALL.map(Channel::name), ["mail", "sms"]);
    }
}
