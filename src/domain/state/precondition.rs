//! Preconditions of changes, by which one of several editors does not overwrite another.
//! Reference 1.7.

use std::fmt;
use std::sync::Arc;

use crate::domain::state::group_state::GroupState;
use crate::domain::time::Instant;

/// The form that an object must have, as a function of the state when the command is decided.
#[derive(Clone)]
pub struct Precondition(Arc<Check>);

/// Returns the object as it is, if it has another form; `None` if there is none.
type Check = dyn Fn(&GroupState) -> Result<(), Option<ShownObject>> + Send + Sync;

/// An object as a caller sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownObject {
    /// The object in JSON.
    pub json: Vec<u8>,
    /// The entity tag, of its own fields.
    pub tag: String,
}

impl Precondition {
    /// Makes a precondition of a check, which must depend on nothing but the state.
    pub fn new(
        check: impl Fn(&GroupState) -> Result<(), Option<ShownObject>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(check))
    }

    /// Checks that the object has the form.
    ///
    /// # Errors
    /// The object as it is; `None` if there is none.
    pub fn check(&self, state: &GroupState) -> Result<(), Option<ShownObject>> {
        (self.0)(state)
    }
}

/// The effect on appointments that a caller expects of a command, as a function of the states
/// before and after it. Reference 6.19.
#[derive(Clone)]
pub struct ExpectedEffect(Arc<EffectCheck>);

/// Returns the effect in JSON, if it is another one.
type EffectCheck =
    dyn Fn(&GroupState, &GroupState, Instant) -> Result<(), ShownObject> + Send + Sync;

impl ExpectedEffect {
    /// Makes an expectation of a check, which must depend on nothing but its arguments.
    pub fn new(
        check: impl Fn(&GroupState, &GroupState, Instant) -> Result<(), ShownObject>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self(Arc::new(check))
    }

    /// Checks that a command that turns `before` into `after` at `now` has the effect.
    ///
    /// # Errors
    /// The effect that it has.
    pub fn check(
        &self,
        before: &GroupState,
        after: &GroupState,
        now: Instant,
    ) -> Result<(), ShownObject> {
        (self.0)(before, after, now)
    }
}

impl fmt::Debug for ExpectedEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExpectedEffect(…)")
    }
}

impl fmt::Debug for Precondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Precondition(…)")
    }
}
