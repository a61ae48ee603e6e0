"""A server process with a clock of its own."""

import glob
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import urllib.request

PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / (1 << 20)
TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """The release binary on one data directory, started again after each end."""

    def __init__(self, binary, library, work):
        self.binary, self.work = binary, pathlib.Path(work).resolve()
        self.data, self.log = self.work / "data", open(self.work / "log", "ab")
        self.clock = self.work / "clock"
        self.environment = {
            **os.environ, "LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": str(self.clock), "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1",
        }
        self.process, self.kills = None, 0
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.metrics_port = free.getsockname()[1]
        self.set_clock(0)

    def set_clock(self, hours):
        """Sets the server's clock to so many hours ahead. It takes a second."""
        new = self.clock.with_suffix(".new")
        new.write_text(f"+{hours * 3600}\n")
        new.rename(self.clock)
        self.offset_seconds = hours * 3600

    def import_document(self, document):
        file = self.work / "document.json"
        file.write_text(json.dumps(document))
        self.command("import", file, "--data", self.data)

    def command(self, *arguments):
        done = subprocess.run([self.binary, *arguments], env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{arguments[0]} ended with {done.returncode}: {done.stderr}{done.stdout}")
        return done.stdout

    def start(self):
        self.process = subprocess.Popen(
            [self.binary, "serve", "--data", self.data, "--listen", "127.0.0.1:0",
             "--metrics-listen", f"127.0.0.1:{self.metrics_port}",
             "--journal-mib", "8", "--keep-deleted-days", "1", "--empty-cancelled-days", "1", "--log", "warn",
             "--bookings-source-hourly-max", "0", "--bookings-source-daily-max", "0", "--bookings-client-hourly-max", "0"],
            env=self.environment, stdout=subprocess.PIPE, stderr=self.log, text=True,
        )
        for line in self.process.stdout:
            if line.startswith("listening on"):
                self.port = int(line.rsplit(":", 1)[1])
                return
        raise RuntimeError(f"the server does not start: {(self.work / 'log').read_text()[-2000:]}")

    def kill(self):
        self.kills += 1
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def terminate(self):
        self.process.terminate()
        if self.process.wait() != 0:
            raise RuntimeError(f"SIGTERM ended the server with {self.process.returncode}")

    def abandon(self):
        """Ends the server if it still runs."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def resident_mib(self):
        return int(pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * PAGE_MIB

    def processor_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def disk_mib(self):
        return size_mib(self.data)

    def backup_mib(self):
        self.command("backup", "--data", self.data, self.work / "backup")
        return size_mib(self.work / "backup")

    def check(self):
        try:
            self.command("check", "--data", self.data)
            return []
        except RuntimeError as error:
            return [str(error)]

    def look(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"the server ended with {self.process.returncode}: {(self.work / 'log').read_text()[-2000:]}")
        current = (self.data / "CURRENT").read_text(errors="replace")
        generation = re.search(r"\d+", current)
        return {
            "resident_mib": round(self.resident_mib(), 1),
            "descriptors": len(glob.glob(f"/proc/{self.process.pid}/fd/*")),
            "threads": len(glob.glob(f"/proc/{self.process.pid}/task/*")),
            "disk_mib": round(self.disk_mib(), 1),
            "generation": int(generation[0]) if generation else 0,
            "group_mib": round(self.metric("slotbook_largest_group_bytes") / (1 << 20), 1),
            "clock_in_doubt": self.metric("slotbook_clock_ahead_seconds") > 0,
        }

    def metric(self, name):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=30) as answer:
            found = re.search(rf"^{name} (\S+)$", answer.read().decode(), re.MULTILINE)
        return float(found[1]) if found else float("nan")


def size_mib(folder):
    """The size of what lies on the disk; a file that vanishes meanwhile counts nothing."""
    total = 0
    for path in pathlib.Path(folder).rglob("*"):
        try:
            total += path.stat().st_blocks * 512
        except FileNotFoundError:
            continue
    return total / (1 << 20)
