"""The practice that is soaked: its document, and the requests of its clients and professionals."""

import datetime
import hashlib
import random

KEY, PROFESSIONAL, PASSWORD = "soak-key-of-a-server", "soak@example.org", "a password for hours"
CALENDARS, CLIENTS, PAST = 40, 2_000, 2_000
GROUP = "/api/v1/groups/1"


class Practice:
    """Bodies and paths of requests."""

    @staticmethod
    def document():
        """Forty calendars that are open each day, clients, and appointments of three months ago."""
        start = datetime.datetime.now().replace(minute=0, second=0, microsecond=0) - datetime.timedelta(days=90)
        calendars = range(1, CALENDARS + 1)
        hours = [
            {"calendar_id": calendar, "type": "VfreebusyEvent", "start": f"{start:%Y-%m-%d} 08:00:00",
             "end": f"{start:%Y-%m-%d} 18:00:00", "rrule": "FREQ=DAILY"}
            for calendar in calendars
        ]
        past = [
            {"calendar_id": 1 + number % CALENDARS, "type": "", "intervention_id": 1,
             "fiche_id": 1 + number % CLIENTS, "start": format_time(begin), "end": format_time(begin, 30)}
            for number, begin in enumerate(past_starts(start))
        ]
        return {
            "apikeys": [{"key": KEY, "label": "soak", "server": True, "groups": [1]}],
            "groups": [{
                "id": 1, "name": "Soak", "timezone": "Paris", "validateEmail": False, "history_days": 4, "mailreminder": 60,
                "retention_appointments_months": 1, "maxrdv_number": 0,
                "pros": [{"email": PROFESSIONAL, "password": PASSWORD, "firstname": "Ada", "lastname": "Martin"}],
                "calendars": [{"id": n, "name": f"C{n}", "publicname": f"C{n}", "generate_interval": 15} for n in calendars],
                "interventions": [{"id": 1, "name": "Consultation", "publicname": "Consultation", "length": 30}],
                "fiches": [
                    {"id": n, "lastname": f"Client {n}", "firstname": "Ada", "email": f"client{n}@example.org",
                     "firstphone": f"06{n:08}"}
                    for n in range(1, CLIENTS + 1)
                ],
                "vevents": hours + past,
            }],
        }

    def login(self):
        password = hashlib.sha1(PASSWORD.encode()).hexdigest()
        return "/api/v1/sessions/login", {"pro": {"email": PROFESSIONAL, "password": password}}

    def search(self):
        first = random.randint(1, CALENDARS - 2)
        calendars = "".join(f"&calendar_ids[]={calendar}" for calendar in range(first, first + 3))
        return f"{GROUP}/availabletimeslots?intervention_ids[]=1{calendars}&nDays={random.choice((1, 7, 7, 14))}"

    def agenda(self, now):
        day = now + datetime.timedelta(days=random.randrange(7))
        return f"{GROUP}/agenda?from={day:%Y-%m-%d}&to={day + datetime.timedelta(days=1):%Y-%m-%d}"

    def appointments(self):
        return f"{GROUP}/appointments?include_past=1&fiche_id={random.randint(1, CLIENTS)}"

    def booking(self, start, calendar, by_professional):
        fiche = {"id": random.randint(1, CLIENTS)}
        if not by_professional:
            number = random.randrange(1_000_000)
            fiche = {"lastname": f"Visitor {number}", "firstname": "Grace", "email": f"visitor{number}@example.org",
                     "firstphone": f"07{number:08}"}
        return f"{GROUP}/appointments", {"appointment": {
            "date": start, "intervention_ids": [1], "calendar_id": calendar, "fiche": fiche,
            "from_web": 0 if by_professional else 1, "comments": "x" * random.randrange(200),
        }}

    def hold(self, start, calendar):
        return f"{GROUP}/holds", {"hold": {"date": start, "intervention_ids": [1], "calendar_id": calendar}}

    def one(self, appointment):
        return f"{GROUP}/appointments/{appointment}"


def past_starts(first):
    """A start of each calendar each half hour, from 8 o'clock of the first day on."""
    for number in range(PAST):
        place = number // CALENDARS
        day = first.replace(hour=8) + datetime.timedelta(days=place // 20)
        yield day + datetime.timedelta(minutes=30 * (place % 20))


def format_time(time, minutes=0):
    return f"{time + datetime.timedelta(minutes=minutes):%Y-%m-%d %H:%M:%S}"
