//! Text messages in the GSM 03.38 alphabet, of which 160 characters fit in one message.
//! Reference 7.5.

/// Maximum length of a message in the GSM alphabet, in septets.
const GSM_SEPTETS_MAX: usize = 160;
/// Maximum length of a message with any other character, in UTF-16 code units.
const UTF16_UNITS_MAX: usize = 70;

/// The basic alphabet of GSM 03.38, without control characters.
const BASIC: &str = "@£$¥èéùìòÇØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà\n";
/// The extension table of GSM 03.38; each character takes two septets.
const EXTENDED: &str = "^{}\\[~]|€";

/// Returns `before`, `name` and `after` as one text that fits one message; `name` is cut to fit.
///
/// Accented letters outside the GSM alphabet lose their accent. If another character remains
/// outside it, the text is limited to 70 characters instead of 160.
pub(crate) fn fit_message(before: &str, name: &str, after: &str) -> String {
    let before = transliterate(before);
    let name = transliterate(name);
    let after = transliterate(after);
    let encoding = if [&before, &name, &after].iter().all(|text| is_gsm(text)) {
        Encoding::Gsm
    } else {
        Encoding::Utf16
    };
    let fixed = encoding.measure(&before) + encoding.measure(&after);
    let room = encoding.length_max().saturating_sub(fixed);
    let mut kept = String::new();
    for c in name.chars() {
        kept.push(c);
        if encoding.measure(&kept) > room {
            kept.pop();
            break;
        }
    }
    format!("{before}{}{after}", kept.trim_end())
}

/// Encoding of a text message.
#[derive(Clone, Copy)]
enum Encoding {
    Gsm,
    Utf16,
}

impl Encoding {
    const fn length_max(self) -> usize {
        match self {
            Self::Gsm => GSM_SEPTETS_MAX,
            Self::Utf16 => UTF16_UNITS_MAX,
        }
    }

    /// Returns the length of a text, in septets or in UTF-16 code units.
    fn measure(self, text: &str) -> usize {
        match self {
            Self::Gsm => {
                let mut septets = 0;
                for c in text.chars() {
                    septets += if EXTENDED.contains(c) { 2 } else { 1 };
                }
                septets
            }
            Self::Utf16 => text.encode_utf16().count(),
        }
    }
}

fn is_gsm(text: &str) -> bool {
    text.chars().all(|c| BASIC.contains(c) || EXTENDED.contains(c))
}

/// Replaces letters and punctuation outside the GSM alphabet by similar characters within it.
fn transliterate(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        let replacement = match c {
            'á' | 'â' | 'ã' | 'ā' | 'ą' => "a",
            'Á' | 'À' | 'Â' | 'Ã' => "A",
            'ç' | 'ć' | 'č' => "c",
            'Ć' | 'Č' => "C",
            'ê' | 'ë' | 'ē' | 'ę' | 'ě' => "e",
            'È' | 'Ê' | 'Ë' => "E",
            'í' | 'î' | 'ï' => "i",
            'Í' | 'Ì' | 'Î' | 'Ï' => "I",
            'ł' => "l",
            'Ł' => "L",
            'ń' => "n",
            'ó' | 'ô' | 'õ' => "o",
            'Ó' | 'Ò' | 'Ô' | 'Õ' => "O",
            'œ' => "oe",
            'Œ' => "OE",
            'ś' | 'š' => "s",
            'Ś' | 'Š' => "S",
            'ú' | 'û' => "u",
            'Ú' | 'Ù' | 'Û' => "U",
            'ý' | 'ÿ' => "y",
            'Ý' | 'Ÿ' => "Y",
            'ź' | 'ż' | 'ž' => "z",
            'Ź' | 'Ż' | 'Ž' => "Z",
            '‘' | '’' | '`' | '´' => "'",
            '“' | '”' | '«' | '»' => "\"",
            '–' | '—' | '‑' => "-",
            '…' => "...",
            '\u{a0}' | '\u{202f}' | '\t' => " ",
            _ => {
                plain.push(c);
                continue;
            }
        };
        plain.push_str(replacement);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut_so_that_the_text_has_160_characters() {
        let text = fit_message("Rappel : ", &"Clinique œil ".repeat(30), " le 03/03 11:00");
        assert_eq!(text.chars().count(), 160);
        assert!(text.ends_with(" le 03/03 11:00") && is_gsm(&text), "{text}");
    }

    #[test]
    fn french_accents_outside_the_alphabet_are_dropped() {
        assert_eq!(
            fit_message("", "Crêperie d’Août à Noël, ça été", ""),
            "Creperie d'Aout à Noel, ca été"
        );
        assert_eq!(fit_message("a", "", "€"), "a€");
    }

    #[test]
    fn a_text_in_another_alphabet_is_cut_at_70_characters() {
        let text = fit_message("", &"東京".repeat(60), " 11:00");
        assert_eq!(Encoding::Utf16.measure(&text), 70);
        assert!(text.ends_with(" 11:00"));
    }
}
