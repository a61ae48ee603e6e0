//! Planted faults: deliberate bugs, by which `tests/planted_faults/run` shows that the tests see
//! bugs of their kind. docs/planted-faults.md lists them.
//!
//! Each fault is one condition at the place that it breaks. Without the cargo feature
//! `planted-faults` the condition is the constant `false` and leaves no code. With it, the
//! environment variable `SLOTBOOK_PLANTED_FAULT` names the fault that is active.
//!
//! The faults lie in every layer, so every layer may use this module. It imports none of them, and
//! without the feature it reads nothing: the domain stays pure.

use std::sync::OnceLock;

/// A fault, by the rule that it breaks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PlantedFault {
    /// An answer leaves before the sync of its batch.
    AnswerBeforeFsync,
    /// A backup lacks the messages of its groups.
    BackupWithoutMessages,
    /// A client booking is decided without the bookings that are not durable yet.
    BookingsInFlightIgnored,
    /// A calendar is asked without the messages that are under way to it.
    BusyCalendarAsked,
    /// The claim of an attempt to send a message is not recorded.
    ClaimNotRecorded,
    /// The hourly limit of a client counts the bookings of all groups together.
    ClientLimitOfAllGroups,
    /// A booking confirmed by a code counts as one with a key alone.
    CodeProofDropped,
    /// A new generation lacks the newest event of a group's agenda.
    CompactionDropsLastEvent,
    /// sled's file `conf` is not synced when a database is created.
    ConfNotFsynced,
    /// A batch with a wrong checksum is read.
    CrcSkipped,
    /// `CURRENT` names a generation before its snapshots are complete.
    CurrentBeforeSnapshots,
    /// The new `CURRENT` is renamed into place without a sync of its content.
    CurrentNotFsynced,
    /// A cursor of the feed of changes is found by the number of its row alone.
    CursorBitsIgnored,
    /// The daily limit of a source lasts twelve hours.
    DailyLimitOfHalfDay,
    /// A deleted client gets messages.
    DeletedClientMailed,
    /// Names in a directory are not synced.
    DirectoryFsyncDropped,
    /// A failed read of a database counts as the end of its file.
    FailedReadIsEnd,
    /// The feed of changes shows the events of all calendars to each reader.
    FeedOfAllCalendars,
    /// A calendar feed works on after its author has lost the right to make it.
    FeedOutlivesRights,
    /// An account may book for the fiche of another client.
    ForeignFicheAccepted,
    /// A key covers the groups of other keys.
    ForeignGroupKeyAccepted,
    /// A mail that was claimed leaves for an address that its client no longer has.
    FormerAddressMailed,
    /// An appointment leaves the free starts that are kept for searches.
    FreeStartsKept,
    /// A batch is not synced.
    FsyncDropped,
    /// A failed sync is tried again.
    FsyncRetried,
    /// Writes are taken while the disk has less free space than the reserve.
    FullDiskWritten,
    /// A time inside a spring gap takes the offset after the gap.
    GapWithLaterOffset,
    /// The answer under an Idempotency-Key is not recorded.
    IdempotencyAnswerNotStored,
    /// An Idempotency-Key is answered for another person of the same kind.
    IdempotencyKeyOfAnyPerson,
    /// A booking that changes its client's record shares a state with earlier ones.
    LaterClientShown,
    /// A decoder allocates by a length that it has read.
    LengthBelieved,
    /// Journals of many lives cause no new generation.
    ManyJournalsKept,
    /// A move to another calendar takes its time without a check.
    MoveUnchecked,
    /// A start off the grid is bookable.
    OffGridAccepted,
    /// Only the first leg of a chain has to lie in permitted time.
    OnlyFirstLegChecked,
    /// A check compares an appointment with the one before it only.
    OnlyNeighboursChecked,
    /// An Idempotency-Key is answered for another body.
    OtherBodyAccepted,
    /// A refusal leaves before the state that it depends on is durable.
    RefusalBeforeDurable,
    /// A write is carried out that was refused for the full disk.
    RefusedWriteDone,
    /// A restored appointment takes its time without a check.
    RestoreUnchecked,
    /// A session outlives the key that opened it.
    RevokedKeySessionKept,
    /// The result of an attempt to send a message is not recorded.
    ResultNotRecorded,
    /// A search is answered from the state before the newest durable one.
    SearchOneBehind,
    /// A claimed message is sent without a look at the newest state.
    SecondLookSkipped,
    /// A start in the second pass of a repeated hour is bookable.
    SecondPassAccepted,
    /// A login leaves the earlier session of the browser valid.
    SessionKeptOverLogin,
    /// A server of a cluster that takes over counts anew.
    SharedCountsUnread,
    /// A server goes on in a cluster whose formats it does not write.
    SharedFormatsUnchecked,
    /// Answers leave a server of a cluster without its lease.
    SharedLeaseUnchecked,
    /// Messages leave a server of a cluster without its lease.
    SharedMessageUnchecked,
    /// A warning behind a commit is taken for success.
    SharedNoticeIgnored,
    /// A batch follows a row of the same epoch of any owner.
    SharedOwnerUncompared,
    /// A batch follows whatever row is before it.
    SharedPredecessorUnchecked,
    /// A server that takes over keeps what it had read before.
    SharedReadBeforeTake,
    /// A batch whose end is unknown is sent once more, without a look.
    SharedResendAfterUnknown,
    /// A server takes over with older time zone data than those in force.
    SharedZonesUncompared,
    /// New snapshots are of states from before the journal rotated.
    SnapshotsBeforeRotation,
    /// A merge gives ids of a replaced group again.
    SpentIdsGivenAgain,
    /// A write that never ends does not end the process.
    StalledDiskServed,
    /// A stamp follows a clock that goes back.
    StampGoesBack,
    /// A stream of changes goes on after its login has ended.
    StreamOutlivesLogin,
    /// A change of the time zone may leave appointments that overlap.
    TimeZoneOverlapUnchecked,
    /// Appointments of one client that touch keep the gap between them.
    TouchingIsFarEnough,
    /// Two intervals that touch overlap.
    TouchingOverlaps,
    /// An occurrence at UNTIL does not belong to its series.
    UntilExclusive,
    /// A message that is not wanted any more is claimed.
    UnwantedMessageClaimed,
    /// Readers see a state before it is durable.
    ViewBeforeDurable,
    /// A calendar checks for overlaps on the view before the newest.
    ViewOneBehind,
    /// A journal that ends before the durable watermark is accepted.
    WatermarkIgnored,
    /// The durable watermark is never synced.
    WatermarkNeverSynced,
    /// The addresses of a webhook's receiver are not checked when it is connected to.
    WebhookAddressUnchecked,
    /// The changes of one delivery of a webhook are in the wrong order.
    WebhookOrderReversed,
    /// The signature of a webhook leaves out the time of the delivery.
    WebhookTimeUnsigned,
    /// A confirmation forgets the wrong codes before it.
    WrongCodesForgotten,
}

impl PlantedFault {
    /// Returns whether the fault is the active one. The environment is read once per process.
    #[inline]
    pub(crate) fn is_active(self) -> bool {
        static ACTIVE: OnceLock<Option<String>> = OnceLock::new();
        let active = || std::env::var("SLOTBOOK_PLANTED_FAULT").ok();
        cfg!(feature = "planted-faults")
            && ACTIVE.get_or_init(active).as_ref().is_some_and(|name| *name == format!("{self:?}"))
    }
}
