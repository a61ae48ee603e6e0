//! IdempotencyRecords that are given again, against a plain list of all that was ever answered.

use std::sync::Arc;

use proptest::prelude::*;
use slotbook::domain::state::idempotency::{
    IdempotencyRecord, IdempotencyRecords, IdempotencyShare, KEPT_SECONDS,
};
use slotbook::domain::time::Instant;

proptest! {
    #[test]
    fn an_answer_is_found_for_a_day_and_the_newest_of_its_scope_wins(
        steps in proptest::collection::vec((0..6_u8, 0..KEPT_SECONDS / 3, any::<u8>()), 1..60),
        asked in proptest::collection::vec((0..6_u8, -100..2 * KEPT_SECONDS), 1..20),
    ) {
        let (mut answers, mut all, mut at) = (IdempotencyRecords::default(), Vec::new(), Instant(1_000_000));
        for (scope, pause, body) in steps {
            at = at.plus_seconds(pause);
            let answer = vec![body; usize::from(body)].into();
            let share = IdempotencyShare::default();
            let answered = IdempotencyRecord { scope: [scope; 32], body: [body; 32], at, answer, share, awaits_code: false };
            let answered = Arc::new(answered);
            answers.insert(Arc::clone(&answered));
            all.push(answered);
        }
        for (scope, after) in asked {
            let now = at.plus_seconds(after);
            let newest = all.iter().rev().find(|answered| answered.scope == [scope; 32]);
            let expected = newest.filter(|answered| now.seconds_since(answered.at) < KEPT_SECONDS);
            prop_assert_eq!(answers.find(&[scope; 32], now), expected);
        }
        for kept in answers.iter() {
            let finder = answers.iter().find(|later| later.at.seconds_since(kept.at) >= KEPT_SECONDS);
            let since = finder.map_or(0, |finder| at.seconds_since(finder.at));
            prop_assert!(since < KEPT_SECONDS, "nothing is kept too long");
        }
        let again: IdempotencyRecords = answers.iter().cloned().collect();
        prop_assert_eq!(again.iter().collect::<Vec<_>>(), answers.iter().collect::<Vec<_>>());
    }
}
