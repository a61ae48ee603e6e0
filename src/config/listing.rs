//! The listing of all options by `slotbook config`. Reference 11.3.

use std::fmt::Write as _;

use clap::{Arg, ArgMatches};
use toml::Value;

use crate::config::file::{CONFIG_ID, TomlType, all_options};

/// Returns every option with its current value, as a configuration file that would give it. Secrets
/// are left empty. `matches` must come from a command that has every option.
#[must_use]
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
        let (value, default) = (toml_value(toml_type, &value), toml_value(toml_type, &default));
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
