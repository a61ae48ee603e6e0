"""Runs the tests that pass a mutant, the quickest first, until one fails.

Times are processor times: a busy machine neither fails a test nor changes their order. What is
known is kept in files, so that a run that was ended goes on where it was.
"""

import array
import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from plant import Mutant

WORKERS = int(os.environ.get("SLOTBOOK_MUTANTS_WORKERS", "2"))
# A mutant that allocates for ever ends here.
MEMORY_BYTES = 6 << 30
# A longer test is slow: the mutants that it passes are not all known.
SLOW_SECONDS = 20
# A slow test that has not failed by then sees nothing.
SLOW_SECONDS_MAX = 20
# A longer one runs after the quick ones, so that none takes the time of many.
QUICK_TEST_SECONDS_MAX = 5
# The tests of a mutant end after this time together: first the quick ones, then all.
QUICK_SECONDS_MAX = 12
ALL_SECONDS_MAX = 40
# Tests run together until their times add up to the next of these; the last holds for the rest.
BATCH_SECONDS = [0.3, 1, 3, 10]


@dataclass
class Test:
    program: str
    name: str
    seconds: float = 0.0
    slow: bool = False
    fails: bool = False
    reached: set[int] = field(default_factory=set)

    @property
    def key(self) -> str:
        return f"{Path(self.program).name.split('-')[0]} {self.name}"


class Judge:
    def __init__(self, copy: Path, known: Path):
        self.copy, self.known = copy, known
        self.tests: list[Test] = []
        self.by_mutant: dict[int, list[Test]] = defaultdict(list)
        # How many mutants of a file, and of a folder, a test has caught: it is tried first there.
        self.kills: dict[tuple[Path, str], int] = defaultdict(int)
        # The test that caught a mutant in an earlier run of the tool: it is tried before all.
        self.killers: dict[str, str] = {}

    def record(self, programs: list[str]) -> None:
        """Runs each test alone, for its time and for the mutants that it passes."""
        recorded = self.known / "tests.jsonl"
        rows = read_rows(recorded)
        self.tests = [Test(**{**row, "reached": set(row["reached"])}) for row in rows]
        done = {(test.program, test.name) for test in self.tests}
        missing = []
        for program in programs:
            listed = self.output([program, "--list", "--format", "terse"])
            names = [line.removesuffix(": test") for line in listed.splitlines()]
            missing += [Test(program, n) for n in names if n and (program, n) not in done]
        with ThreadPoolExecutor(WORKERS) as pool, recorded.open("a") as file:
            for test in pool.map(self.record_one, missing):
                row = {**asdict(test), "reached": sorted(test.reached)}
                file.write(json.dumps(row) + "\n")
                file.flush()
                self.tests.append(test)
        for test in self.tests:
            for number in test.reached if not test.fails else ():
                self.by_mutant[number].append(test)

    def output(self, command: list) -> str:
        result = subprocess.run(
            command, check=True, cwd=self.copy, stdout=subprocess.PIPE, text=True
        )
        return result.stdout

    def record_one(self, test: Test) -> Test:
        with tempfile.NamedTemporaryFile() as file:
            variables = {"SLOTBOOK_MUTANTS_REACHED": file.name}
            ended = self.run([test], variables, SLOW_SECONDS)
            numbers = array.array("I", Path(file.name).read_bytes())
        test.reached = set(numbers)
        test.seconds, test.slow = ended.seconds, ended.late
        test.fails = bool(ended.failed) and not ended.late
        return test

    def find_verdicts(self, mutants: list[Mutant], name: str, judge: Callable) -> dict[str, str]:
        """Returns the test that catches each mutant, or an empty text."""
        file = self.known / f"{name}.jsonl"
        verdicts = {row["mutant"]: row["caught_by"] for row in read_rows(file)}
        left = [mutant for mutant in mutants if mutant.name not in verdicts]
        for mutant in mutants:
            if verdicts.get(mutant.name):
                self.note_kill(Path(mutant.file), verdicts[mutant.name])
        lock = threading.Lock()

        def judge_one(mutant: Mutant) -> None:
            caught_by = judge(mutant)
            with lock:
                verdicts[mutant.name] = caught_by
                out.write(json.dumps({"mutant": mutant.name, "caught_by": caught_by}) + "\n")
                out.flush()

        with ThreadPoolExecutor(WORKERS) as pool, file.open("a") as out:
            list(pool.map(judge_one, left))
        return verdicts

    def judge_quickly(self, mutant: Mutant) -> str:
        """Runs the quick tests that pass it, those that caught its like first, for a short time."""
        tests = self.by_mutant[mutant.number]
        short = [test for test in tests if test.seconds <= QUICK_TEST_SECONDS_MAX]
        return self.judge(mutant, short, QUICK_SECONDS_MAX)

    def judge_slowly(self, mutant: Mutant) -> str:
        """Runs all tests that pass it."""
        return self.judge(mutant, self.by_mutant[mutant.number], ALL_SECONDS_MAX)

    def judge(self, mutant: Mutant, tests: list[Test], seconds_max: float) -> str:
        """Returns the test that fails; those that caught its like run first."""
        file = Path(mutant.file)

        def cost(test: Test) -> float:
            if self.killers.get(mutant.name) == test.key:
                return 0
            kills = 3 * self.kills[file, test.key] + self.kills[file.parent, test.key]
            return test.seconds / (1 + kills)

        spent = 0.0
        for batch in make_batches(sorted(tests, key=cost)):
            seconds = sum(test.seconds for test in batch)
            if spent + seconds > seconds_max:
                continue
            spent += seconds
            variables = {"SLOTBOOK_MUTANT": str(mutant.number)}
            is_slow = batch[0].slow
            late = SLOW_SECONDS_MAX if is_slow else max(10, 5 * seconds)
            ended = self.run(batch, variables, late)
            if ended.failed and not (is_slow and ended.late):
                caught_by = next(test.key for test in batch if test.name == ended.failed)
                self.note_kill(file, caught_by)
                return caught_by
        return ""

    def note_kill(self, file: Path, caught_by: str) -> None:
        self.kills[file, caught_by] += 1
        self.kills[file.parent, caught_by] += 1

    def run(self, tests: list[Test], variables: dict, seconds_max: float) -> "Ended":
        """Runs tests one after another until one fails. One that ends late has failed."""
        limits = ["prlimit", f"--as={MEMORY_BYTES}", f"--cpu={round(seconds_max) + 1}"]
        command = [*limits, tests[0].program, "--exact", "--test-threads=1"]
        process = subprocess.Popen(
            [*command, *(test.name for test in tests)],
            cwd=self.copy,
            env={**os.environ, "CARGO_MANIFEST_DIR": str(self.copy), **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            process_group=0,
        )
        is_over = threading.Event()
        threading.Thread(target=end_if_idle, args=[process, is_over]).start()
        ended = Ended()
        running = tests[0].name
        for line in process.stdout:
            if line.startswith("test ") and " ... " in line:
                running = line.split()[1]
            if line.rstrip().endswith("FAILED"):
                ended.failed = running
                break
        if ended.failed:
            kill(process)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        is_over.set()
        # What the test has started is not left behind.
        kill(process)
        process.stdout.close()
        if process.returncode and not ended.failed:
            ended.failed = running
            ended.late = process.returncode in {-signal.SIGXCPU, -signal.SIGKILL}
        ended.seconds = usage.ru_utime + usage.ru_stime
        return ended


@dataclass
class Ended:
    # The first test that failed, or an empty text.
    failed: str = ""
    # Whether it was ended for its time.
    late: bool = False
    seconds: float = 0.0


def read_rows(file: Path) -> list[dict]:
    """Returns the lines of a file of JSON; none if there is no file."""
    lines = file.read_text().splitlines() if file.exists() else []
    return [json.loads(line) for line in lines]


def make_batches(tests: list[Test]):
    """Splits tests, in their order, into batches of one program and of growing time."""
    sizes = iter(BATCH_SECONDS)
    size, group, seconds = next(sizes), [], 0.0
    for test in tests:
        if test.slow:
            yield from split_by_program(group)
            yield [test]
            group, seconds = [], 0.0
            continue
        group.append(test)
        seconds += test.seconds
        if seconds >= size:
            yield from split_by_program(group)
            size, group, seconds = next(sizes, size), [], 0.0
    yield from split_by_program(group)


def split_by_program(tests: list[Test]) -> list[list[Test]]:
    by_program = defaultdict(list)
    for test in tests:
        by_program[test.program].append(test)
    return list(by_program.values())


def end_if_idle(process: subprocess.Popen, is_over: threading.Event) -> None:
    """Ends a test that waits for ever: for a minute none of its threads has run or wants to."""
    idle, before = 0, -1
    while not is_over.wait(10):
        wants, ticks = False, 0
        for stat in Path(f"/proc/{process.pid}/task").glob("*/stat"):
            with contextlib.suppress(OSError):
                fields = stat.read_text().rpartition(")")[2].split()
                wants |= fields[0] in "RD"
                ticks += int(fields[11]) + int(fields[12])
        idle = 0 if wants or ticks != before else idle + 1
        before = ticks
        if idle == 6:
            kill(process)


def kill(process: subprocess.Popen) -> None:
    """Ends a test and what it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
