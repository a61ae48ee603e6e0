//! The origin of an appointment that was booked with a key alone or by an account. Reference 6.12.

use serde::{Deserialize, Serialize};

use crate::domain::records::channel::Channel;

/// The origin of a booking, as far as it can be compared with that of others. It shows neither the
/// address nor the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookingOrigin {
    /// Keyed hashes of the source and its networks, the widest first: 4 bytes of the /48 or /24, 4
    /// of the /56 or /24, 8 of the source. The key is a secret of the store. Of a booking by an
    /// earlier release, the first half of a hash of the source alone.
    pub source: [u8; 16],
    /// The first half of the SHA-256 of the application key.
    pub apikey: [u8; 16],
    /// The proof that links the booking to its client.
    pub proof: ClientProof,
}

/// The proof that links a web booking to its client. The order of the variants is the format on
/// disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientProof {
    /// It was booked by an account, whose address is proved.
    Account,
    /// None: it was booked with a key alone.
    KeyAlone,
    /// It was booked with a key, and a mailed code proved the client's address.
    MailedCode,
    /// It was booked with a key, and a texted code proved a number of the client.
    TextedCode,
}

/// A width of the networks by which sources are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkWidth {
    /// The source itself: an IPv4 address, or the /64 of an IPv6 address.
    Source,
    /// The /56 of an IPv6 address, or the /24 of an IPv4 address.
    Middle,
    /// The /48 of an IPv6 address, or the /24 of an IPv4 address.
    Widest,
}

impl NetworkWidth {
    /// Returns the part of a source's hash that its network shares, followed by zeros.
    #[must_use]
    pub fn network_of(self, source: [u8; 16]) -> [u8; 16] {
        let shared = match self {
            Self::Source => 16,
            Self::Middle => 8,
            Self::Widest => 4,
        };
        let mut network = [0; 16];
        network[..shared].copy_from_slice(&source[..shared]);
        network
    }
}

impl ClientProof {
    /// The proof by a code that was sent by a channel.
    pub const fn by_code(channel: Channel) -> Self {
        match channel {
            Channel::Mail => Self::MailedCode,
            Channel::Sms => Self::TextedCode,
        }
    }

    /// Whether the client's mail address is proved.
    pub const fn is_of_address(self) -> bool {
        matches!(self, Self::Account | Self::MailedCode)
    }

    /// Whether a caller with a key alone made the booking, with a code or without.
    pub const fn is_of_key(self) -> bool {
        !matches!(self, Self::Account)
    }
}

impl BookingOrigin {
    /// Whether another booking came from the same source, or a network of it, with the same key.
    pub fn is_like(&self, other: &Self, width: NetworkWidth) -> bool {
        let is_near = width.network_of(self.source) == width.network_of(other.source);
        is_near && self.apikey == other.apikey
    }
}
