"""A load of a given rate that remembers what was answered."""

import collections
import datetime
import http.client
import json
import random
import threading
import time

from practice import KEY

WORKERS, RATE = 8, 200
# Requests that a worker has fallen behind by before it leaves them out.
BEHIND_MAX = 20
# Free starts that are remembered from searches, and drawn from each.
STARTS_MAX, STARTS_DRAWN = 2_000, 50
SAMPLE = 300
# What one request in a hundred is.
MIX = {
    "search": 50, "agenda": 8, "list": 5, "booking": 15, "repeated": 2, "cancel": 13, "move": 3, "hold": 3.8, "login": 0.2,
}


class Load:
    """Workers at one server, and the appointments that they know to stand or to be cancelled."""

    def __init__(self, server, practice):
        self.server, self.practice = server, practice
        self.lock = threading.Lock()
        self.is_running, self.goes_on = True, threading.Event()
        self.starts, self.standing, self.cancelled = [], {}, collections.deque(maxlen=STARTS_MAX)
        self.faults, self.requests, self.writes = [], 0, 0
        self.seconds, self.figures_at = collections.defaultdict(list), None
        self.cookie = None

    def start(self):
        self.log_in()
        self.figures_at = self.requests, self.server.processor_seconds()
        self.goes_on.set()
        self.workers = [threading.Thread(target=Worker(self).run, daemon=True) for _ in range(WORKERS)]
        for worker in self.workers:
            worker.start()

    def pause(self):
        """Lets no request begin. Those under way go on."""
        self.goes_on.clear()

    def resume(self):
        self.log_in()
        self.figures_at = self.requests, self.server.processor_seconds()
        self.goes_on.set()

    def stop(self):
        self.is_running = False
        for worker in self.workers:
            worker.join()

    def log_in(self):
        """A session ends with the server and 12 hours after its login."""
        worker = Worker(self)
        status, _, headers = worker.send("POST", *self.practice.login())
        if status != 200:
            raise RuntimeError(f"login: {status}")
        self.cookie = headers["set-cookie"].split(";")[0]

    def now(self):
        return datetime.datetime.now() + datetime.timedelta(seconds=self.server.offset_seconds)

    def add_fault(self, text):
        self.faults.append(text)
        print(f"FAULT {text}", flush=True)

    def take_figures(self):
        """What was measured since the last call."""
        with self.lock:
            seconds, self.seconds = self.seconds, collections.defaultdict(list)
            requests, standing = self.requests, len(self.standing)
        before, ticks_before = self.figures_at
        ticks = self.server.processor_seconds()
        self.figures_at = requests, ticks
        figures = {"standing": standing, "requests": requests - before,
                   "processor_us_a_request": round((ticks - ticks_before) * 1e6 / max(1, requests - before))}
        for kind in ("search", "booking"):
            ordered = sorted(seconds[kind]) or [0]
            for name, share in (("p50", 0.5), ("p99", 0.99)):
                figures[f"{kind}_{name}_ms"] = round(ordered[int(share * (len(ordered) - 1))] * 1000, 2)
        return figures

    def find_lost(self, everything=False):
        """Reads a sample of what was answered. Returns what reads otherwise."""
        with self.lock:
            standing, cancelled = list(self.standing.items()), list(self.cancelled)
        if not everything:
            standing = random.sample(standing, min(SAMPLE, len(standing)))
            cancelled = random.sample(cancelled, min(SAMPLE, len(cancelled)))
        reader, found = Worker(self), []
        for appointment, start in standing:
            status, answer, _ = reader.send("GET", self.practice.one(appointment))
            with self.lock:
                still = self.standing.get(appointment) == start
            if still and (status != 200 or answer["start"] != start or answer["deleted"]):
                found.append(f"appointment {appointment} at {start} reads {status} {str(answer)[:200]}")
        for appointment in cancelled:
            status, answer, _ = reader.send("GET", self.practice.one(appointment))
            if status == 200 and not answer["deleted"]:
                found.append(f"appointment {appointment} was cancelled and stands")
        return found


class Worker:
    """One connection that sends its share of the requests."""

    def __init__(self, load):
        self.load, self.practice, self.connection = load, load.practice, None

    def run(self):
        next_at = time.monotonic() + random.random() * WORKERS / RATE
        kinds, weights = list(MIX), list(MIX.values())
        while self.load.is_running:
            if not self.load.goes_on.wait(1):
                next_at = time.monotonic()
                continue
            behind = time.monotonic() - next_at
            if behind > BEHIND_MAX * WORKERS / RATE:
                next_at = time.monotonic()
            elif behind < 0:
                time.sleep(-behind)
            next_at += WORKERS / RATE
            kind = random.choices(kinds, weights)[0]
            try:
                getattr(self, kind)()
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)
            except Exception as error:
                self.load.add_fault(f"{kind}: {error!r}")

    def send(self, method, path, body=None, headers=()):
        """Sends a request. Returns status, body and headers. A broken connection says nothing of a write."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.load.server.port, timeout=60)
        sent = {"x-api-key": KEY, "content-type": "application/json", **dict(headers)}
        # A repetition is known by its caller, who is another one when the session has ended by a step of the clock.
        if self.load.cookie and "login" not in path and "idempotency-key" not in sent:
            sent["cookie"] = self.load.cookie
        try:
            self.connection.request(method, path, None if body is None else json.dumps(body), sent)
            response = self.connection.getresponse()
            text = response.read()
        except BaseException:
            self.connection.close()
            self.connection = None
            raise
        return response.status, json.loads(text) if text else None, response.headers

    def measure(self, kind, expected, method, path, body=None, headers=()):
        """Sends a request of the load, and counts a status that is not expected as a fault."""
        before = time.monotonic()
        status, answer, _ = self.send(method, path, body, headers)
        elapsed = time.monotonic() - before
        with self.load.lock:
            self.load.requests += 1
            self.load.writes += method != "GET" and status < 300
            self.load.seconds[kind].append(elapsed)
            # A session ends by a step of the clock.
            if status not in (*expected, 401, 403):
                self.load.add_fault(f"{method} {path}: {status} {str(answer)[:300]}")
        if status in (401, 403):
            self.load.log_in()
        return status, answer

    def search(self):
        status, answer = self.measure("search", (200,), "GET", self.practice.search())
        if status == 200:
            starts = [(slot["start"], calendar) for slot in answer["availabletimeslots"] for calendar in slot["calendar_ids"]]
            with self.load.lock:
                self.load.starts = (self.load.starts + random.sample(starts, min(STARTS_DRAWN, len(starts))))[-STARTS_MAX:]

    def agenda(self):
        self.measure("agenda", (200,), "GET", self.practice.agenda(self.load.now()))

    def list(self):
        self.measure("list", (200,), "GET", self.practice.appointments())

    def draw_start(self):
        with self.load.lock:
            return random.choice(self.load.starts) if self.load.starts else None

    def booking(self, headers=()):
        drawn = self.draw_start()
        if drawn is None:
            return None
        path, body = self.practice.booking(*drawn, by_professional=not headers and random.random() < 0.6)
        status, answer = self.measure("booking", (201, 400), "POST", path, body, headers)
        if status == 201:
            self.remember(answer)
        return path, body, status, answer

    def repeated(self):
        """Books under an Idempotency-Key, twice."""
        headers = {"idempotency-key": f"{random.getrandbits(128):032x}"}
        first = self.booking(headers)
        if first and first[2] == 201:
            path, body, _, answer = first
            status, again = self.measure("repeated", (201,), "POST", path, body, headers)
            if status == 201 and again != answer:
                self.load.add_fault(f"a repeated booking was answered {str(again)[:200]}")

    def remember(self, answer):
        with self.load.lock:
            for booked in answer.get("records", [answer]):
                self.load.standing[booked["id"]] = booked["start"]

    def take_standing(self):
        """Takes an appointment out of those that stand: a lost answer leaves it unknown."""
        with self.load.lock:
            if not self.load.standing:
                return None
            # Dictionaries give no random place; one of the oldest hundred or the newest will do.
            appointment = next(iter(self.load.standing)) if random.random() < 0.2 else next(reversed(self.load.standing))
            return appointment, self.load.standing.pop(appointment)

    def cancel(self):
        taken = self.take_standing()
        if taken:
            status, _ = self.measure("cancel", (200, 400, 404), "DELETE", self.practice.one(taken[0]))
            if status == 200:
                self.load.cancelled.append(taken[0])

    def move(self):
        taken, drawn = self.take_standing(), self.draw_start()
        if taken and drawn:
            body = {"appointment": {"date": drawn[0], "calendar_id": drawn[1]}}
            status, answer = self.measure("move", (200, 400), "PUT", self.practice.one(taken[0]), body)
            if status == 200:
                self.remember(answer)

    def hold(self):
        drawn = self.draw_start()
        if drawn:
            self.measure("hold", (201, 400, 429), "POST", *self.practice.hold(*drawn))

    def login(self):
        self.measure("login", (200,), "POST", *self.practice.login())
