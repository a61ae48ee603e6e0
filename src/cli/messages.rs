//! How messages leave, by the options that hold. Reference 7, 11.

use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::cli::operator::{self, Request};
use crate::cli::{Failed, print};
use crate::clock::{Clock as _, SystemClock};
use crate::config::{Config, SmtpTls};
use crate::domain::messaging::delivery::DeliveryOutcome;
use crate::engine::Sending;
use crate::engine::mailbox::Transport;
use crate::engine::randomness::Randomness;
use crate::notify::Carriers;
use crate::notify::sms::Gateway;
use crate::notify::smtp::{Secrecy, Server, Smtp};

/// How long the timer sleeps at most before it reads the clock again.
const DOZE: Duration = Duration::from_secs(15);
/// Attempts under way at once at most, of mails and of text messages each.
const LANE: usize = 16;

/// Who carries messages by these options.
///
/// # Errors
/// Options that cannot work, or a file of a secret that cannot be read.
pub(super) fn carriers(config: &Config) -> Result<Carriers, Failed> {
    let timeout = Duration::from_secs(config.message_seconds_max.number());
    let mut carriers = Carriers::nobody(config.public_url.as_str());
    if !config.smtp_host.is_empty() {
        let password =
            config.smtp_password.reveal("--smtp-password-file", &config.smtp_password_file)?;
        let authorities = (!config.smtp_ca_file.as_os_str().is_empty())
            .then(|| read(&config.smtp_ca_file))
            .transpose()?;
        let server = Server {
            host: config.smtp_host.clone(),
            port: config.smtp_port.get(),
            secrecy: match config.smtp_tls {
                SmtpTls::Starttls => Secrecy::Starttls,
                SmtpTls::Tls => Secrecy::Tls,
                SmtpTls::None => Secrecy::None,
            },
            authorities,
            login: (!config.smtp_user.is_empty()).then(|| (config.smtp_user.clone(), password)),
            from: config.mail_from.clone(),
            timeout,
        };
        carriers.mail =
            Some(Smtp::new(&server).map_err(|error| Failed::Messages(error.to_string()))?);
    }
    if !config.sms_url.is_empty() {
        let token = config.sms_token.reveal("--sms-token-file", &config.sms_token_file)?;
        let gateway = Gateway::new(&config.sms_url, &token, timeout);
        carriers.sms = Some(gateway.map_err(|error| Failed::Messages(error.to_string()))?);
    }
    Ok(carriers)
}

/// Warns where the mails that are going to leave would say what holds on this machine alone.
pub(super) fn warn_of_local_names(config: &Config) {
    if config.smtp_host.is_empty() {
        return;
    }
    if config.public_url.is_of_this_machine() {
        tracing::warn!(url = %config.public_url, "links in mails lead whoever follows them to their own machine: give --public-url");
    }
    if config.mail_from.to_ascii_lowercase().ends_with("@localhost") {
        tracing::warn!(
            from = config.mail_from,
            "mails come from an address that nobody can answer, and many servers refuse: give --mail-from"
        );
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Failed> {
    std::fs::read(path).map_err(|reason| Failed::File { path: path.to_owned(), reason })
}

/// How a server sends messages.
pub(super) fn sending(config: &Config, carriers: Arc<Carriers>) -> Sending {
    Sending {
        carriers,
        daily_max: config.messages_daily_max,
        draws: Randomness::from_os(),
        transport: Transport::direct(),
        doze: DOZE,
        lane: LANE,
    }
}

/// `slotbook messages`.
pub(super) fn list(config: &Config, groups: Vec<u64>) -> Result<(), Failed> {
    let request = Request::ListMessages { groups, public_url: config.public_url.to_string() };
    operator::ask(&config.data, &request, &mut BufWriter::new(std::io::stdout().lock()))
}

/// `slotbook message-test`.
pub(super) fn test(config: &Config, to: &str) -> Result<(), Failed> {
    let carriers = carriers(config)?;
    let runtime = tokio::runtime::Runtime::new()?;
    match runtime.block_on(carriers.test(to, SystemClock.now())) {
        DeliveryOutcome::Taken => {
            print("the message was taken\n");
            Ok(())
        }
        DeliveryOutcome::Refused(reason) | DeliveryOutcome::Deferred { reason, .. } => {
            Err(Failed::NotTaken(reason.as_str().to_owned()))
        }
        DeliveryOutcome::Unwanted(why) => Err(Failed::NotTaken(format!("{why:?}"))),
    }
}
