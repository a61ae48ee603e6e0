//! `slotbook messages` and `slotbook message-test`, and the gateways of messages. Reference 7.5.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Method;
use tokio::runtime::Builder;

use crate::cli::error::CommandError;
use crate::cli::operator::api::{OfflineSettings, with_api};
use crate::cli::runtime::CommandRuntime;
use crate::cli::terminal::print;
use crate::clock::{Clock as _, SystemClock};
use crate::config::options::MessageOptions;
use crate::config::values::{SiteUrl, SmtpTls};
use crate::domain::decisions::unconfirmed::find_page_code_channel;
use crate::domain::records::channel::Channel;
use crate::domain::records::group::{Group, VerifyBookings};
use crate::domain::state::delivery_step::DeliveryOutcome;
use crate::domain::state::recipient_quota::MessageQuota;
use crate::engine::MessagingOptions;
use crate::engine::mailbox::Transport;
use crate::engine::published::Published;
use crate::engine::randomness::Randomness;
use crate::notify::Gateways;
use crate::notify::sms::SmsGateway;
use crate::notify::smtp::{SmtpClient, SmtpServer, TlsMode};

/// Maximum number of groups that a warning names.
const GROUPS_SHOWN_MAX: usize = 20;
/// Longest time that the scheduler sleeps before it reads the clock again.
const SLEEP_MAX: Duration = Duration::from_secs(15);
/// Maximum number of concurrent delivery attempts per channel.
const CONCURRENT_ATTEMPTS_MAX: usize = 16;

/// Returns the gateways that the options describe.
///
/// # Errors
/// The options cannot work, or the file of a secret or certificate cannot be read.
pub(crate) fn create_gateways(options: &MessageOptions) -> Result<Gateways, CommandError> {
    let timeout = Duration::from_secs(options.message_seconds_max);
    let mut gateways = Gateways::unconfigured(options.links.public_url.as_str());
    if !options.smtp_host.is_empty() {
        let server = smtp_server(options, timeout)?;
        match SmtpClient::new(&server) {
            Ok(smtp) => gateways.mail = Some(smtp),
            Err(error) => return Err(CommandError::MessageOptions(error.to_string())),
        }
    }
    if !options.sms_url.is_empty() {
        let token = options.sms_token.reveal("--sms-token-file", &options.sms_token_file)?;
        match SmsGateway::new(&options.sms_url, &token, timeout) {
            Ok(gateway) => gateways.sms = Some(gateway),
            Err(error) => return Err(CommandError::MessageOptions(error.to_string())),
        }
    }
    Ok(gateways)
}

fn smtp_server(options: &MessageOptions, timeout: Duration) -> Result<SmtpServer, CommandError> {
    let password =
        options.smtp_password.reveal("--smtp-password-file", &options.smtp_password_file)?;
    let root_certificates = if options.smtp_ca_file.as_os_str().is_empty() {
        None
    } else {
        match std::fs::read(&options.smtp_ca_file) {
            Ok(certificates) => Some(certificates),
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
    Ok(SmtpServer {
        host: options.smtp_host.clone(),
        port: options.smtp_port,
        tls_mode: match options.smtp_tls {
            SmtpTls::Starttls => TlsMode::Starttls,
            SmtpTls::Tls => TlsMode::Tls,
            SmtpTls::None => TlsMode::None,
        },
        root_certificates,
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

/// Logs a warning for each channel of codes that bookings of some groups need and that has no
/// gateway. The pages of these groups then take no booking.
pub(crate) fn warn_of_missing_gateways(gateways: &Gateways, published: &Published) {
    for (channel, gateway, option) in
        [(Channel::Mail, "mail server", "--smtp-host"), (Channel::Sms, "SMS gateway", "--sms-url")]
    {
        if gateways.is_configured(channel) {
            continue;
        }
        let mut names = Vec::new();
        let mut count = 0;
        for state in published.groups().filter_map(|group| published.group_state(group)) {
            let group = &state.catalogue.group;
            if find_served_code_channel(group) == Some(channel) {
                count += 1;
                if count <= GROUPS_SHOWN_MAX {
                    names.push(format!("{} {}", group.id, group.name.as_str()));
                }
            }
        }
        if count > 0 {
            tracing::warn!(
                count,
                groups = names.join(", "),
                "bookings by the public in these groups need a code (verify_bookings, \
                 validateEmail), but the server has no {gateway}, so that all are refused: give \
                 {option}, or ask for no code in the settings of the group"
            );
        }
    }
}

/// Returns the channel of the code that bookings by the public in a group need.
fn find_served_code_channel(group: &Group) -> Option<Channel> {
    // Without a page, `validateEmail` means that accounts alone book.
    if !group.web_page && group.verify_bookings == VerifyBookings::Off {
        return None;
    }
    find_page_code_channel(group)
}

/// Returns the settings of the message scheduler.
pub(crate) fn sending_settings(quota: MessageQuota, gateways: Arc<Gateways>) -> MessagingOptions {
    MessagingOptions {
        gateways,
        quota,
        randomness: Randomness::from_os(),
        transport: Transport::direct(),
        poll_interval_max: SLEEP_MAX,
        concurrent_attempts_max: CONCURRENT_ATTEMPTS_MAX,
    }
}

/// Prints the messages of some groups, or of all if none is named.
///
/// # Errors
/// A group does not exist, or the store cannot be read.
pub(crate) fn list(data: &Path, public_url: &SiteUrl, groups: &[u64]) -> Result<(), CommandError> {
    let settings = OfflineSettings { public_url: &public_url.to_string(), reserve_mib: 0 };
    let groups: Vec<String> = groups.iter().map(u64::to_string).collect();
    let path = format!("/api/v1/operator/messages?group_ids={}", groups.join(","));
    with_api(data, &settings, |api| {
        api.send(Method::GET, &path, None, &mut std::io::stdout().lock())
    })
}

/// Sends a test message to an e-mail address or a telephone number.
///
/// # Errors
/// The options cannot work, or the message is not taken.
pub(crate) fn send_test_message(options: &MessageOptions, to: &str) -> Result<(), CommandError> {
    let gateways = create_gateways(options)?;
    let runtime = CommandRuntime::start(Builder::new_current_thread())?;
    match runtime.block_on(gateways.send_test_message(to, SystemClock.now())) {
        DeliveryOutcome::Taken => {
            print("the message was taken\n");
            Ok(())
        }
        DeliveryOutcome::Refused(reason) | DeliveryOutcome::Deferred { reason, .. } => {
            Err(CommandError::MessageNotTaken(reason.as_str().to_owned()))
        }
        DeliveryOutcome::Unwanted(why) => Err(CommandError::MessageNotTaken(format!("{why:?}"))),
    }
}
