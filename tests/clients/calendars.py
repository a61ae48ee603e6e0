"""The files of calendar feeds, read by `icalendar` and `vobject`, against a demonstration server.

It makes a feed with all details, one of an appointment on each clock change and a series, and compares what both libraries
read. The only argument is the address of the server.
"""

import datetime
import urllib.error
import urllib.request
import zoneinfo

import icalendar
import vobject

from demonstration import BASE, call

UTC = datetime.timezone.utc
PARIS = zoneinfo.ZoneInfo("Europe/Paris")


def read(link, tag=None):
    """Reads a link, and returns the status, the text and the tag of its answer."""
    request = urllib.request.Request(BASE + link[link.index("/ics/") :])
    if tag:
        request.add_header("If-None-Match", tag)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode(), answer.headers["ETag"]
    except urllib.error.HTTPError as error:
        return error.code, "", error.headers["ETag"]


def as_icalendar(text):
    """What `icalendar` reads of each event: by UID its start, end, sequence, state, title and description."""
    calendar = icalendar.Calendar.from_ical(text)
    assert not calendar.errors, calendar.errors
    events = {}
    for event in calendar.walk("VEVENT"):
        assert not event.errors, event.errors
        events[str(event["UID"])] = (
            event["DTSTART"].dt,
            event["DTEND"].dt,
            int(event["SEQUENCE"]),
            str(event["STATUS"]),
            str(event["SUMMARY"]),
            str(event.get("DESCRIPTION", "")),
        )
    return events


def as_vobject(text):
    """What `vobject` reads of the same."""
    calendar = vobject.readOne(text)
    calendar.validate(raiseException=True)
    events = {}
    for event in calendar.contents.get("vevent", []):
        description = event.description.value if "description" in event.contents else ""
        events[event.uid.value] = (
            event.dtstart.value,
            event.dtend.value,
            int(event.sequence.value),
            event.status.value,
            event.summary.value,
            description,
        )
    return events


def next_change(after, month):
    """The last Sunday of a month that comes after a day."""
    for year in (after.year, after.year + 1):
        day = datetime.date(year, month, 31)
        while day.weekday() != 6:
            day -= datetime.timedelta(days=1)
        if day > after:
            return day
    raise AssertionError("no such day")


today = datetime.date.today()
changes = [next_change(today, month) for month in (3, 10)]
made = []
words = 'Ünïcode, "quotes"; signs \\ and a very long line ' * 4
calendar = call("POST", "/calendars", {"calendar": {"name": "Feed", "publicname": "Feed"}})["id"]
for day in changes:
    for hour in ("01", "02", "03"):
        body = {
            "calendar_id": calendar,
            "intervention_id": 1,
            "fiche_id": 1,
            "start": f"{day} {hour}:30:00",
            "end": f"{day} {hour}:50:00",
            "comments": f"{words}\nsecond line",
        }
        made.append(call("POST", "/vevents", {"vevent": body}))
        if hour == "02" and day.month == 3:
            # The time does not exist: it means the offset before the gap, and would overlap the next one.
            call("DELETE", f"/vevents/{made.pop()['id']}")
first = today + datetime.timedelta(days=7)
series = {
    "calendar_id": calendar,
    "start": f"{first} 12:00:00",
    "end": f"{first} 13:00:00",
    "text": "Lunch",
    "rrule": "FREQ=WEEKLY;COUNT=4",
}
call("POST", "/vevents", {"vevent": series})
call("POST", "/vevents", {"vevent": {"calendar_id": calendar, "start": str(first), "end": str(first), "note": 1}})

feed = call("POST", "/calendarfeeds", {"calendarfeed": {"calendar_id": calendar, "details": "full"}})
status, text, tag = read(feed["url"])
assert status == 200, status
events = as_icalendar(text)
assert events == as_vobject(text), "both read the same"
assert len(events) == len(made) + 1 + 4 + 1, events
live = {start for start, _, _, state, _, _ in events.values() if state == "CONFIRMED"}
for vevent in made:
    local = datetime.datetime.fromisoformat(vevent["start"])
    assert local.replace(tzinfo=PARIS).astimezone(UTC) in live, vevent["start"]
descriptions = {description for _, _, _, _, _, description in events.values()}
assert any(words.strip() in description and "second line" in description for description in descriptions)
assert read(feed["url"], tag)[0] == 304

number = feed["calendarfeed"]["id"]
sequences = {uid: event[2] for uid, event in events.items()}
moved = made[0]
call("PUT", f"/vevents/{moved['id']}", {"vevent": {"start": moved["start"].replace("01:30", "00:30")}})
again = as_icalendar(read(feed["url"], tag)[1])
assert all(event[2] >= sequences[uid] for uid, event in again.items()), "no sequence falls"
assert again != events
call("DELETE", f"/calendarfeeds/{number}")
assert read(feed["url"])[0] == 404
print("calendars: icalendar and vobject read the same")
