"""The client that openapi-python-client generates, against a demonstration server.

It searches, books, lists, moves, cancels, creates and changes every resource. The only argument is the address of the server.
"""

import hashlib
import sys

from slotbook_client import Client
from slotbook_client.api.appointments import (
    book_appointment,
    cancel_appointment,
    list_appointments,
    move_appointment,
    show_appointment,
)
from slotbook_client.api.availabletimeslots import explain_start, search_slots
from slotbook_client.api.batch import carry_out_batch
from slotbook_client.api.calendars import change_calendar, delete_calendar, list_calendars, make_calendar, show_calendar
from slotbook_client.api.calendarsets import (
    change_calendarset,
    list_calendarsets,
    list_interventions_of_set,
    list_interventionsets_of_set,
    make_calendarset,
    remove_calendarset,
    show_calendarset,
)
from slotbook_client.api.customfields import (
    change_customfield,
    delete_customfield,
    list_customfields,
    make_customfield,
    show_customfield,
)
from slotbook_client.api.fiches import change_fiche, list_fiches, make_fiche, show_fiche
from slotbook_client.api.groups import change_group, list_groups, show_group
from slotbook_client.api.interventions import (
    change_intervention,
    delete_intervention,
    list_interventions,
    make_intervention,
    show_intervention,
)
from slotbook_client.api.interventionsets import (
    change_interventionset,
    list_interventionsets,
    make_interventionset,
    remove_interventionset,
    show_interventionset,
)
from slotbook_client.api.messages import list_messages, show_message
from slotbook_client.api.pros import list_pros, show_pro
from slotbook_client.api.server import alive, ready
from slotbook_client.api.sessions import log_in, log_out
from slotbook_client.api.vevents import change_vevent, delete_vevent, list_vevents, make_vevent, show_vevent
from slotbook_client.models.errors import Errors
from slotbook_client.models.log_in_body import LogInBody

BASE = sys.argv[1]
KEY = {"X-Api-Key": "demo-key-town-practice", "Prefer": "handling=strict"}
GROUP = 1
PUBLIC = Client(base_url=BASE, headers=KEY)
PRO = Client(base_url=BASE, headers=KEY, httpx_args={"auth": ("anna@example.org", "demo-password")})
LOUISE = Client(base_url=BASE, headers=KEY, httpx_args={"auth": ("louise.thomas@example.org", "demo-password")})
calls = 0


def call(operation, *arguments, client=PRO, **parameters):
    """Calls an operation, and returns the parsed answer of a success."""
    global calls
    answer = operation.sync_detailed(*arguments, client=client, **parameters)
    assert answer.status_code in (200, 201), (operation.__name__, answer.status_code, answer.content)
    assert answer.parsed is not None and not isinstance(answer.parsed, Errors), operation.__name__
    calls += 1
    return answer.parsed


def body(operation, wrapper, /, **fields):
    """Makes the generated body of an operation from plain values."""
    annotation = operation.sync_detailed.__annotations__["body"]
    return annotation.from_dict({wrapper: fields})


def lifecycle(name, *, create, show, listing, change, remove, given, changed):
    """Creates, reads, lists, changes and removes one object through the generated client."""
    made = call(create, GROUP, body=body(create, name, **given))
    assert call(show, GROUP, made.id).to_dict() == made.to_dict(), name
    assert made.id in [record.id for record in call(listing, GROUP, results=1000).records], name
    after = call(change, GROUP, made.id, body=body(change, name, **changed)).to_dict()
    # A change of one field leaves the others as they were, except for the time and revision.
    stamps = ("updated_at", "updated_at_utc", "revision")
    expected = made.to_dict() | changed | {stamp: after[stamp] for stamp in stamps if stamp in after}
    assert after == expected, (name, after, expected)
    if remove is not None:
        assert call(remove, GROUP, made.id).id == made.id, name
    return made


def every_resource():
    lifecycle("calendar", create=make_calendar, show=show_calendar, listing=list_calendars, change=change_calendar,
              remove=delete_calendar, given={"name": "Room 9", "generate_interval": 20}, changed={"city": "Rennes"})
    lifecycle("calendarset", create=make_calendarset, show=show_calendarset, listing=list_calendarsets,
              change=change_calendarset, remove=remove_calendarset, given={"name": "Upstairs"},
              changed={"city": "Rennes"})
    lifecycle("intervention", create=make_intervention, show=show_intervention, listing=list_interventions,
              change=change_intervention, remove=delete_intervention, given={"name": "Test", "length": 25},
              changed={"price": 1200})
    lifecycle("interventionset", create=make_interventionset, show=show_interventionset,
              listing=list_interventionsets, change=change_interventionset, remove=remove_interventionset,
              given={"name": "Tests"}, changed={"description": "All tests."})
    lifecycle("customfield", create=make_customfield, show=show_customfield, listing=list_customfields,
              change=change_customfield, remove=delete_customfield, given={"model": "Fiche", "name": "num1"},
              changed={"pro_label": "Height in cm"})
    lifecycle("fiche", create=make_fiche, show=show_fiche, listing=list_fiches, change=change_fiche, remove=None,
              given={"lastname": "Curie", "rappel_sms": False, "firstphone": "06 39 98 11 22"},
              changed={"email": "curie@example.org"})
    lifecycle("vevent", create=make_vevent, show=show_vevent, listing=list_vevents, change=change_vevent,
              remove=delete_vevent, changed={"text": "Long lunch"},
              given={"calendar_id": 1, "start": "2031-01-06 12:30:00", "end": "2031-01-06 13:30:00", "text": "Lunch"})
    before = call(show_group, GROUP)
    after = call(change_group, GROUP, body=body(change_group, "group", phone="01 99 00 12 39"))
    assert (after.phone, after.mailreminder, after.address) == ("01 99 00 12 39", before.mailreminder, before.address)
    assert call(list_groups, client=PUBLIC).records[0].id == GROUP
    assert call(list_interventions_of_set, GROUP, 1).records and call(list_interventionsets_of_set, GROUP, 1).records
    pro = call(list_pros, GROUP).records[0]
    assert call(show_pro, GROUP, pro.id).email == pro.email
    assert call(alive).status == "alive" and call(ready).status


def booking():
    slots = call(search_slots, GROUP, client=PUBLIC, intervention_ids=[1], first=True)
    start = slots.first_slot
    assert start and slots.availabletimeslots[0].start == start
    fiche = {"lastname": "Curie", "firstname": "Marie", "email": "marie@example.org"}
    wanted = body(book_appointment, "appointment", date=start, intervention_ids=[1], fiche=fiche)
    booked = call(book_appointment, GROUP, client=PUBLIC, body=wanted, idempotency_key="one-booking")
    again = call(book_appointment, GROUP, client=PUBLIC, body=wanted, idempotency_key="one-booking")
    record = booked.records[0]
    assert again.records[0].id == record.id and record.start == start
    reasons = call(explain_start, GROUP, client=PUBLIC, intervention_ids=[1], start=start).calendars
    taken = [calendar for calendar in reasons if calendar.calendar_id == record.calendar_id]
    assert not taken[0].offered and taken[0].reasons[0].rule == "taken"
    shown = call(show_appointment, GROUP, record.id, client=PUBLIC, key=record.key)
    assert shown.intervention.length == 20
    listed = call(list_appointments, GROUP, results=1000)
    assert record.id in [other.id for other in listed.records]
    assert call(list_appointments, GROUP, client=LOUISE).page_size >= 1
    refused = book_appointment.sync_detailed(GROUP, client=PUBLIC, body=body(
        book_appointment, "appointment", date="2020-01-06 09:00:00", intervention_ids=[1], fiche=fiche))
    error = refused.parsed.errors[0]
    assert refused.status_code == 400 and error.field == "date" and error.code and error.message
    others = call(search_slots, GROUP, client=PUBLIC, intervention_ids=[1], appointment_id=record.id, key=record.key)
    later = others.availabletimeslots[-1].start
    moved = call(move_appointment, GROUP, record.id, client=PUBLIC, key=record.key,
                 body=body(move_appointment, "appointment", date=later))
    assert moved.start == later
    assert call(cancel_appointment, GROUP, record.id, client=PUBLIC, key=record.key).deleted
    mailed = call(list_messages, GROUP, results=1000).records
    first = next(message for message in mailed if message.id)
    assert call(show_message, GROUP, first.id).kind == first.kind


def batch():
    """A batch makes clients of another system, and repeated it doubles nothing."""
    rows = [{"method": "PUT", "path": f"/api/v1/groups/{GROUP}/fiches?externid={number}",
             "body": {"fiche": {"lastname": f"Client {number}"}}} for number in range(9001, 9021)]
    given = carry_out_batch.sync_detailed.__annotations__["body"].from_dict({"requests": rows})
    for status in (201, 200):
        answers = call(carry_out_batch, GROUP, body=given).responses
        assert [answer.status for answer in answers] == [status] * len(rows), answers
    assert answers[0].body.to_dict()["externid"] == 9001


def session():
    """The cookie of a login stands for the credentials; the client keeps it."""
    client = Client(base_url=BASE, headers=KEY)
    person = {"email": "anna@example.org", "password": hashlib.sha1(b"demo-password").hexdigest()}
    login = call(log_in, client=client, body=LogInBody.from_dict({"pro": person}))
    assert login.pro.email == "anna@example.org"
    assert call(list_fiches, GROUP, client=client).total_records > 100
    call(log_out, client=client)


every_resource()
booking()
batch()
session()
print(f"the generated Python client made {calls} successful calls")
