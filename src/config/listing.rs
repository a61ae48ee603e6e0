//! The listing of all options by `slotbook config`. Reference 11.3.

use std::fmt::Write as _;

use clap::{Arg, ArgMatches};
use toml::Value;

use crate::config::file::{CONFIG_ID, TomlType, all_options};

/// Returns every option with its current value, as a configuration file that would give it. Secrets
/// are left empty. `matches` must come from a command that has every option.
pub fn list_options(matches: &ArgMatches) -> String {
    let mut listing = String::new();
    for option in all_options().get_arguments() {
        let key = option.get_id().as_str();
        if key == CONFIG_ID {
            continue;
        }
        let default = match option.get_default_values().first() {
            Some(default) => default.to_string_lossy().into_owned(),
            None => String::new(),
        };
        let toml_type = TomlType::from_default(&default);
        let value = current_value(option, matches);
        let value = toml_value(toml_type, &value);
        let default = toml_value(toml_type, &default);
        let help = option.get_help().map(ToString::to_string).unwrap_or_default();
        let flag = option.get_long().unwrap_or(key);
        let variable = option.get_env().unwrap_or_default().to_string_lossy();
        writeln!(
            listing,
            "# {help}: --{flag} or {variable}, by default {default}.\n{key} = {value}"
        )
        .expect("writing to a String cannot fail");
    }
    listing
}

/// Returns the current value as it was written; the empty text for a secret.
fn current_value(option: &Arg, matches: &ArgMatches) -> String {
    if option.is_hide_env_values_set() {
        return String::new();
    }
    let Some(mut values) = matches.get_raw(option.get_id().as_str()) else { return String::new() };
    match values.next() {
        Some(value) => value.to_string_lossy().into_owned(),
        None => String::new(),
    }
}

fn toml_value(toml_type: TomlType, text: &str) -> Value {
    match toml_type {
        TomlType::Boolean if let Ok(boolean) = text.parse() => Value::Boolean(boolean),
        TomlType::Integer if let Ok(number) = text.parse() => Value::Integer(number),
        TomlType::Boolean | TomlType::Integer | TomlType::Text => Value::String(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Options of the table in docs/configuration.md, each with its default.
    fn documented() -> BTreeMap<String, String> {
        let table = include_str!("../../docs/configuration.md");
        let mut options = BTreeMap::new();
        for row in table.lines().filter(|line| line.starts_with("| `--")) {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let [_, name, default, ..] = cells[..] else { panic!("{row}") };
            let default = match default.trim_matches('`') {
                "empty" => String::new(),
                default => default.to_owned(),
            };
            let digits = default.replace(',', "");
            let default = if digits.parse::<u64>().is_ok() { digits } else { default };
            options.insert(name.trim_matches('`').to_owned(), default);
        }
        options
    }

    #[test]
    fn the_documentation_lists_every_option_with_its_default() {
        let mut actual = BTreeMap::new();
        for option in all_options().get_arguments().filter(|option| !option.is_hide_set()) {
            let Some(default) = option.get_default_values().first() else { continue };
            let flag = format!("--{}", option.get_long().expect("every option has a name"));
            actual.insert(flag, default.to_string_lossy().into_owned());
        }
        assert_eq!(documented(), actual);
    }
}
