//! Text messages in the alphabet of the telephone network, of which 160 characters fit in one. Reference 7.

/// Characters of one message in the GSM alphabet.
const GSM_MAX: usize = 160;
/// Characters of one message in any other.
const OTHER_MAX: usize = 70;

/// The basic alphabet of GSM 03.38, without control characters.
const BASIC: &str = "@£$¥èéùìòÇØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà\n";
/// Characters that take two places.
const EXTENDED: &str = "^{}\\[~]|€";

/// A text that fits one message: `before`, as much of `name` as there is room for, `after`. Letters that the alphabet lacks
/// lose their accents; where a letter remains that it does not have at all, 70 characters fit.
#[must_use]
pub(super) fn fitted(before: &str, name: &str, after: &str) -> String {
    let [before, name, after] = [before, name, after].map(plain);
    let all = format!("{before}{name}{after}");
    let (length, max) =
        if is_gsm(&all) { (places as fn(&str) -> usize, GSM_MAX) } else { (units as _, OTHER_MAX) };
    let room = max.saturating_sub(length(&before) + length(&after));
    let mut kept = String::new();
    for c in name.chars() {
        kept.push(c);
        if length(&kept) > room {
            kept.pop();
            break;
        }
    }
    format!("{before}{}{after}", kept.trim_end())
}

fn is_gsm(text: &str) -> bool {
    text.chars().all(|c| BASIC.contains(c) || EXTENDED.contains(c))
}

fn places(text: &str) -> usize {
    text.chars().map(|c| if EXTENDED.contains(c) { 2 } else { 1 }).sum()
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Letters that the alphabet lacks, by what stands for them.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        let stand_in = match c {
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
        plain.push_str(stand_in);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut_so_that_160_characters_are_enough() {
        let text = fitted("Rappel : ", &"Clinique œil ".repeat(30), " le 03/03 11:00");
        assert_eq!(text.chars().count(), 160);
        assert!(text.ends_with(" le 03/03 11:00") && is_gsm(&text), "{text}");
    }

    #[test]
    fn accents_of_french_stay_or_go() {
        assert_eq!(
            fitted("", "Crêperie d’Août à Noël, ça été", ""),
            "Creperie d'Aout à Noel, ca été"
        );
        assert_eq!(fitted("a", "", "€"), "a€");
    }

    #[test]
    fn another_alphabet_is_kept_and_cut_at_70() {
        let text = fitted("", &"東京".repeat(60), " 11:00");
        assert_eq!(units(&text), 70);
        assert!(text.ends_with(" 11:00"));
    }
}
