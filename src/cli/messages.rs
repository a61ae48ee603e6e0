//! `slotbook messages` and `slotbook message-test`, and the carriers of messages. Reference 7.5.

use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::cli::error::CommandError;
use crate::cli::operator::client::run_request;
use crate::cli::operator::request::OperatorRequest;
use crate::cli::terminal::print;
use crate::clock::{Clock as _, SystemClock};
use crate::config::options::MessageOptions;
use crate::config::values::{SiteUrl, SmtpTls};
use crate::domain::messaging::delivery::Outcome;
use crate::engine::Sending;
use crate::engine::mailbox::Transport;
use crate::engine::randomness::Randomness;
use crate::notify::Carriers;
use crate::notify::sms::Gateway;
use crate::notify::smtp::{Secrecy, Server, Smtp};

/// Longest time that the scheduler sleeps before it reads the clock again.
const SLEEP_MAX: Duration = Duration::from_secs(15);
/// Maximum number of concurrent delivery attempts per channel.
const CONCURRENT_ATTEMPTS_MAX: usize = 16;

/// Returns the carriers that the options describe.
///
/// # Errors
/// The options cannot work, or the file of a secret or certificate cannot be read.
pub(crate) fn create_carriers(options: &MessageOptions) -> Result<Carriers, CommandError> {
    let timeout = Duration::from_secs(options.message_seconds_max);
    let mut carriers = Carriers::nobody(options.links.public_url.as_str());
    if !options.smtp_host.is_empty() {
        let server = smtp_server(options, timeout)?;
        match Smtp::new(&server) {
            Ok(smtp) => carriers.mail = Some(smtp),
            Err(error) => return Err(CommandError::MessageOptions(error.to_string())),
        }
    }
    if !options.sms_url.is_empty() {
        let token = options.sms_token.reveal("--sms-token-file", &options.sms_token_file)?;
        match Gateway::new(&options.sms_url, &token, timeout) {
            Ok(gateway) => carriers.sms = Some(gateway),
            Err(error) => return Err(CommandError::MessageOptions(error.to_string())),
        }
    }
    Ok(carriers)
}

fn smtp_server(options: &MessageOptions, timeout: Duration) -> Result<Server, CommandError> {
    let password =
        options.smtp_password.reveal("--smtp-password-file", &options.smtp_password_file)?;
    let authorities = if options.smtp_ca_file.as_os_str().is_empty() {
        None
    } else {
        match std::fs::read(&options.smtp_ca_file) {
            Ok(authorities) => Some(authorities),
            Err(reason) => {
                let path = options.smtp_ca_file.clone();
                return Err(CommandError::File { path, reason });
            }
        }
    };
    let login = if options.smtp_user.is_empty() {
        None
    } else {
        Some((options.smtp_user.clone(), password))
    };
    Ok(Server {
        host: options.smtp_host.clone(),
        port: options.smtp_port,
        secrecy: match options.smtp_tls {
            SmtpTls::Starttls => Secrecy::Starttls,
            SmtpTls::Tls => Secrecy::Tls,
            SmtpTls::None => Secrecy::None,
        },
        authorities,
        login,
        from: options.mail_from.clone(),
        timeout,
    })
}

/// Logs a warning for each name in mails that only this machine can resolve.
pub(crate) fn warn_of_local_names(options: &MessageOptions) {
    if options.smtp_host.is_empty() {
        return;
    }
    if options.links.public_url.is_loopback() {
        tracing::warn!(
            url = %options.links.public_url,
            "links in mails lead to the reader's own machine: give --public-url"
        );
    }
    if options.mail_from.to_ascii_lowercase().ends_with("@localhost") {
        tracing::warn!(
            from = options.mail_from,
            "the sender address of mails cannot be answered, and many servers refuse it: \
             give --mail-from"
        );
    }
}

/// Returns the settings of the message scheduler.
pub(crate) fn sending_settings(daily_max: usize, carriers: Arc<Carriers>) -> Sending {
    Sending {
        carriers,
        daily_max,
        draws: Randomness::from_os(),
        transport: Transport::direct(),
        doze: SLEEP_MAX,
        lane: CONCURRENT_ATTEMPTS_MAX,
    }
}

/// Prints the messages of some groups, or of all if none is named.
///
/// # Errors
/// A group does not exist, or the store cannot be read.
pub(crate) fn list(
    data: &Path,
    public_url: &SiteUrl,
    groups: Vec<u64>,
) -> Result<(), CommandError> {
    let request = OperatorRequest::ListMessages { groups, public_url: public_url.to_string() };
    run_request(data, &request, &mut BufWriter::new(std::io::stdout().lock()))
}

/// Sends a test message to an e-mail address or a telephone number.
///
/// # Errors
/// The options cannot work, or the message is not taken.
pub(crate) fn send_test_message(options: &MessageOptions, to: &str) -> Result<(), CommandError> {
    let carriers = create_carriers(options)?;
    let runtime = tokio::runtime::Runtime::new()?;
    match runtime.block_on(carriers.test(to, SystemClock.now())) {
        Outcome::Taken => {
            print("the message was taken\n");
            Ok(())
        }
        Outcome::Refused(reason) | Outcome::Deferred { reason, .. } => {
            Err(CommandError::MessageNotTaken(reason.as_str().to_owned()))
        }
        Outcome::Unwanted(why) => Err(CommandError::MessageNotTaken(format!("{why:?}"))),
    }
}
