//! Secret option values. Reference 11.3.

use std::convert::Infallible;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::config::ConfigError;

/// A secret text. Its `Debug` form hides it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Returns the content of `file` without trailing white space, or the text itself if `file` is
    /// empty. `option` is the option that named the file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn reveal(&self, option: &'static str, file: &Path) -> Result<String, ConfigError> {
        if file.as_os_str().is_empty() {
            return Ok(self.0.clone());
        }
        match std::fs::read_to_string(file) {
            Ok(text) => Ok(text.trim_end().to_owned()),
            Err(reason) => Err(ConfigError::Secret { option, path: file.to_owned(), reason }),
        }
    }
}

impl FromStr for Secret {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
