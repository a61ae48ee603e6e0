//! Options of the program. Reference 11.3.
//!
//! An option comes from the command line, else its environment variable, else the configuration
//! file, else its default. clap layers three of these itself, and the values of the file replace
//! clap's defaults ([`file::ConfigFile::replace_defaults`]). A layering library such as figment
//! would hide the defaults from `--help` and bring a second TOML parser.

pub mod file;
pub mod listing;
pub mod options;
pub mod secret;
pub mod values;

use std::path::PathBuf;

use thiserror::Error;

/// A configuration that cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The configuration file cannot be read.
    #[error("the configuration file {} cannot be read: {reason}", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        reason: std::io::Error,
    },
    /// The configuration file is not TOML.
    #[error("the configuration file {} is wrong: {reason}", path.display())]
    Syntax {
        /// Path of the file.
        path: PathBuf,
        /// Error of the TOML parser, with its line.
        reason: Box<toml::de::Error>,
    },
    /// The configuration file has a key that is not an option.
    #[error(
        "the configuration file {} is wrong: unknown option {key}; `slotbook config` lists all",
        path.display()
    )]
    UnknownKey {
        /// Path of the file.
        path: PathBuf,
        /// The unknown key.
        key: String,
    },
    /// The configuration file gives an option a value that it does not allow.
    #[error("the configuration file {} is wrong: {reason}", path.display())]
    Value {
        /// Path of the file.
        path: PathBuf,
        /// The option, the value and the rule that it breaks.
        reason: String,
    },
    /// A secret on the command line, which every user of the machine can read.
    #[error(
        "--{flag} is not taken from the command line, which other users can read: \
         give --{flag}-file, or the environment variable {variable}"
    )]
    SecretArgument {
        /// Name of the option.
        flag: &'static str,
        /// Its environment variable.
        variable: &'static str,
    },
    /// A file that holds a secret cannot be read.
    #[error("{option}: {} cannot be read: {reason}", path.display())]
    Secret {
        /// The option that names the file.
        option: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        reason: std::io::Error,
    },
}
