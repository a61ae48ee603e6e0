//! How messages leave, by the options that hold. Reference 7, 11.

use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::cli::operator::{self, Request};
use crate::cli::{Failed, print};
use crate::clock::{Clock as _, SystemClock};
use crate::config::{Config, SmtpTls};
use crate::domain::messaging::delivery::Outcome;
use crate::engine::MessagingOptions;
use crate::engine::mailbox::Transport;
use crate::engine::randomness::Randomness;
use crate::notify::Gateways;
use crate::notify::sms::SmsGateway;
use crate::notify::smtp::{SmtpClient, SmtpServer, TlsMode};

/// How long the timer sleeps at most before it reads the clock again.
const DOZE: Duration = Duration::from_secs(15);
/// Attempts under way at once at most, of mails and of text messages each.
const LANE: usize = 16;

/// Who carries messages by these options.
///
/// # Errors
/// Options that cannot work, or a file of a secret that cannot be read.
pub(super) fn gateways(config: &Config) -> Result<Gateways, Failed> {
    let timeout = Duration::from_secs(config.message_seconds_max.number());
    let mut gateways = Gateways::unconfigured(config.public_url.as_str());
    if !config.smtp_host.is_empty() {
        let password =
            config.smtp_password.reveal("--smtp-password-file", &config.smtp_password_file)?;
        let authorities = (!config.smtp_ca_file.as_os_str().is_empty())
            .then(|| read(&config.smtp_ca_file))
            .transpose()?;
        let server = SmtpServer {
            host: config.smtp_host.clone(),
            port: config.smtp_port.get(),
            tls_mode: match config.smtp_tls {
                SmtpTls::Starttls => TlsMode::Starttls,
                SmtpTls::Tls => TlsMode::Tls,
                SmtpTls::None => TlsMode::None,
            },
            root_certificates: authorities,
            login: (!config.smtp_user.is_empty()).then(|| (config.smtp_user.clone(), password)),
            from: config.mail_from.clone(),
            timeout,
        };
        gateways.mail =
            Some(SmtpClient::new(&server).map_err(|error| Failed::Messages(error.to_string()))?);
    }
    if !config.sms_url.is_empty() {
        let token = config.sms_token.reveal("--sms-token-file", &config.sms_token_file)?;
        let gateway = SmsGateway::new(&config.sms_url, &token, timeout);
        gateways.sms = Some(gateway.map_err(|error| Failed::Messages(error.to_string()))?);
    }
    Ok(gateways)
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
pub(super) fn sending(config: &Config, gateways: Arc<Gateways>) -> MessagingOptions {
    MessagingOptions {
        gateways,
        daily_max: config.messages_daily_max,
        randomness: Randomness::from_os(),
        transport: Transport::direct(),
        poll_interval_max: DOZE,
        concurrent_attempts_max: LANE,
    }
}

/// `slotbook messages`.
pub(super) fn list(config: &Config, groups: Vec<u64>) -> Result<(), Failed> {
    let request = Request::ListMessages { groups, public_url: config.public_url.to_string() };
    operator::ask(&config.data, &request, &mut BufWriter::new(std::io::stdout().lock()))
}

/// `slotbook message-test`.
pub(super) fn test(config: &Config, to: &str) -> Result<(), Failed> {
    let gateways = gateways(config)?;
    let runtime = tokio::runtime::Runtime::new()?;
    match runtime.block_on(gateways.send_test_message(to, SystemClock.now())) {
        Outcome::Taken => {
            print("the message was taken\n");
            Ok(())
        }
        Outcome::Refused(reason) | Outcome::Deferred { reason, .. } => {
            Err(Failed::NotTaken(reason.as_str().to_owned()))
        }
        Outcome::Unwanted(why) => Err(Failed::NotTaken(format!("{why:?}"))),
    }
}
