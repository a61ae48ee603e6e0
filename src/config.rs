//! The options: on the command line, in the environment, in a TOML file, or by default, in this order. Reference 11.

mod values;

use std::fmt::Write as _;
use std::net::{AddrParseError, IpAddr, SocketAddr};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::values::{NoSite, OutOfBounds, SiteUrl, Within};

/// Most MiB that an option may name: a PiB.
const MIB_MAX: u64 = 1 << 30;

/// Why the options cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration file {} cannot be read: {reason}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: std::io::Error,
    },
    /// A file that holds a secret cannot be read.
    #[error("{option}: {} cannot be read: {reason}", path.display())]
    Secret {
        /// The option that names it.
        option: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        reason: std::io::Error,
    },
    /// The file says something else than options.
    #[error("the configuration file {} is wrong: {reason}", path.display())]
    Wrong {
        /// Which.
        path: PathBuf,
        /// What is wrong, with its line.
        reason: Box<toml::de::Error>,
    },
}

/// How the connection to an SMTP server is kept secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum SmtpTls {
    /// The server must offer STARTTLS.
    Starttls,
    /// From the first byte.
    Tls,
    /// Not at all: for a server on the same machine.
    None,
}

/// A text that nobody is shown.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The text itself, or what the file holds where `option` names one.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn reveal(&self, option: &'static str, file: &Path) -> Result<String, ConfigError> {
        if file.as_os_str().is_empty() {
            return Ok(self.0.clone());
        }
        let unreadable = |reason| ConfigError::Secret { option, path: file.to_owned(), reason };
        Ok(std::fs::read_to_string(file).map_err(unreadable)?.trim_end().to_owned())
    }
}

impl std::str::FromStr for Secret {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

impl Serialize for Secret {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("")
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// An address, or none: written as nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct MaybeAddress(pub Option<SocketAddr>);

impl FromStr for MaybeAddress {
    type Err = AddrParseError;

    fn from_str(text: &str) -> Result<Self, AddrParseError> {
        let text = text.trim();
        if text.is_empty() {
            Ok(Self(None))
        } else {
            text.parse().map(|address| Self(Some(address)))
        }
    }
}

impl TryFrom<String> for MaybeAddress {
    type Error = AddrParseError;

    fn try_from(text: String) -> Result<Self, AddrParseError> {
        text.parse()
    }
}

impl From<MaybeAddress> for String {
    fn from(address: MaybeAddress) -> Self {
        address.0.map_or_else(Self::new, |address| address.to_string())
    }
}

/// Networks, written with commas between: `10.0.0.0/8,2001:db8::1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Networks(pub Vec<IpNet>);

/// What is no network.
#[derive(Debug, Error)]
#[error("{0:?} is neither an IP address nor a network such as 10.0.0.0/8")]
pub struct NoNetwork(String);

impl FromStr for Networks {
    type Err = NoNetwork;

    fn from_str(text: &str) -> Result<Self, NoNetwork> {
        let network = |entry: &str| {
            let alone =
                || entry.parse().ok().map(|address: IpAddr| IpNet::from(address.to_canonical()));
            entry.parse().ok().or_else(alone).ok_or_else(|| NoNetwork(entry.to_owned()))
        };
        text.split(',')
            .map(str::trim)
            .filter(|entry| !entry.is_empty())
            .map(network)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl TryFrom<String> for Networks {
    type Error = NoNetwork;

    fn try_from(text: String) -> Result<Self, NoNetwork> {
        text.parse()
    }
}

impl From<Networks> for String {
    fn from(networks: Networks) -> Self {
        networks.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }
}

/// Makes, from one line per option: what the command line and the environment gave, what the file gave, what holds,
/// and the list of all options.
macro_rules! options {
    ($($name:ident: $kind:ty = $default:expr, $env:literal, $help:literal $(, [$($flag:tt)*])?;)*) => {
        /// Options as the command line and the environment gave them.
        #[derive(Clone, Debug, Default, clap::Args)]
        pub struct Given {
            /// A TOML file with any of these options.
            #[arg(long, env = "SLOTBOOK_CONFIG", value_name = "FILE")]
            pub config: Option<PathBuf>,
            $(#[doc = $help]
            #[arg(long, env = $env $(, $($flag)*)?)]
            pub $name: Option<$kind>,)*
        }

        /// Options as the file gave them.
        #[derive(Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            $($name: Option<$kind>,)*
        }

        /// The options that hold.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Config {
            $(#[doc = $help]
            pub $name: $kind,)*
        }

        impl Config {
            fn of(given: Given, file: File) -> Self {
                Self { $($name: given.$name.or(file.$name).unwrap_or_else(|| $default),)* }
            }

            /// Every option with the value that holds, as a TOML file that would give it.
            #[must_use]
            pub fn listing(&self) -> String {
                let mut listing = String::new();
                $(
                    let default: $kind = $default;
                    let [value, default] = [&self.$name, &default]
                        .map(|value| toml::Value::try_from(value).expect("options are plain values"));
                    let flag = concat!("--", stringify!($name)).replace('_', "-");
                    let from = format!("{flag} or {}, by default {default}", $env);
                    writeln!(listing, "# {}: {from}.\n{} = {value}", $help, stringify!($name))
                        .expect("memory takes all that is written");
                )*
                listing
            }
        }
    };
}

options! {
    listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 8_080)), "SLOTBOOK_LISTEN",
        "The address to serve on";
    data: PathBuf = PathBuf::from("./slotbook-data"), "SLOTBOOK_DATA",
        "The directory of the store";
    demo: bool = false, "SLOTBOOK_DEMO",
        "Fill an empty store with a demonstration when serving", [num_args = 0..=1, require_equals = true, default_missing_value = "true"];
    connections_max: Within<1, 1_000_000> = Within::new(10_000), "SLOTBOOK_CONNECTIONS_MAX",
        "Connections served at once at most";
    metrics_listen: MaybeAddress = MaybeAddress::default(), "SLOTBOOK_METRICS_LISTEN",
        "The address to serve figures for Prometheus on, at /metrics; empty for nowhere";
    disk_reserve_mib: Within<0, MIB_MAX> = Within::new(64), "SLOTBOOK_DISK_RESERVE_MIB",
        "Free space in MiB below which the disk takes no more writes, while reads go on";
    journal_mib: Within<0, MIB_MAX> = Within::new(64), "SLOTBOOK_JOURNAL_MIB",
        "Size in MiB above which a journal that is also larger than half of the snapshots gives way to new ones";
    behind_tls: bool = false, "SLOTBOOK_BEHIND_TLS",
        "Browsers reach the server over TLS alone, so that they keep sessions to it", [num_args = 0..=1, require_equals = true, default_missing_value = "true"];
    trusted_proxies: Networks = Networks::default(), "SLOTBOOK_TRUSTED_PROXIES",
        "Addresses and networks, with commas between, of proxies that are believed about whom they serve";
    public_url: SiteUrl = "http://127.0.0.1:8080".parse().expect("it is an address"), "SLOTBOOK_PUBLIC_URL",
        "What links in messages begin with: where the world reaches this server";
    smtp_host: String = String::new(), "SLOTBOOK_SMTP_HOST",
        "The SMTP server that takes mails; without one they are kept in the store to be read";
    smtp_port: NonZeroU16 = NonZeroU16::new(587).expect("it is not 0"), "SLOTBOOK_SMTP_PORT",
        "Its port";
    smtp_tls: SmtpTls = SmtpTls::Starttls, "SLOTBOOK_SMTP_TLS",
        "How its connection is kept secret: starttls, tls or none";
    smtp_ca_file: PathBuf = PathBuf::new(), "SLOTBOOK_SMTP_CA_FILE",
        "A PEM file of authorities that may vouch for it beside those of the machine";
    smtp_user: String = String::new(), "SLOTBOOK_SMTP_USER",
        "Whom to log in there as; nobody where empty";
    smtp_password: Secret = Secret::default(), "SLOTBOOK_SMTP_PASSWORD",
        "The password of that user; it is never shown", [hide_env_values = true];
    smtp_password_file: PathBuf = PathBuf::new(), "SLOTBOOK_SMTP_PASSWORD_FILE",
        "A file that holds the password instead";
    mail_from: String = "slotbook@localhost".to_owned(), "SLOTBOOK_MAIL_FROM",
        "The address that mails come from";
    sms_url: String = String::new(), "SLOTBOOK_SMS_URL",
        "Where text messages are posted as JSON; without it they are kept in the store to be read";
    sms_token: Secret = Secret::default(), "SLOTBOOK_SMS_TOKEN",
        "The bearer token for it; it is never shown", [hide_env_values = true];
    sms_token_file: PathBuf = PathBuf::new(), "SLOTBOOK_SMS_TOKEN_FILE",
        "A file that holds the token instead";
    messages_daily_max: usize = 20, "SLOTBOOK_MESSAGES_DAILY_MAX",
        "Most messages of one group to one recipient within 24 hours; a key alone causes half of them at most";
    message_seconds_max: Within<1, 3_600> = Within::new(30), "SLOTBOOK_MESSAGE_SECONDS_MAX",
        "How long one attempt to hand a message over may take";
    keep_deleted_days: Within<0, 36_500> = Within::new(0), "SLOTBOOK_KEEP_DELETED_DAYS",
        "Days after which deleted events are removed for good, or 0 to keep them for ever";
    log: String = "slotbook=info,warn".to_owned(), "SLOTBOOK_LOG",
        "What is logged on stderr, as a tracing filter";
}

impl Given {
    /// The options that hold: what was given, else what the file says, else the defaults.
    ///
    /// # Errors
    /// A file that cannot be read or holds anything but options.
    pub fn resolve(self) -> Result<Config, ConfigError> {
        let file = self.config.as_deref().map(file).transpose()?.unwrap_or_default();
        Ok(Config::of(self, file))
    }
}

fn file(path: &Path) -> Result<File, ConfigError> {
    let unreadable = |reason| ConfigError::Unreadable { path: path.to_owned(), reason };
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    toml::from_str(&text)
        .map_err(|reason| ConfigError::Wrong { path: path.to_owned(), reason: Box::new(reason) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_file(text: &str, given: Given) -> Result<Config, ConfigError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("slotbook.toml");
        std::fs::write(&path, text).unwrap();
        Given { config: Some(path), ..given }.resolve()
    }

    #[test]
    fn what_is_given_wins_over_the_file_and_the_file_over_the_default() {
        let given = Given { data: Some("given".into()), ..Given::default() };
        let config = with_file("data = 'file'\nlisten = '127.0.0.1:1'", given).unwrap();
        assert_eq!(config.data, PathBuf::from("given"));
        assert_eq!(config.listen.port(), 1);
        assert_eq!(config.connections_max.number(), 10_000);
    }

    #[test]
    fn an_unknown_key_and_a_missing_file_are_told() {
        let wrong = with_file("lissen = '127.0.0.1:1'", Given::default()).unwrap_err().to_string();
        assert!(wrong.contains("lissen"), "{wrong}");
        let missing = Given { config: Some("/nonexistent.toml".into()), ..Given::default() };
        assert!(missing.resolve().unwrap_err().to_string().contains("/nonexistent.toml"));
    }

    #[test]
    fn networks_are_addresses_or_prefixes() {
        let networks: Networks =
            " 10.0.0.0/8, 127.0.0.1 ,,2001:db8::/32,::ffff:192.0.2.1".parse().unwrap();
        let written = "10.0.0.0/8,127.0.0.1/32,2001:db8::/32,192.0.2.1/32";
        assert_eq!(String::from(networks.clone()), written);
        assert_eq!(
            with_file(&format!("trusted_proxies = '{written}'"), Given::default())
                .unwrap()
                .trusted_proxies,
            networks
        );
        for bad in ["10.0.0.0/33", "proxy.example.org", "10.0.0", "10.0.0.1:80"] {
            let told = bad.parse::<Networks>().unwrap_err().to_string();
            assert!(told.contains(bad), "{told}");
        }
    }

    #[test]
    fn the_listing_is_a_file_that_gives_the_same_options() {
        let config = Given::default().resolve().unwrap();
        assert_eq!(with_file(&config.listing(), Given::default()).unwrap(), config);
        assert!(
            config
                .listing()
                .contains("--connections-max or SLOTBOOK_CONNECTIONS_MAX, by default 10000")
        );
    }
}
