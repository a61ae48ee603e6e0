//! The program's command line: the server and the operator's commands. Reference 11.1.

mod arguments;
mod cluster;
#[cfg(test)]
mod cluster_simulation;
mod compaction;
mod documents;
mod error;
mod forget;
mod freed_memory;
mod hand_over;
mod history;
mod import_counts;
mod joined_cluster;
mod logging;
mod maintenance;
mod messages;
mod metrics;
mod operator;
mod passed_counts;
mod passed_sessions;
mod people;
mod process_end;
mod runtime;
mod serve;
mod serve_cluster;
mod serve_threads;
mod served_log;
mod service_parts;
mod serving;
mod startup_warnings;
mod terminal;
mod upkeep;

use std::process::ExitCode;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _};

use crate::cli::arguments::{Cli, CliCommand};
use crate::cli::error::CommandError;
use crate::cli::terminal::{print, print_error};
use crate::config::ConfigError;
use crate::config::file::ConfigFile;
use crate::config::listing::list_options;
use crate::http::import_schema;

/// Parses the arguments of the process and runs the command that they name.
pub fn run() -> ExitCode {
    match parse_and_execute() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&error.to_string());
            ExitCode::from(error.exit_code())
        }
    }
}

fn parse_and_execute() -> Result<(), CommandError> {
    let mut matches = Cli::command().get_matches();
    if let Some(path) = Cli::config_path(&matches) {
        // Parsed again: the file's values are now the defaults of the options.
        let file = ConfigFile::read(&path)?;
        matches = file.replace_defaults(Cli::command()).get_matches();
    }
    refuse_secret_arguments(&matches)?;
    match Cli::from_arg_matches(&matches) {
        Ok(cli) => execute(cli.command, &matches),
        Err(error) => error.exit(),
    }
}

/// Refuses a password on the command line. clap knows it as an option all the same, for its
/// environment variable and its key in the configuration file.
fn refuse_secret_arguments(matches: &ArgMatches) -> Result<(), ConfigError> {
    let mut innermost = matches;
    while let Some((_, subcommand_matches)) = innermost.subcommand() {
        innermost = subcommand_matches;
    }
    const SECRETS: [(&str, &str, &str); 2] = [
        ("smtp_password", "smtp-password", "SLOTBOOK_SMTP_PASSWORD"),
        ("shared_password", "shared-password", "SLOTBOOK_SHARED_PASSWORD"),
    ];
    for (id, flag, variable) in SECRETS {
        if innermost.ids().any(|known| known == id)
            && innermost.value_source(id) == Some(ValueSource::CommandLine)
        {
            return Err(ConfigError::SecretArgument { flag, variable });
        }
    }
    Ok(())
}

fn execute(command: CliCommand, matches: &ArgMatches) -> Result<(), CommandError> {
    match command {
        CliCommand::Serve(options) => serve::serve(&options),
        CliCommand::Import { example: true, .. } => {
            print(documents::EXAMPLE);
            Ok(())
        }
        CliCommand::Import { schema: true, .. } => {
            print(&import_schema());
            Ok(())
        }
        CliCommand::Import { store, merge, file, example: _, schema: _ } => {
            let file = file.expect("clap requires a file without --example and --schema");
            documents::import(&store.data, &file, merge)
        }
        CliCommand::Export { store, group, file } => documents::export(&store.data, group, &file),
        CliCommand::Check(store) => maintenance::check(&store.data),
        CliCommand::Backup { store, disk, dest } => {
            maintenance::back_up(&store.data, disk.disk_reserve_mib, &dest)
        }
        CliCommand::Group(command) => people::execute_group_command(command),
        CliCommand::Key(command) => people::execute_key_command(command),
        CliCommand::Pro(command) => people::execute_pro_command(command),
        CliCommand::Cluster(command) => cluster::execute(command),
        CliCommand::FirstRun(store) => people::print_first_run_link(&store),
        CliCommand::CancelAlike(arguments) => people::cancel_alike(&arguments),
        CliCommand::Messages { store, links, groups } => {
            messages::list(&store.data, &links.public_url, &groups)
        }
        CliCommand::History { store, rows } => history::list(&store.data, &rows),
        CliCommand::Compact { store, disk, now: _ } => {
            compaction::compact(&store.data, disk.disk_reserve_mib)
        }
        CliCommand::Forget(arguments) => forget::forget(&arguments),
        CliCommand::MessageTest { config_file: _, options, to } => {
            messages::send_test_message(&options, &to)
        }
        CliCommand::Config(_) => {
            if let Some((_, matches)) = matches.subcommand() {
                print(&list_options(matches));
            }
            Ok(())
        }
    }
}
