//! The state that all requests share. Reference 11.3.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use ipnet::IpNet;

use crate::domain::directory::Directory;
use crate::domain::directory::cluster_secret::ClusterSecret;
use crate::domain::directory::link_secret::LinkSecret;
use crate::domain::records::author::Author;
use crate::domain::records::channel::Channel;
use crate::domain::records::hold::HoldId;
use crate::domain::records::ids::GroupId;
use crate::domain::records::message::ShopWarning;
use crate::domain::records::text::Email;
use crate::domain::state::command::{Caller, Command, WarnShop};
use crate::domain::state::group_state::GroupState;
use crate::domain::state::recipient_quota::MessageQuota;
use crate::domain::state::space_quota::is_full_for;
use crate::domain::time::{DAY, Instant};
use crate::engine::randomness::Randomness;
use crate::engine::webhooks::WebhookSender;
use crate::engine::{Engine, SharedSizes};
use crate::http::answer::fixed_content::FixedContent;
use crate::http::auth::Authenticator;
use crate::http::auth::account_use::AccountUses;
use crate::http::auth::first_run::FirstRun;
use crate::http::auth::login_mailer::LoginMailer;
use crate::http::auth::login_proof::LoginProofs;
use crate::http::auth::read_log::ReadLog;
use crate::http::auth::session::Sessions;
use crate::http::auth::source_hasher::SourceHasher;
use crate::http::connection::departure::Departure;
use crate::http::connection::forwarded::{ForwardingHeader, TrustedProxies, UnbelievedHeaders};
use crate::http::connection::forwarding_seal::ForwardingSeal;
use crate::http::connection::start_proof::StartProof;
use crate::http::limits::blocking_pool::BlockingPool;
use crate::http::limits::body_limits::BodyLimits;
use crate::http::limits::booking_limit::BookingLimit;
use crate::http::limits::booking_limits::BookingLimits;
use crate::http::limits::code_budget::CodeBudget;
use crate::http::limits::enumeration_limit::EnumerationLimit;
use crate::http::limits::feed_limit::FeedLimit;
use crate::http::limits::hash_secret::HashSecret;
use crate::http::limits::image_pool::ImagePool;
use crate::http::limits::link_limit::LinkLimit;
use crate::http::limits::saved_counts::NamedCounts;
use crate::http::limits::source_shares::SourceShares;
use crate::http::limits::under_way::UnderWay;
use crate::http::metrics::HttpMetrics;
use crate::http::openapi::known_names::KnownNames;
use crate::http::streams::ChangeStreams;
use crate::notify::Gateways;
use crate::notify::webhook::addresses::AllowedNetworks;
use crate::notify::webhook::client::WebhookClient;
use crate::notify::webhook::resolver::SystemResolver;
use crate::planted_faults::PlantedFault;
use crate::wire::webhook::delivery_body;

/// Writes the export document of these states.
type WriteDocument = fn(&Directory, &[Arc<GroupState>], &mut dyn io::Write) -> io::Result<()>;

/// The store of a server, for the backup and the export by the operator.
#[derive(Clone, Debug)]
pub struct ServedStore {
    /// The data directory.
    pub data: PathBuf,
    /// Sizes of the shared store, in a cluster.
    pub shared: Option<Arc<SharedSizes>>,
    /// Free space that a backup leaves on the disk of the data directory, in MiB.
    pub reserve_mib: u64,
    /// Writes the export document.
    pub write_document: WriteDocument,
}

/// Returns a sender of deliveries to receivers on the internet and in these networks.
pub fn webhook_sender(allowed: AllowedNetworks) -> WebhookSender {
    let client = WebhookClient::new(allowed, Arc::new(SystemResolver::default()));
    WebhookSender::new(client, delivery_body, Randomness::from_os())
}

/// Maximum number of professionals that a warning goes to.
const WARNED_MAX: usize = 10;

/// The parts that the requests to a server of a cluster need.
pub(crate) struct ClusterRequests {
    /// Opens what other servers have sealed.
    pub(crate) seal: ForwardingSeal,
    /// Answers requests here until this server hands over.
    pub(crate) departure: Arc<Departure>,
    /// Proves this start to a server that asks for itself.
    pub(crate) proof: StartProof,
}

/// The state that all requests share.
pub struct Server {
    /// Decides writes and publishes group states.
    pub(crate) engine: Engine,
    /// Identifies callers.
    pub(crate) authenticator: Authenticator,
    pub(crate) read_log: ReadLog,
    /// Refusals that tell of a client, by e-mail address and source.
    pub(crate) guesses: EnumerationLimit,
    /// Limits bookings by the public and by accounts.
    pub(crate) booking_limit: BookingLimit,
    /// Bookings with a key alone that are under way.
    pub(crate) under_way: UnderWay,
    /// Makes the origins that web bookings keep.
    pub(crate) source_hasher: SourceHasher,
    /// The codes that were asked for and not given yet.
    pub(crate) codes: CodeBudget,
    /// Limits account links.
    pub(crate) links: LinkLimit,
    /// Limits reads of calendar feeds.
    pub(crate) feed_limit: FeedLimit,
    /// Maximum number of messages that a key alone causes in one group within 24 hours; 0 for no
    /// limit. No link waits that it would stop.
    by_key_daily_max: usize,
    /// Signs links while the store has no secret yet, for want of space. Such links end with the
    /// process.
    interim_secret: LinkSecret,
    /// Runs long computations off the threads that serve connections.
    pub(crate) blocking_pool: BlockingPool,
    /// Decodes images, one at a time.
    pub(crate) image_pool: ImagePool,
    /// Renders the texts of messages for the message list.
    pub(crate) gateways: Arc<Gateways>,
    /// The proxies whose forwarding header counts.
    pub(crate) proxies: TrustedProxies,
    /// Warns of forwarding headers of others.
    pub(crate) unbelieved_headers: UnbelievedHeaders,
    /// Maximum number of connections of one source, except for trusted proxies; 0 stands for none.
    pub(crate) source_connections_max: usize,
    /// Requests under way through trusted proxies, by the client that the proxy names. A proxy's
    /// connections carry the requests of all its clients, so they are not counted.
    pub(crate) forwarded_requests: Arc<SourceShares>,
    /// The cluster; `None` without one.
    pub(crate) cluster: Option<ClusterRequests>,
    /// Shares of the memory for bodies.
    pub(crate) body_limits: BodyLimits,
    /// Counters and histograms of the HTTP API.
    pub(crate) metrics: Arc<HttpMetrics>,
    /// Bytes that the records of a group may take; `None` if there is no quota.
    pub(crate) group_bytes_max: Option<u64>,
    /// The store; `None` in a server that the operator neither exports nor backs up.
    pub(crate) store: Option<ServedStore>,
    /// Whether the page `/` lists the groups with a booking page.
    pub(crate) lists_groups: bool,
    /// The link by which the first group is set up.
    pub(crate) first_run: FirstRun,
    pub(crate) account_uses: AccountUses,
    /// The streams of changes.
    pub(crate) streams: ChangeStreams,
    /// Tests webhooks, and knows which receivers are allowed.
    pub(crate) webhooks: Arc<WebhookSender>,
    /// Returns the OpenAPI document; an empty one until the service is built. The first call makes
    /// it, in tens of milliseconds: a start does not wait for what few requests need.
    pub(crate) openapi_document: fn() -> FixedContent,
    /// Returns the names that its operations take. They too are made by the first call.
    pub(crate) known_names: fn() -> Arc<KnownNames>,
}

impl Server {
    /// A server over an engine, on a machine with `cores` processor cores.
    pub fn new(engine: Engine, cores: usize) -> Self {
        Self {
            authenticator: Authenticator::new(cores, engine.clone()),
            read_log: ReadLog::new(engine.clone()),
            streams: ChangeStreams::new(engine.clone()),
            engine,
            guesses: EnumerationLimit::default(),
            under_way: UnderWay::default(),
            source_hasher: SourceHasher::new(None),
            booking_limit: BookingLimit::new(BookingLimits::DEFAULT),
            codes: CodeBudget::new(BookingLimits::DEFAULT.codes_daily_max),
            links: LinkLimit::new(None),
            feed_limit: FeedLimit::default(),
            by_key_daily_max: 0,
            interim_secret: LinkSecret::new(Randomness::from_os().bytes()),
            blocking_pool: BlockingPool::new(cores),
            image_pool: ImagePool::default(),
            gateways: Arc::new(Gateways::unconfigured("")),
            proxies: TrustedProxies::default(),
            unbelieved_headers: UnbelievedHeaders::default(),
            source_connections_max: 0,
            forwarded_requests: SourceShares::new(0, 0),
            cluster: None,
            body_limits: BodyLimits::default(),
            metrics: Arc::default(),
            group_bytes_max: None,
            store: None,
            lists_groups: false,
            first_run: FirstRun::new(None),
            account_uses: AccountUses::new(),
            webhooks: Arc::new(webhook_sender(AllowedNetworks::default())),
            openapi_document: FixedContent::default,
            known_names: Arc::default,
        }
    }

    /// Returns the sender of deliveries to webhooks.
    pub fn webhook_sender(&self) -> Arc<WebhookSender> {
        Arc::clone(&self.webhooks)
    }

    /// Whether mails can leave.
    pub fn sends_mail(&self) -> bool {
        self.gateways.is_configured(Channel::Mail)
    }

    /// Sets the sender that tests webhooks.
    #[must_use]
    pub fn with_webhooks(self, webhooks: Arc<WebhookSender>) -> Self {
        Self { webhooks, ..self }
    }

    /// Sets the gateways that render message texts, and the public address of the server.
    #[must_use]
    pub fn with_gateways(mut self, gateways: Arc<Gateways>) -> Self {
        self.authenticator.public_url.clone_from(&gateways.public_url);
        self.source_hasher = SourceHasher::new(gateways.link_secret.as_ref());
        self.authenticator.login_proofs = LoginProofs::new(gateways.link_secret.as_ref());
        self.gateways = gateways;
        if self.gateways.is_configured(Channel::Mail) {
            let mailer = LoginMailer::new(self.engine.clone(), self.link_secret());
            self.authenticator.login_mailer = Some(mailer);
        }
        self
    }

    /// Whether a group has far more bookings with a key alone than usual, so that the next ones
    /// need a code. Those under way count too. Warns the shop when that begins and ends.
    pub(crate) fn asks_for_codes(&self, group: GroupId, under_way: u32, now: Instant) -> bool {
        let Some(state) = self.engine.published().group_state(group) else { return false };
        let is_unusual = state.unverified_rate.is_unusual(0, now);
        let last = |warning| state.outbox.last_warning(warning);
        let begun = last(ShopWarning::CodesAsked);
        let ended = last(ShopWarning::CodesNoLongerAsked);
        let is_old = |at: Option<Instant>| at.is_none_or(|at| now.seconds_since(at) >= DAY);
        if is_unusual && is_old(begun) {
            self.warn_shop(group, ShopWarning::CodesAsked);
        } else if !is_unusual && begun > ended && is_old(ended) {
            self.warn_shop(group, ShopWarning::CodesNoLongerAsked);
        }
        is_unusual || state.unverified_rate.is_unusual(under_way, now)
    }

    /// Warns the professionals of a group by mail, if a mail can leave, and in the log.
    pub(crate) fn warn_shop(&self, group: GroupId, warning: ShopWarning) {
        tracing::warn!(group = group.number(), ?warning, "the shop is warned");
        if !self.gateways.is_configured(Channel::Mail) {
            return;
        }
        let directory = self.engine.published().directory();
        let pros = directory.pros.of_group(group);
        let recipients = pros.take(WARNED_MAX).map(|pro| pro.email.clone()).collect();
        let command = Command::WarnShop(WarnShop { warning, recipients });
        let engine = self.engine.clone();
        // The booking at hand does not wait for it.
        tokio::spawn(async move {
            if let Err(rejection) = engine.write(group, Author::Server, command).await {
                tracing::warn!(group = group.number(), ?rejection, "no mail warns the shop");
            }
        });
    }

    /// Frees the place of a code that was given.
    pub(crate) fn settle_code(&self, group: GroupId, hold: HoldId) {
        self.codes.settle(group, hold);
        self.count_codes();
    }

    /// Shows the number of codes that were not given.
    pub(crate) fn count_codes(&self) {
        let number = u32::try_from(self.codes.count()).unwrap_or(u32::MAX);
        self.metrics.codes.set(f64::from(number));
    }

    /// The secret that signs links in mails.
    pub(crate) fn link_secret(&self) -> LinkSecret {
        match &self.gateways.link_secret {
            Some(secret) => secret.clone(),
            None => self.interim_secret.clone(),
        }
    }

    /// Returns the secret for another password link to an address, and counts the link. `None` if
    /// it could not leave, or if the address has got its share. No earlier link ends by that.
    pub(crate) fn secret_for_link(
        &self,
        state: &GroupState,
        email: &Email,
        now: Instant,
    ) -> Option<LinkSecret> {
        let outbox = &state.outbox;
        let can_leave = self.mails_links()
            && outbox.link_bytes() < self.links.bytes_max()
            // The public must not keep a client with an account from another password.
            && (state.accounts.contains_key(&email.folded())
                || outbox.has_room_for_new_link(self.by_key_daily_max, now));
        if can_leave && self.links.count_mailed(state.catalogue.group.id, email, now) {
            Some(self.link_secret())
        } else {
            None
        }
    }

    /// Whether links can be mailed.
    pub(crate) fn mails_links(&self) -> bool {
        self.gateways.is_configured(Channel::Mail)
    }

    /// Sets the metrics that requests are counted in.
    #[must_use]
    pub fn metered(self, metrics: HttpMetrics) -> Self {
        Self { metrics: Arc::new(metrics), ..self }
    }

    /// Sets the bytes that the records of a group may take. Web callers are stopped below that.
    #[must_use]
    pub fn with_group_bytes_max(self, bytes_max: Option<u64>) -> Self {
        Self { group_bytes_max: bytes_max, links: LinkLimit::new(bytes_max), ..self }
    }

    /// Sets the quota that the sender of messages keeps, so that no link waits for nothing.
    #[must_use]
    pub fn with_message_quota(self, quota: MessageQuota) -> Self {
        Self { by_key_daily_max: quota.by_key_daily_max, ..self }
    }

    /// Sets the store that the operator may export and back up, and that keeps the list of erased
    /// clients.
    #[must_use]
    pub fn with_store(self, store: ServedStore) -> Self {
        self.engine.list_forgotten_in(&store.data);
        Self { store: Some(store), ..self }
    }

    /// The bytes that the records of a group take; 0 if it is not served.
    pub fn space_bytes(&self, group: GroupId) -> u64 {
        match self.engine.published().group_state(group) {
            Some(group_state) => group_state.space_bytes(),
            None => 0,
        }
    }

    /// Whether a group has no space for what a caller writes.
    pub(crate) fn is_group_full(&self, group: &GroupState, caller: &Caller) -> bool {
        is_full_for(caller, group.records_bytes(), self.group_bytes_max)
    }

    /// Sets the networks of trusted proxies, and the header in which they name the client address.
    #[must_use]
    pub fn behind(self, networks: Vec<IpNet>, header: ForwardingHeader) -> Self {
        Self { proxies: TrustedProxies { networks, header }, ..self }
    }

    /// Sets the maximum number of connections of one source, and of requests under way of one
    /// client of trusted proxies; 0, the default, stands for no maximum.
    #[must_use]
    pub fn limited_per_source(self, connections_max: usize) -> Self {
        let forwarded_requests = SourceShares::new(0, connections_max);
        Self { source_connections_max: connections_max, forwarded_requests, ..self }
    }

    /// Believes the other servers of a cluster, which share its secret, whose requests they
    /// forward; answers requests until `departure`, and those of a server that asks for itself with
    /// `proof`. The engine has to need a lease. Reference 8.11, 11.1.
    #[must_use]
    pub(crate) fn in_cluster(
        self,
        secret: &ClusterSecret,
        departure: Arc<Departure>,
        proof: StartProof,
    ) -> Self {
        let seal = ForwardingSeal::new(secret);
        Self { cluster: Some(ClusterRequests { seal, departure, proof }), ..self }
    }

    /// The counts of limits that the servers of a cluster pass on.
    pub(crate) fn counts(&self) -> Vec<NamedCounts<'_>> {
        let mut counts = Vec::new();
        counts.extend(self.authenticator.failures.counts());
        counts.extend(self.authenticator.login_mailer.iter().map(LoginMailer::counts));
        counts.extend(self.guesses.counts());
        counts.extend(self.links.counts());
        counts.extend(self.feed_limit.counts());
        counts.push(NamedCounts::new("codes", &self.codes));
        counts.extend(self.booking_limit.counts());
        counts
    }

    /// Takes over the counts that another server of the cluster has saved, each an image by its
    /// name. What is damaged, or of another release, begins anew. It comes before the first
    /// request. Reference 8.11.
    ///
    /// # Panics
    /// If requests were counted before.
    pub(crate) fn take_over_counts(
        &self,
        secret: &ClusterSecret,
        saved: &BTreeMap<String, Vec<u8>>,
        now: Instant,
    ) {
        for NamedCounts { name, counts } in self.counts() {
            counts.hash_under(HashSecret::of_cluster(secret, &name));
            let Some(image) = saved.get(&name) else { continue };
            if PlantedFault::SharedCountsUnread.is_active() {
                continue;
            }
            if let Err(error) = counts.restore(image, now) {
                tracing::warn!(name, %error, "counts of a limit cannot be read, and begin anew");
            }
        }
        self.count_codes();
    }

    /// The sessions, which the servers of a cluster pass on.
    pub(crate) const fn sessions(&self) -> &Sessions {
        &self.authenticator.sessions
    }

    /// Sets the maximum number of bytes of long answers that are not sent yet.
    #[must_use]
    pub fn limited_answers(self, bytes_max: usize) -> Self {
        Self { body_limits: BodyLimits::with_answers(bytes_max), ..self }
    }

    /// Sets the limits on bookings by the public and by accounts.
    #[must_use]
    pub fn limit_bookings(self, limits: BookingLimits) -> Self {
        let codes = CodeBudget::new(limits.codes_daily_max);
        Self { booking_limit: BookingLimit::new(limits), codes, ..self }
    }

    /// Sets whether the page `/` lists the groups with a booking page.
    #[must_use]
    pub fn listing_groups(self, lists_groups: bool) -> Self {
        Self { lists_groups, ..self }
    }

    /// Lets a browser set up the first group of a store without groups, by a link that begins with
    /// `site`: scheme, host and port.
    #[must_use]
    pub fn offering_first_run(self, site: String) -> Self {
        Self { first_run: FirstRun::new(Some(site)), ..self }
    }

    /// Sets whether TLS protects the server; session cookies then have the attribute `Secure`.
    #[must_use]
    pub fn behind_tls(mut self, behind_tls: bool) -> Self {
        self.authenticator.sessions.behind_tls = behind_tls;
        self
    }
}
