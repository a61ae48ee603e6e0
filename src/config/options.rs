//! Options of the commands, each with its environment variable and default. Reference 11.3.
//!
//! The doc comment of a field is the option's help text. [`ServeOptions`] holds every option, so
//! that it also describes the configuration file.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::value_parser;

use crate::config::secret::Secret;
use crate::config::values::{Networks, OptionalAddress, SiteUrl, SmtpTls};
use crate::domain::state::recipient_quota::MessageQuota;
use crate::domain::state::space_quota::GROUP_MIB;
use crate::http::{BookingLimits, ForwardingHeader, SOURCE_CONNECTIONS_MAX};

/// Most MiB that an option may name: one PiB.
const MIB_MAX: u64 = 1 << 30;

/// The configuration file, for every command that has options.
#[derive(Clone, Debug, Args)]
pub struct ConfigFileOption {
    /// TOML file with values for options; `slotbook config` prints one.
    #[arg(long, env = "SLOTBOOK_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// Options of the commands that use a store.
#[derive(Clone, Debug, Args)]
pub struct StoreOptions {
    #[command(flatten)]
    pub config_file: ConfigFileOption,
    /// Directory of the store.
    #[arg(
        long,
        env = "SLOTBOOK_DATA",
        default_value = "./slotbook-data",
        value_name = "DIRECTORY"
    )]
    pub data: PathBuf,
}

/// Free space that writers leave on the disk.
#[derive(Clone, Debug, Args)]
pub struct DiskReserveOptions {
    /// Free space in MiB below which the server takes no writes, while reads go on.
    #[arg(long, env = "SLOTBOOK_DISK_RESERVE_MIB", default_value = "64", value_name = "MIB")]
    #[arg(value_parser = value_parser!(u64).range(0..=MIB_MAX))]
    pub disk_reserve_mib: u64,
}

/// Links in messages.
#[derive(Clone, Debug, Args)]
pub struct LinkOptions {
    /// URL at which clients reach this server; links in messages begin with it.
    #[arg(long, env = "SLOTBOOK_PUBLIC_URL", default_value = "http://127.0.0.1:8080")]
    #[arg(value_name = "URL")]
    pub public_url: SiteUrl,
}

/// Sending of mails and text messages.
#[derive(Clone, Debug, Args)]
pub struct MessageOptions {
    #[command(flatten)]
    pub links: LinkOptions,
    /// Host name of the SMTP server for mails. If empty, which is the default, mails are not sent
    /// but kept in the store.
    #[arg(long, env = "SLOTBOOK_SMTP_HOST", default_value = "", hide_default_value = true)]
    #[arg(value_name = "HOST")]
    pub smtp_host: String,
    /// Port of the SMTP server.
    #[arg(long, env = "SLOTBOOK_SMTP_PORT", default_value = "587", value_name = "PORT")]
    #[arg(value_parser = value_parser!(u16).range(1..))]
    pub smtp_port: u16,
    /// Encryption of the connection to the SMTP server.
    #[arg(long, env = "SLOTBOOK_SMTP_TLS", default_value = "starttls", value_name = "MODE")]
    pub smtp_tls: SmtpTls,
    /// PEM file of certificate authorities trusted for the SMTP server, beside the system's. None
    /// by default.
    #[arg(long, env = "SLOTBOOK_SMTP_CA_FILE", default_value = "", hide_default_value = true)]
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub smtp_ca_file: PathBuf,
    /// User name at the SMTP server. If empty, which is the default, no login is made.
    #[arg(long, env = "SLOTBOOK_SMTP_USER", default_value = "", hide_default_value = true)]
    #[arg(value_name = "NAME")]
    pub smtp_user: String,
    /// Password of that user, by environment variable or configuration file only; it is never
    /// shown. Empty by default.
    #[arg(long, env = "SLOTBOOK_SMTP_PASSWORD", default_value = "", hide_default_value = true)]
    #[arg(value_name = "PASSWORD", hide_env_values = true, hide = true)]
    pub smtp_password: Secret,
    /// File that holds the password instead. None by default.
    #[arg(
        long,
        env = "SLOTBOOK_SMTP_PASSWORD_FILE",
        default_value = "",
        hide_default_value = true
    )]
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub smtp_password_file: PathBuf,
    /// Sender address of mails.
    #[arg(long, env = "SLOTBOOK_MAIL_FROM", default_value = "slotbook@localhost")]
    #[arg(value_name = "ADDRESS")]
    pub mail_from: String,
    /// URL of the SMS gateway, to which text messages are posted as JSON. If empty, which is the
    /// default, they are not sent but kept in the store.
    #[arg(long, env = "SLOTBOOK_SMS_URL", default_value = "", hide_default_value = true)]
    #[arg(value_name = "URL")]
    pub sms_url: String,
    /// Bearer token for the SMS gateway; it is never shown. Empty by default.
    #[arg(long, env = "SLOTBOOK_SMS_TOKEN", default_value = "", hide_default_value = true)]
    #[arg(value_name = "TOKEN", hide_env_values = true)]
    pub sms_token: Secret,
    /// File that holds the token instead. None by default.
    #[arg(long, env = "SLOTBOOK_SMS_TOKEN_FILE", default_value = "", hide_default_value = true)]
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub sms_token_file: PathBuf,
    /// Longest duration in seconds of one attempt to deliver a message, 1 to 3600.
    #[arg(long, env = "SLOTBOOK_MESSAGE_SECONDS_MAX", default_value = "30")]
    #[arg(value_name = "SECONDS", value_parser = value_parser!(u64).range(1..=3_600))]
    pub message_seconds_max: u64,
}

/// Limits on bookings with a key alone and by accounts. 0 is no limit. A chain of several
/// interventions counts as that many bookings.
#[derive(Clone, Debug, Args)]
pub struct BookingLimitOptions {
    /// Maximum number of bookings from one source address within an hour; an IPv6 /64 network is
    /// one source, and keys of servers are not counted. 0 is no limit.
    #[arg(long, env = "SLOTBOOK_BOOKINGS_SOURCE_HOURLY_MAX")]
    #[arg(default_value_t = BookingLimits::DEFAULT.source_hourly_max)]
    #[arg(value_name = "NUMBER", value_parser = value_parser!(u32).range(0..=1_000_000))]
    pub bookings_source_hourly_max: u32,
    /// Maximum number of bookings from one source address within 24 hours. 0 is no limit.
    #[arg(long, env = "SLOTBOOK_BOOKINGS_SOURCE_DAILY_MAX")]
    #[arg(default_value_t = BookingLimits::DEFAULT.source_daily_max)]
    #[arg(value_name = "NUMBER", value_parser = value_parser!(u32).range(0..=1_000_000))]
    pub bookings_source_daily_max: u32,
    /// Maximum number of bookings for one e-mail address, or by one account, within an hour. 0 is
    /// no limit.
    #[arg(long, env = "SLOTBOOK_BOOKINGS_CLIENT_HOURLY_MAX")]
    #[arg(default_value_t = BookingLimits::DEFAULT.client_hourly_max)]
    #[arg(value_name = "NUMBER", value_parser = value_parser!(u32).range(0..=1_000_000))]
    pub bookings_client_hourly_max: u32,
    /// Maximum number of bookings with one key in one group within an hour. 0 is no limit.
    #[arg(long, env = "SLOTBOOK_BOOKINGS_KEY_HOURLY_MAX")]
    #[arg(default_value_t = BookingLimits::DEFAULT.key_hourly_max)]
    #[arg(value_name = "NUMBER", value_parser = value_parser!(u32).range(0..=1_000_000))]
    pub bookings_key_hourly_max: u32,
    /// Maximum number of codes of one group within 24 hours that were asked for with a key alone
    /// and not given. 0 is no limit.
    #[arg(long, env = "SLOTBOOK_CODES_DAILY_MAX", value_name = "NUMBER")]
    #[arg(default_value_t = BookingLimits::DEFAULT.codes_daily_max)]
    pub codes_daily_max: usize,
}

/// The store that the servers of a cluster share.
#[derive(Clone, Debug, Args)]
pub struct SharedStoreOptions {
    /// Database of PostgreSQL that the servers of a cluster share, as a URL:
    /// postgres://USER@HOST:PORT,HOST:PORT/DATABASE?sslmode=verify-full. Of several hosts, the
    /// writable one is used. If empty, which is the default, the store is in the directory.
    #[arg(long, env = "SLOTBOOK_SHARED", default_value = "", hide_default_value = true)]
    #[arg(value_name = "URL")]
    pub shared: String,
    /// Password of its user, by environment variable or configuration file only; it is never shown.
    /// Empty by default.
    #[arg(long, env = "SLOTBOOK_SHARED_PASSWORD", default_value = "", hide_default_value = true)]
    #[arg(value_name = "PASSWORD", hide_env_values = true, hide = true)]
    pub shared_password: Secret,
    /// File that holds that password instead. None by default.
    #[arg(long, env = "SLOTBOOK_SHARED_PASSWORD_FILE", default_value = "")]
    #[arg(hide_default_value = true, value_name = "FILE")]
    #[arg(value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub shared_password_file: PathBuf,
}

/// Options of `slotbook serve`, which are all options.
#[derive(Clone, Debug, Args)]
pub struct ServeOptions {
    #[command(flatten)]
    pub store: StoreOptions,
    #[command(flatten)]
    pub shared: SharedStoreOptions,
    /// URL at which the other servers of a cluster reach this one, as in http://10.0.0.2:8080.
    /// Needed with --shared.
    #[arg(long, env = "SLOTBOOK_ADVERTISE", default_value = "", hide_default_value = true)]
    #[arg(value_name = "URL")]
    pub advertise: String,
    /// Address and port to serve the API on.
    #[arg(long, env = "SLOTBOOK_LISTEN", default_value = "127.0.0.1:8080", value_name = "ADDRESS")]
    pub listen: SocketAddr,
    /// Fill an empty store with a demonstration.
    #[arg(long, env = "SLOTBOOK_DEMO", default_value = "false", value_name = "BOOL")]
    #[arg(action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true")]
    pub demo: bool,
    /// Start in a directory without a store, too, as at a terminal. The store is made with the
    /// first shop: by the first run in a browser, or by `slotbook group add`. By default such a
    /// start is refused, since a volume may not be mounted.
    #[arg(long, env = "SLOTBOOK_CREATE", default_value = "false", value_name = "BOOL")]
    #[arg(action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true")]
    pub create: bool,
    /// Maximum number of concurrent connections, 1 to 1000000.
    #[arg(long, env = "SLOTBOOK_CONNECTIONS_MAX", default_value = "10000", value_name = "NUMBER")]
    #[arg(value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub connections_max: u32,
    /// Maximum number of concurrent connections of one source, an IPv4 address or an IPv6 /64
    /// network; 0 for no maximum. It is at most half of the connections. Behind a trusted proxy,
    /// requests under way are counted for each client in place of the proxy's connections.
    #[arg(long, env = "SLOTBOOK_SOURCE_CONNECTIONS_MAX")]
    #[arg(default_value_t = SOURCE_CONNECTIONS_MAX)]
    #[arg(value_name = "NUMBER", value_parser = value_parser!(u32).range(0..=1_000_000))]
    pub source_connections_max: u32,
    /// Address and port to serve Prometheus metrics on, at /metrics. If empty, which is the
    /// default, they are not served.
    #[arg(long, env = "SLOTBOOK_METRICS_LISTEN", default_value = "", hide_default_value = true)]
    #[arg(value_name = "ADDRESS")]
    pub metrics_listen: OptionalAddress,
    #[command(flatten)]
    pub disk: DiskReserveOptions,
    /// Size in MiB from which a journal is compacted, if it is also larger than half of the
    /// snapshots.
    #[arg(long, env = "SLOTBOOK_JOURNAL_MIB", default_value = "64", value_name = "MIB")]
    #[arg(value_parser = value_parser!(u64).range(0..=MIB_MAX))]
    pub journal_mib: u64,
    /// Set `Secure` on session cookies (use behind an HTTPS proxy).
    #[arg(long, env = "SLOTBOOK_BEHIND_TLS", default_value = "false", value_name = "BOOL")]
    #[arg(action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true")]
    pub behind_tls: bool,
    /// Addresses and networks of proxies that are believed about the addresses of their clients,
    /// with commas between them. None by default.
    #[arg(long, env = "SLOTBOOK_TRUSTED_PROXIES", default_value = "", hide_default_value = true)]
    #[arg(value_name = "NETWORKS")]
    pub trusted_proxies: Networks,
    /// Header in which these proxies name their clients; the other one is ignored.
    #[arg(long, env = "SLOTBOOK_FORWARDING_HEADER", default_value = "x-forwarded-for")]
    #[arg(value_name = "HEADER")]
    pub forwarding_header: ForwardingHeader,
    /// Addresses and networks inside which receivers of webhooks may be, beside the internet, with
    /// commas between them. Those of this machine may use http. None by default.
    #[arg(long, env = "SLOTBOOK_WEBHOOK_ALLOW", default_value = "", hide_default_value = true)]
    #[arg(value_name = "NETWORKS")]
    pub webhook_allow: Networks,
    /// List the groups with a booking page at `/`, if there are several.
    #[arg(long, env = "SLOTBOOK_LIST_GROUPS", default_value = "false", value_name = "BOOL")]
    #[arg(action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true")]
    pub list_groups: bool,
    #[command(flatten)]
    pub messages: MessageOptions,
    /// Maximum number of messages of one group to one recipient within 24 hours. Requests with a
    /// key alone cause at most half of them.
    #[arg(long, env = "SLOTBOOK_MESSAGES_DAILY_MAX", value_name = "NUMBER")]
    #[arg(default_value_t = MessageQuota::DEFAULT.recipient_daily_max)]
    pub messages_daily_max: usize,
    /// Maximum number of messages of one group within 24 hours that requests with a key alone
    /// cause, to all recipients. 0 is no limit.
    #[arg(long, env = "SLOTBOOK_MESSAGES_BY_KEY_DAILY_MAX")]
    #[arg(default_value_t = MessageQuota::DEFAULT.by_key_daily_max)]
    #[arg(value_name = "NUMBER")]
    pub messages_by_key_daily_max: usize,
    #[command(flatten)]
    pub booking_limits: BookingLimitOptions,
    /// Days after which deleted events are removed for good, at most 36500; 0 keeps them for ever.
    #[arg(long, env = "SLOTBOOK_KEEP_DELETED_DAYS", default_value = "0", value_name = "DAYS")]
    #[arg(value_parser = value_parser!(u32).range(0..=36_500))]
    pub keep_deleted_days: u32,
    /// Days after which cancelled web bookings lose their texts, and clients that never had others
    /// their personal fields, at most 36500; 0 keeps them.
    #[arg(long, env = "SLOTBOOK_EMPTY_CANCELLED_DAYS", default_value = "30", value_name = "DAYS")]
    #[arg(value_parser = value_parser!(u32).range(0..=36_500))]
    pub empty_cancelled_days: u32,
    /// Size in MiB that the records of one group may reach. At 80 % applications write no more, at
    /// 90 % clients with accounts; 0 for no limit.
    #[arg(long, env = "SLOTBOOK_GROUP_MIB", default_value_t = GROUP_MIB, value_name = "MIB")]
    #[arg(value_parser = value_parser!(u64).range(0..=MIB_MAX))]
    pub group_mib: u64,
    /// Log levels on stderr: one for all, and `target=level` for a module and those below it.
    #[arg(long, env = "SLOTBOOK_LOG", default_value = "slotbook=info,warn", value_name = "FILTER")]
    pub log: String,
}
