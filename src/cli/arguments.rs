//! Commands and their arguments, as clap parses them. Reference 11.1.
//!
//! Doc comments are the help texts.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Parser, Subcommand};

use crate::config::file::CONFIG_ID;
use crate::config::options::{
    ConfigFileOption, DiskReserveOptions, LinkOptions, MessageOptions, ServeOptions,
    SharedStoreOptions, StoreOptions,
};
use crate::domain::directory::roles::ProRole;

/// A shared agenda with online booking.
#[derive(Debug, Parser)]
#[command(name = "slotbook", version, about)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

impl Cli {
    /// Returns the path of the configuration file, from the arguments or the environment.
    pub(crate) fn config_path(matches: &ArgMatches) -> Option<PathBuf> {
        let mut matches = matches;
        while let Some((_, subcommand_matches)) = matches.subcommand() {
            matches = subcommand_matches;
        }
        matches.get_one::<PathBuf>(CONFIG_ID).cloned()
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Serve the API until SIGTERM or SIGINT.
    Serve(Box<ServeOptions>),
    /// Fill a store from a JSON document, completely or not at all. No server may be using the
    /// store.
    Import {
        #[command(flatten)]
        store: StoreOptions,
        /// Allow a store that is not empty, and replace the groups that the document names.
        #[arg(long)]
        merge: bool,
        /// Print a small document with comments instead, as a beginning of your own.
        #[arg(long, conflicts_with_all = ["merge", "file", "schema"])]
        example: bool,
        /// Print the JSON Schema of documents instead.
        #[arg(long, conflicts_with_all = ["merge", "file"])]
        schema: bool,
        /// The document; `-` for stdin.
        #[arg(required_unless_present_any = ["example", "schema"])]
        file: Option<PathBuf>,
    },
    /// Write the whole content of a store as one JSON document, whether a server runs on it or not.
    ///
    /// The document holds the messages to clients, sent and queued. It leaves out sessions, stored
    /// answers of Idempotency-Keys, the tokens of mailed account links, the secret of unsubscribe
    /// links, and the origins of web bookings. Links that were mailed do not work in a store made
    /// from the document.
    Export {
        #[command(flatten)]
        store: StoreOptions,
        /// Write this group alone, with its professionals and the keys that cover no other group,
        /// as `GET groups/:id/export` answers it. By default the whole store is written.
        #[arg(long, value_name = "ID")]
        group: Option<u64>,
        /// The file to write; `-` for stdout.
        file: PathBuf,
    },
    /// Read a whole store, verify its checksums and invariants, and print counts. No server may be
    /// using the store. The store is copied first, so the disk needs room for a second one.
    Check(StoreOptions),
    /// Write a copy of a store into another directory, from which a server can be started.
    Backup {
        #[command(flatten)]
        store: StoreOptions,
        #[command(flatten)]
        disk: DiskReserveOptions,
        /// The directory to write: an empty one, or one that does not exist.
        dest: PathBuf,
    },
    /// Manage groups: the shops whose agendas the server keeps.
    #[command(subcommand)]
    Group(GroupCommand),
    /// Manage application keys, which every request to the API needs.
    #[command(subcommand)]
    Key(KeyCommand),
    /// Manage professionals, who log in to run groups.
    #[command(subcommand)]
    Pro(ProCommand),
    /// Manage the store that the servers of a cluster share, in PostgreSQL.
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Print a link that sets up the first shop of the store in a browser. A server must run on the
    /// store, which has no group yet. The link before ends.
    FirstRun(StoreOptions),
    /// Count or cancel the web bookings that came from the same source as one of them, with the
    /// same key.
    CancelAlike(Box<CancelAlikeArguments>),
    /// Print the messages of groups as `GET groups/:id/messages` lists them, one JSON object a
    /// line. Messages that are kept instead of sent are printed with their text.
    Messages {
        #[command(flatten)]
        store: StoreOptions,
        #[command(flatten)]
        links: LinkOptions,
        /// Group whose messages are printed; may be repeated. All groups by default.
        #[arg(long = "group", alias = "groups", value_name = "ID", value_delimiter = ',')]
        groups: Vec<u64>,
    },
    /// Print the history of a group, latest first, as `GET groups/:id/history` lists it, one JSON
    /// object a line.
    History {
        #[command(flatten)]
        store: StoreOptions,
        #[command(flatten)]
        rows: HistoryArguments,
    },
    /// Erase a client for good, whether a server runs on the store or not; or repeat the erasures
    /// that a list names, on a store that was restored from a backup.
    Forget(Box<ForgetArguments>),
    /// Make two new generations of the store, so that no file of it holds any more what was erased.
    /// A server does it by itself within a day after an erasure.
    Compact {
        #[command(flatten)]
        store: StoreOptions,
        #[command(flatten)]
        disk: DiskReserveOptions,
        /// Do it now.
        #[arg(long, required = true)]
        now: bool,
    },
    /// Send a test message to an e-mail address or a telephone number.
    MessageTest {
        #[command(flatten)]
        config_file: ConfigFileOption,
        #[command(flatten)]
        options: Box<MessageOptions>,
        /// E-mail address, or telephone number with its country prefix.
        #[arg(long)]
        to: String,
    },
    /// Print every option with its current value, as a configuration file.
    Config(Box<ServeOptions>),
}

/// The clients to erase.
#[derive(Args, Debug)]
pub(crate) struct ForgetArguments {
    #[command(flatten)]
    pub(crate) store: StoreOptions,
    /// Group of the client.
    #[arg(long, value_name = "ID", required_unless_present = "from", requires = "fiche")]
    pub(crate) group: Option<u64>,
    /// Id of the client's fiche.
    #[arg(long, value_name = "ID", requires = "group")]
    pub(crate) fiche: Option<u64>,
    /// Cancel the client's upcoming appointments, without a message.
    #[arg(long, requires = "fiche")]
    pub(crate) cancel: bool,
    /// Erase the clients of this list instead, the file `forgotten` of a data directory. Upcoming
    /// appointments are cancelled. Records that were made at another time are left alone.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["group", "fiche", "cancel"])]
    pub(crate) from: Option<PathBuf>,
}

/// The rows of a history to print.
#[derive(Args, Debug)]
pub(crate) struct HistoryArguments {
    /// Group whose history is printed.
    #[arg(long, value_name = "ID")]
    pub(crate) group: u64,
    /// Only rows about this object, such as vevent:12 or fiche:7.
    #[arg(long, value_name = "KIND:ID")]
    pub(crate) object: Option<String>,
    /// Only rows of this author, such as professional:7, server or unknown.
    #[arg(long, value_name = "AUTHOR")]
    pub(crate) author: Option<String>,
    /// Only rows from this moment on, as YYYY-MM-DD HH:MM:SS on the clocks of the group.
    #[arg(long, value_name = "MOMENT")]
    pub(crate) from: Option<String>,
    /// Only rows before this moment.
    #[arg(long, value_name = "MOMENT")]
    pub(crate) to: Option<String>,
    /// Print logins, exports, and changes of keys and professionals in place of other changes.
    #[arg(long, conflicts_with_all = ["object", "author"])]
    pub(crate) access: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Make the shared store in a database without one, as a user who may create schemas.
    Init {
        #[command(flatten)]
        config_file: ConfigFileOption,
        #[command(flatten)]
        shared: SharedStoreOptions,
        /// Role of PostgreSQL as which the servers connect. It may call functions only.
        #[arg(long, value_name = "NAME")]
        role: String,
    },
    /// Fill a shared store that was never used with the content of a data directory, which no
    /// server may be using.
    Import {
        #[command(flatten)]
        store: StoreOptions,
        #[command(flatten)]
        shared: SharedStoreOptions,
    },
    /// Put the newest formats in force that all servers of a cluster know, once the newer release
    /// runs on each. A server of the older release cannot come back after that.
    Raise {
        #[command(flatten)]
        config_file: ConfigFileOption,
        #[command(flatten)]
        shared: SharedStoreOptions,
        /// Address, as in its --advertise, of a server that is gone for good without having left;
        /// may be repeated.
        #[arg(long, value_name = "URL")]
        without: Vec<String>,
    },
    /// Print what is in force in a cluster, and its servers: which one decides, their last beats,
    /// releases, formats and time zone data, and whether they may take over.
    Status {
        #[command(flatten)]
        config_file: ConfigFileOption,
        #[command(flatten)]
        shared: SharedStoreOptions,
    },
    /// Have the server that decides answer what is under way, and pass the decision on to another
    /// one, without an error for any client. It then ends with exit code 71, to be started again.
    HandOver {
        #[command(flatten)]
        config_file: ConfigFileOption,
        #[command(flatten)]
        shared: SharedStoreOptions,
        /// URL at which others reach the server that is to decide, as `cluster status` prints it.
        /// Without it, the follower that has read most.
        #[arg(long, value_name = "URL", default_value = "")]
        to: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum GroupCommand {
    /// Add a group and print its id, whether a server runs on the store or not. A directory without
    /// a store gets one.
    Add {
        #[command(flatten)]
        store: StoreOptions,
        /// Name of the group.
        name: String,
        /// Name of its time zone: an IANA name, such as Europe/Paris, or one that the API lists,
        /// such as Paris.
        #[arg(long, value_name = "NAME")]
        timezone: String,
        /// Another field of the group by its name in the API, such as phone; may be repeated.
        #[arg(long = "set", value_name = "FIELD=VALUE", value_parser = parse_field)]
        fields: Vec<(String, String)>,
    },
    /// List the groups: id, name in addresses, time zone, name.
    List(StoreOptions),
}

/// Parses a field and its value.
fn parse_field(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) => Ok((name.trim().to_owned(), value.to_owned())),
        None => Err("write it as in phone=0199001230".to_owned()),
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Create a key and print it. It is shown only once: the store keeps its SHA-256.
    Add {
        #[command(flatten)]
        store: StoreOptions,
        /// Name of the key in lists. Empty by default.
        #[arg(long, default_value = "", hide_default_value = true)]
        label: String,
        /// Group that the key covers; may be repeated.
        #[arg(long = "group", alias = "groups", value_name = "ID", value_delimiter = ',')]
        #[arg(required_unless_present_any = ["all_groups", "operator"])]
        #[arg(conflicts_with_all = ["all_groups", "operator"])]
        groups: Vec<u64>,
        /// The key covers all groups, also those that are added later.
        #[arg(long)]
        all_groups: bool,
        /// The key is held by a site's own server or a trusted integration, whose address stands
        /// for many clients: its bookings are not counted by source address.
        #[arg(long)]
        server: bool,
        /// The key is held by a program of the operator: it covers all groups and may add groups by
        /// `POST groups`. Its bookings are not counted by source address.
        #[arg(long, conflicts_with = "server")]
        operator: bool,
        /// Origin of a site whose pages may book and log people in with the key, such as
        /// https://rdv.example.org; may be repeated. `none`, the default, is for a key that no
        /// page has, such as one of a server.
        #[arg(long = "origin", value_name = "ORIGIN", value_delimiter = ',')]
        origins: Vec<String>,
    },
    /// Change the holder of a key, or the origins whose pages may use it.
    Set {
        #[command(flatten)]
        store: StoreOptions,
        /// Id of the key as listed, its label, or the key itself.
        key: String,
        /// The key is held by a site's own server or a trusted integration, whose address stands
        /// for many clients: its bookings are not counted by source address.
        #[arg(long, conflicts_with = "no_server")]
        #[arg(required_unless_present_any = ["no_server", "operator", "origins", "no_origins"])]
        server: bool,
        /// The key is held by a program of the operator, which may add groups. It must cover all
        /// groups.
        #[arg(long, conflicts_with_all = ["server", "no_server"])]
        operator: bool,
        /// The public can read the key, for instance in a page: its bookings are counted by source
        /// address.
        #[arg(long)]
        no_server: bool,
        /// Origin of a site whose pages may book and log people in with the key; may be repeated.
        /// It replaces the origins that the key had. `none` for a key that no page has.
        #[arg(long = "origin", value_name = "ORIGIN", value_delimiter = ',')]
        #[arg(conflicts_with = "no_origins")]
        origins: Vec<String>,
        /// The same as `--origin none`.
        #[arg(long)]
        no_origins: bool,
    },
    /// Revoke a key and end every session that it opened.
    Revoke {
        #[command(flatten)]
        store: StoreOptions,
        /// Id of the key as listed, its label, or the key itself.
        key: String,
    },
    /// List the keys: id, groups, holder, label.
    List(StoreOptions),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProCommand {
    /// Add a professional, with a password from stdin; or add groups to an existing one.
    Add(Box<AddProArguments>),
    /// Set a professional's password, read from stdin, and end all their sessions.
    Password {
        #[command(flatten)]
        store: StoreOptions,
        /// E-mail address of the professional.
        email: String,
    },
    /// Give a professional another role.
    Set {
        #[command(flatten)]
        store: StoreOptions,
        /// E-mail address of the professional.
        email: String,
        /// Group in which the role changes; may be repeated. All of the professional's by default.
        #[arg(long = "group", alias = "groups", value_name = "ID", value_delimiter = ',')]
        groups: Vec<u64>,
        #[command(flatten)]
        role: RoleArguments,
    },
    /// Remove a professional, who cannot log in any more. All their sessions end.
    Remove {
        #[command(flatten)]
        store: StoreOptions,
        /// E-mail address of the professional.
        email: String,
        /// Group to remove the professional from; may be repeated. All groups by default.
        #[arg(long = "group", alias = "groups", value_name = "ID", value_delimiter = ',')]
        groups: Vec<u64>,
    },
    /// Remove the second factor of a professional who has lost the telephone. The password stays.
    SecondFactor {
        #[command(flatten)]
        store: StoreOptions,
        /// E-mail address of the professional whose second factor is removed.
        #[arg(long, value_name = "EMAIL")]
        remove: String,
    },
    /// List the professionals: id, e-mail address, groups, name.
    List(StoreOptions),
}

#[derive(Debug, Args)]
pub(crate) struct CancelAlikeArguments {
    #[command(flatten)]
    pub(crate) store: StoreOptions,
    /// Id of one of the appointments. Without one those of every source and key are meant.
    pub(crate) appointment: Option<u64>,
    /// Group of the appointments.
    #[arg(long, value_name = "ID")]
    pub(crate) group: u64,
    /// Time from which bookings are meant, in the group's local time: `2026-03-02 08:00:00`.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: String,
    /// Time up to which bookings are meant. All later ones by default.
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Mean only bookings with a key alone, whose client gave no code.
    #[arg(long)]
    pub(crate) unverified: bool,
    /// Network that all share with the appointment. Of an IPv4 address both 56 and 48 are its /24.
    #[arg(long, value_parser = ["source", "56", "48"], requires = "appointment")]
    pub(crate) network: Option<String>,
    /// Number of bookings to cancel, as counted before. Without it they are only counted.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) count: Option<usize>,
    /// Send no messages to the clients.
    #[arg(long)]
    pub(crate) quietly: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AddProArguments {
    #[command(flatten)]
    pub(crate) store: StoreOptions,
    /// E-mail address to log in with. Each professional has one of their own.
    pub(crate) email: String,
    /// Group that the professional works for; may be repeated. The only group by default.
    #[arg(long = "group", alias = "groups", value_name = "ID", value_delimiter = ',')]
    pub(crate) groups: Vec<u64>,
    /// Group meant by paths without a group. The first group by default.
    #[arg(long, value_name = "ID")]
    pub(crate) main: Option<u64>,
    /// Last name. Empty by default.
    #[arg(long, default_value = "", hide_default_value = true)]
    pub(crate) lastname: String,
    /// First name. Empty by default.
    #[arg(long, default_value = "", hide_default_value = true)]
    pub(crate) firstname: String,
    /// Mobile phone number. Empty by default.
    #[arg(long, default_value = "", hide_default_value = true)]
    pub(crate) cellphone: String,
    #[command(flatten)]
    pub(crate) role: RoleArguments,
}

/// The role of a professional in groups.
#[derive(Debug, Args)]
pub(crate) struct RoleArguments {
    /// Role in the groups.
    #[arg(long, default_value = "administrator", value_parser = ProRole::NAMES)]
    pub(crate) role: String,
    /// Calendar of the professional's own; may be repeated. Only with the role professional.
    #[arg(long = "calendar", alias = "calendars", value_name = "ID", value_delimiter = ',')]
    pub(crate) calendars: Vec<u64>,
    /// Let the professional read the calendars of others and all clients. Only with the role
    /// professional.
    #[arg(long)]
    pub(crate) reads_all: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_declaration_of_all_commands_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_help_of_a_command_shows_its_own_options_with_their_defaults() {
        let help = |name: &str| {
            let mut command = Cli::command();
            let subcommand = command.find_subcommand_mut(name).expect("it is a command");
            subcommand.render_help().to_string()
        };
        for (name, shown, hidden) in [
            ("check", "[env: SLOTBOOK_DATA=", "--listen"),
            ("check", "[default: ./slotbook-data]", "--smtp-host"),
            ("serve", "[default: 127.0.0.1:8080]", "--merge"),
            ("serve", "[default: slotbook=info,warn]", "--to"),
            ("backup", "--disk-reserve-mib", "--journal-mib"),
            ("messages", "--public-url", "--sms-url"),
            ("message-test", "[possible values: starttls, tls, none]", "--data"),
        ] {
            let help = help(name);
            assert!(help.contains(shown) && !help.contains(hidden), "{name}: {help}");
        }
    }

    #[test]
    fn the_help_of_export_says_what_the_document_leaves_out() {
        let mut command = Cli::command();
        let export = command.find_subcommand_mut("export").expect("it is a command");
        let help = export.render_long_help().to_string();
        let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "sessions",
            "Idempotency-Keys",
            "tokens of mailed account links",
            "secret of unsubscribe",
        ] {
            assert!(words.contains(part), "{part}: {help}");
        }
    }

    #[test]
    fn every_command_takes_a_configuration_file() {
        let mut commands = vec![Cli::command()];
        while let Some(command) = commands.pop() {
            if command.has_subcommands() {
                commands.extend(command.get_subcommands().cloned());
            } else {
                let found = command.get_arguments().any(|option| option.get_id() == CONFIG_ID);
                assert!(found, "{}", command.get_name());
            }
        }
    }

    #[test]
    fn the_configuration_file_is_found_at_any_depth() {
        for arguments in [
            &["slotbook", "key", "list", "--config", "a.toml"][..],
            &["slotbook", "check", "--config", "a.toml"],
        ] {
            let matches = Cli::command().try_get_matches_from(arguments).expect("they are legal");
            assert_eq!(Cli::config_path(&matches), Some(PathBuf::from("a.toml")));
        }
    }
}
