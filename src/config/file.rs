//! The configuration file: a TOML table of options. Reference 11.3.

use std::collections::BTreeMap;
use std::path::Path;

use clap::{Args as _, Command};
use toml::{Table, Value};

use crate::config::ConfigError;
use crate::config::options::ServeOptions;

/// Identifier of the option that names the configuration file. The file itself cannot hold it.
pub(crate) const CONFIG_ID: &str = "config";

/// Type that an option has in TOML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TomlType {
    Boolean,
    Integer,
    Text,
}

impl TomlType {
    /// Returns the type that the default of an option implies.
    pub(crate) fn from_default(default: &str) -> Self {
        if default.parse::<bool>().is_ok() {
            Self::Boolean
        } else if default.parse::<u64>().is_ok() {
            Self::Integer
        } else {
            Self::Text
        }
    }

    /// Returns a TOML value as the text that the command line would hold, if it is of this type.
    fn text(self, value: &Value) -> Result<String, &'static str> {
        match (self, value) {
            (Self::Boolean, Value::Boolean(value)) => Ok(value.to_string()),
            (Self::Integer, Value::Integer(value)) => Ok(value.to_string()),
            (Self::Text, Value::String(value)) => Ok(value.clone()),
            (Self::Boolean, _) => Err("true or false is needed"),
            (Self::Integer, _) => Err("a whole number is needed"),
            (Self::Text, _) => Err("a text in quotes is needed"),
        }
    }
}

/// Values of a configuration file, by option. All of them are legal.
#[derive(Debug)]
pub struct ConfigFile {
    values: BTreeMap<String, String>,
}

impl ConfigFile {
    /// Reads and checks a file. Options that the current command does not use are checked too.
    ///
    /// # Errors
    /// The file cannot be read, is not TOML, has an unknown key, or has an illegal value.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(reason) => {
                return Err(ConfigError::Unreadable { path: path.to_owned(), reason });
            }
        };
        let table: Table = match toml::from_str(&text) {
            Ok(table) => table,
            Err(reason) => {
                let reason = Box::new(reason);
                return Err(ConfigError::Syntax { path: path.to_owned(), reason });
            }
        };
        let mut values = BTreeMap::new();
        for (key, value) in table {
            let Some(default) = default_value(&key) else {
                return Err(ConfigError::UnknownKey { path: path.to_owned(), key });
            };
            match TomlType::from_default(&default).text(&value) {
                Ok(text) => drop(values.insert(key, text)),
                Err(rule) => {
                    let reason = format!("{key}: {rule}");
                    return Err(ConfigError::Value { path: path.to_owned(), reason });
                }
            }
        }
        let file = Self { values };
        // The environment is left out: an illegal value there is not an error of the file.
        let command = all_options().mut_args(|option| option.env(None));
        match file.replace_defaults(command).try_get_matches_from(["slotbook"]) {
            Ok(_) => Ok(file),
            Err(error) => {
                let reason = first_paragraph(&error.to_string());
                Err(ConfigError::Value { path: path.to_owned(), reason })
            }
        }
    }

    /// Returns the command with the values of the file as defaults of its options and of those of
    /// its subcommands. So the command line and the environment still come first.
    pub fn replace_defaults(&self, command: Command) -> Command {
        let command = command.mut_args(|option| match self.values.get(option.get_id().as_str()) {
            Some(value) => option.default_value(value.clone()),
            None => option,
        });
        command.mut_subcommands(|subcommand| self.replace_defaults(subcommand))
    }
}

/// Returns a command that has every option.
pub(crate) fn all_options() -> Command {
    ServeOptions::augment_args(Command::new("slotbook"))
}

/// Returns the default of an option that a file may hold; `None` for any other key.
fn default_value(key: &str) -> Option<String> {
    let command = all_options();
    let option = command.get_arguments().find(|option| option.get_id() == key)?;
    let default = option.get_default_values().first()?;
    Some(default.to_string_lossy().into_owned())
}

/// Returns the message of a clap error without its prefix and its usage hints.
fn first_paragraph(message: &str) -> String {
    let message = message.strip_prefix("error: ").unwrap_or(message);
    match message.split_once("\n\n") {
        Some((paragraph, _)) => paragraph.to_owned(),
        None => message.trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use clap::FromArgMatches as _;

    use super::*;
    use crate::config::listing::list_options;

    /// Parses all options with a configuration file of this text, without the environment.
    fn parse(text: &str, arguments: &[&str]) -> Result<(ServeOptions, String), ConfigError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("slotbook.toml");
        std::fs::write(&path, text).unwrap();
        let file = ConfigFile::read(&path)?;
        let command = all_options().mut_args(|option| option.env(None));
        let arguments = ["slotbook"].iter().chain(arguments);
        let matches = file.replace_defaults(command).try_get_matches_from(arguments).unwrap();
        Ok((ServeOptions::from_arg_matches(&matches).unwrap(), list_options(&matches)))
    }

    #[test]
    fn the_command_line_precedes_the_file_and_the_file_the_default() {
        let text = "data = 'file'\nlisten = '127.0.0.1:1'\nbehind_tls = true";
        let (options, _) = parse(text, &["--data", "given"]).unwrap();
        assert_eq!(options.store.data, PathBuf::from("given"));
        assert_eq!(options.listen.port(), 1);
        assert!(options.behind_tls && !options.demo);
        assert_eq!(options.connections_max, 10_000);
    }

    #[test]
    fn a_file_that_is_missing_or_wrong_is_refused_by_name() {
        for (text, reason) in [
            ("lissen = '127.0.0.1:1'", "unknown option lissen"),
            ("config = 'other.toml'", "unknown option config"),
            ("data = ", "line 1"),
            ("data = 5", "data: a text in quotes is needed"),
            ("connections_max = '5'", "connections_max: a whole number is needed"),
            ("behind_tls = 1", "behind_tls: true or false is needed"),
            ("connections_max = 0", "'--connections-max <NUMBER>': 0 is not in 1..=1000000"),
            ("smtp_tls = 'ssl'", "[possible values: starttls, tls, none]"),
            ("trusted_proxies = 'proxy'", "\"proxy\" is neither an IP address nor a network"),
        ] {
            let error = parse(text, &[]).unwrap_err().to_string();
            assert!(error.contains("slotbook.toml") && error.contains(reason), "{error}");
        }
        let error = ConfigFile::read(Path::new("/nonexistent.toml")).unwrap_err().to_string();
        assert!(error.contains("/nonexistent.toml"), "{error}");
    }

    #[test]
    fn the_listing_is_a_file_that_gives_the_same_options() {
        let changes =
            ["--listen=127.0.0.1:1", "--demo", "--smtp-host=m \"x\"", "--journal-mib=007"];
        let (_, listing) = parse("", &changes).unwrap();
        assert!(listing.contains("\njournal_mib = 7\n"), "{listing}");
        let (_, again) = parse(&listing, &[]).unwrap();
        assert_eq!(again, listing);
        assert!(
            listing.contains("--connections-max or SLOTBOOK_CONNECTIONS_MAX, by default 10000")
        );
    }

    #[test]
    fn the_listing_hides_secrets() {
        let (_, listing) = parse("", &["--smtp-password=hunter2"]).unwrap();
        assert!(listing.contains("smtp_password = \"\"\n") && !listing.contains("hunter2"));
    }
}
