//! Signatures of deliveries, by the rules of Standard Webhooks. Reference 18.5.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::domain::state::webhooks::webhook::WebhookSecret;
use crate::planted_faults::PlantedFault;

/// Returns the value of the header `webhook-signature`: one signature for each secret, with a space
/// between them.
pub fn sign<'s>(
    secrets: impl IntoIterator<Item = &'s WebhookSecret>,
    id: &str,
    timestamp: i64,
    body: &[u8],
) -> String {
    let mut signatures = Vec::with_capacity(2);
    for secret in secrets {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.bits()).expect("any length is a key");
        mac.update(id.as_bytes());
        if !PlantedFault::WebhookTimeUnsigned.is_active() {
            mac.update(format!(".{timestamp}").as_bytes());
        }
        mac.update(b".");
        mac.update(body);
        signatures.push(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())));
    }
    signatures.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected value was computed with Python's `hmac`.
    #[test]
    fn a_signature_is_that_of_standard_webhooks() {
        let secret = WebhookSecret::new([7; 32]);
        let signed = sign([&secret], "msg_1", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,4tb+MnkCTqymlrGQQ6f66PPeMjMas7AHx6XI40qL5MA=");
        let both = sign([&secret, &WebhookSecret::new([8; 32])], "msg_1", 1_614_265_330, b"{}");
        assert_eq!(both.split(' ').count(), 2);
    }
}
