//! QR codes as drawings.

use qrcodegen::{QrCode, QrCodeEcc};

/// Modules of the quiet zone around a QR code, as its standard asks.
const QUIET_ZONE: i32 = 4;

/// A QR code as one SVG path.
pub(crate) struct QrDrawing {
    /// Modules on each side, with the quiet zone.
    pub(crate) side: i32,
    pub(crate) path: String,
}

impl QrDrawing {
    /// Draws a text; `None` beyond 2,953 bytes, which no code holds.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let code = QrCode::encode_text(text, QrCodeEcc::Low).ok()?;
        let mut path = String::new();
        for y in 0..code.size() {
            for x in 0..code.size() {
                if code.get_module(x, y) {
                    path += &format!("M{} {}h1v1h-1z", x + QUIET_ZONE, y + QUIET_ZONE);
                }
            }
        }
        Some(Self { side: code.size() + 2 * QUIET_ZONE, path })
    }
}
