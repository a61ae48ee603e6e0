"""What the server ignores although the document does not allow it, for schemathesis.

A case that is wrong only by such a part is accepted, so no such case is made.
"""

import schemathesis

# They count only beside repeat_freq, and not beside rrule.
OLDER_FIELDS = {"repeat_intervall", "repeat_count", "repeat_byday", "repeat_until"}


@schemathesis.hook
def filter_case(context, case):
    if case.meta is None or not case.meta.generation.mode.is_negative:
        return True
    return not (has_empty_parameter(case.query) or has_unread_fields(case.body))


def has_empty_parameter(query):
    """Whether a parameter is empty, which counts as none. Clients would be worse off with it in each type."""
    return any(value in (None, "", [], [""], {}) for value in (query or {}).values())


def has_unread_fields(body):
    """Whether an event has fields of a repetition that it does not have."""
    event = body.get("vevent") if isinstance(body, dict) else None
    if not isinstance(event, dict) or OLDER_FIELDS.isdisjoint(event):
        return False
    return bool(event.get("rrule")) or not event.get("repeat_freq")
