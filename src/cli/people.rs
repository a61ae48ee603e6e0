//! The operator's commands about keys and professionals. Reference 11.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use clap::{Args, Subcommand};
use sha2::{Digest as _, Sha256};

use crate::cli::operator::{Request, ask};
use crate::cli::{Failed, complain, print};
use crate::config::Given;
use crate::engine::randomness::Randomness;
use crate::password::{hash_password, sha1_hex};

/// Characters of a password at most.
const PASSWORD_MAX: usize = 255;

#[derive(Debug, Subcommand)]
pub(super) enum KeyCommand {
    /// Makes a key and prints it, once: only its SHA-256 is kept.
    Add {
        #[command(flatten)]
        given: Given,
        /// What the key is called in lists.
        #[arg(long, default_value = "")]
        label: String,
        /// A group that it covers; may be given several times. Without any it covers all groups.
        #[arg(long = "group", alias = "groups", value_name = "ID", value_delimiter = ',')]
        groups: Vec<u64>,
    },
    /// Ends a key, and with it every session that it opened.
    Revoke {
        #[command(flatten)]
        given: Given,
        /// Its id as in the list, its label, or the key itself.
        key: String,
    },
    /// Lists the keys: id, groups, label.
    List {
        #[command(flatten)]
        given: Given,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum ProCommand {
    /// Adds a professional, whose password is read from stdin; or further groups to one who is known.
    Add(Box<NewPro>),
    /// Gives a professional the password that is read from stdin; every session of theirs ends.
    Password {
        #[command(flatten)]
        given: Given,
        /// Whose.
        email: String,
    },
    /// Lists the professionals: id, address, groups, name.
    List {
        #[command(flatten)]
        given: Given,
    },
}

#[derive(Debug, Args)]
pub(super) struct NewPro {
    #[command(flatten)]
    given: Given,
    /// The address that they log in with: one person per address.
    email: String,
    /// A group that they work for; may be given several times, and left out where there is only one.
    #[arg(long = "group", alias = "groups", value_name = "ID", value_delimiter = ',')]
    groups: Vec<u64>,
    /// The group that paths without a group mean; the first where it is left out.
    #[arg(long, value_name = "ID")]
    main: Option<u64>,
    /// Last name.
    #[arg(long, default_value = "")]
    lastname: String,
    /// First name.
    #[arg(long, default_value = "")]
    firstname: String,
    /// Mobile phone.
    #[arg(long, default_value = "")]
    cellphone: String,
}

/// Carries out a command about keys.
pub(super) fn key(command: KeyCommand) -> Result<(), Failed> {
    match command {
        KeyCommand::Add { given, label, groups } => {
            let mut draws = Randomness::from_os();
            let key = format!("{}{}", draws.key().as_str(), draws.key().as_str());
            let groups = (!groups.is_empty()).then_some(groups);
            let request = Request::AddKey { sha256: Sha256::digest(&key).into(), label, groups };
            ask(&given.resolve()?.data, &request, &mut io::sink())?;
            print(&format!("{key}\n"));
            Ok(())
        }
        KeyCommand::Revoke { given, key } => {
            let request = Request::RevokeKey { sha256: Sha256::digest(&key).into(), said: key };
            ask(&given.resolve()?.data, &request, &mut io::sink())
        }
        KeyCommand::List { given } => list(&given.resolve()?.data, &Request::ListKeys),
    }
}

/// Carries out a command about professionals.
pub(super) fn pro(command: ProCommand) -> Result<(), Failed> {
    match command {
        ProCommand::Add(new) => add_pro(*new),
        ProCommand::Password { given, email } => {
            let data = given.resolve()?.data;
            if !is_known(&data, &email)? {
                return Err(Failed::Refused(format!("no professional has the address {email}")));
            }
            let password_hash = new_password(&email)?;
            ask(&data, &Request::SetPassword { email, password_hash }, &mut io::sink())
        }
        ProCommand::List { given } => list(&given.resolve()?.data, &Request::ListPros),
    }
}

fn list(data: &Path, request: &Request) -> Result<(), Failed> {
    let mut text = Vec::new();
    ask(data, request, &mut text)?;
    print(&String::from_utf8_lossy(&text));
    Ok(())
}

fn is_known(data: &Path, email: &str) -> Result<bool, Failed> {
    let mut found = Vec::new();
    ask(data, &Request::FindPro { email: email.to_owned() }, &mut found)?;
    Ok(!found.is_empty())
}

fn add_pro(new: NewPro) -> Result<(), Failed> {
    let NewPro { given, email, groups, main, lastname, firstname, cellphone } = new;
    let data = given.resolve()?.data;
    let known = is_known(&data, &email)?;
    let password_hash = if known { None } else { Some(new_password(&email)?) };
    let said = email.clone();
    let request =
        Request::AddPro { email, password_hash, lastname, firstname, cellphone, groups, main };
    ask(&data, &request, &mut io::sink())?;
    if known {
        complain(&format!(
            "{said} was known: the groups are added; name and password stay as they were"
        ));
    }
    Ok(())
}

/// A password for somebody, at rest: the first line of stdin, asked for where a person sits there.
fn new_password(email: &str) -> Result<String, Failed> {
    let password = if io::stdin().is_terminal() {
        let password = typed(&format!("New password of {email}: "))?;
        if typed("The same again: ")? != password {
            return Err(Failed::Refused("the two passwords differ; nothing was done".into()));
        }
        password
    } else {
        first_line()?
    };
    let length = password.chars().count();
    if length == 0 || length > PASSWORD_MAX {
        return Err(Failed::Refused(format!(
            "the password, the first line of stdin, must have 1 to {PASSWORD_MAX} characters"
        )));
    }
    Ok(hash_password(&sha1_hex(&password)).as_str().to_owned())
}

fn first_line() -> io::Result<String> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

/// What a person types, without showing it.
fn typed(prompt: &str) -> io::Result<String> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
    write!(io::stderr(), "{prompt}")?;
    let before = tcgetattr(io::stdin())?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    tcsetattr(io::stdin(), OptionalActions::Now, &silent)?;
    let line = first_line();
    tcsetattr(io::stdin(), OptionalActions::Now, &before)?;
    writeln!(io::stderr())?;
    line
}
