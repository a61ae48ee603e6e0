"""Runs the tests that pass a mutant, the quickest first, until one fails."""

import array
import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from plant import Mutant

WORKERS = 2
# A mutant that allocates for ever ends here.
MEMORY_BYTES = 6 << 30
# What follows the name of a mutant that is missed for want of a test that passes it.
NOT_PASSED = " (no test gets there)"
# Tests run together until their times add up to the next of these; the last holds for the rest.
BATCH_SECONDS = [0.5, 2, 8, 30]


@dataclass
class Test:
    program: Path
    name: str
    seconds: float = 0.0
    fails: bool = False
    reached: set[int] = field(default_factory=set)


class Judge:
    def __init__(self, copy: Path):
        self.copy = copy
        self.tests: list[Test] = []
        self.by_mutant: dict[int, list[Test]] = defaultdict(list)
        # How many mutants of a file a test has caught: what caught one is tried first.
        self.kills: dict[tuple[str, Path, str], int] = defaultdict(int)

    def record(self, programs: list[Path]) -> None:
        """Runs each test alone, for its time and for the mutants that it passes."""
        for program in programs:
            listed = self.output([program, "--list", "--format", "terse"])
            names = [line.removesuffix(": test") for line in listed.splitlines()]
            self.tests += [Test(program, name) for name in names if name]
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(self.record_one, self.tests))
        for test in self.tests:
            for number in test.reached if not test.fails else ():
                self.by_mutant[number].append(test)

    def output(self, command: list) -> str:
        result = subprocess.run(
            command, check=True, cwd=self.copy, stdout=subprocess.PIPE, text=True
        )
        return result.stdout

    def record_one(self, test: Test) -> None:
        with tempfile.NamedTemporaryFile() as file:
            started = time.monotonic()
            variables = {"SLOTBOOK_MUTANTS_REACHED": file.name}
            test.fails = self.fails([test], variables, seconds_max=600)
            test.seconds = time.monotonic() - started
            numbers = array.array("I", Path(file.name).read_bytes())
            test.reached = set(numbers)

    def find_missed(self, mutants: list[Mutant], found: Path) -> list[Mutant]:
        """Returns the mutants that no test catches. A file gets each name once it is known."""
        missed: list[Mutant] = []
        with ThreadPoolExecutor(WORKERS) as pool, found.open("w") as names:
            printed = time.monotonic()
            verdicts = zip(mutants, pool.map(self.is_caught, mutants), strict=True)
            for done, (mutant, caught) in enumerate(verdicts, 1):
                if not caught:
                    missed.append(mutant)
                    gets_there = bool(self.by_mutant[mutant.number])
                    names.write(f"{mutant.name}{'' if gets_there else NOT_PASSED}\n")
                    names.flush()
                if time.monotonic() > printed + 60:
                    printed = time.monotonic()
                    print(f"{done} of {len(mutants)}: {len(missed)} missed", flush=True)
        return missed

    def is_caught(self, mutant: Mutant) -> bool:
        def cost(test: Test) -> float:
            return test.seconds / (1 + 3 * self.kills[mutant.file, test.program, test.name])

        variables = {"SLOTBOOK_MUTANT": str(mutant.number)}
        for batch in make_batches(sorted(self.by_mutant[mutant.number], key=cost)):
            seconds = sum(test.seconds for test in batch)
            failed = self.fails(batch, variables, seconds_max=max(20, 5 * seconds))
            if failed:
                self.kills[mutant.file, batch[0].program, failed] += 1
                return True
        return False

    def fails(self, tests: list[Test], variables: dict, seconds_max: float) -> str:
        """Returns the first test that fails, or an empty text. One that ends late or not fails."""
        bound = ["prlimit", f"--as={MEMORY_BYTES}"]
        command = [*bound, tests[0].program, "--exact", "--test-threads=1"]
        process = subprocess.Popen(
            [*command, *(test.name for test in tests)],
            cwd=self.copy,
            env={**os.environ, "CARGO_MANIFEST_DIR": str(self.copy), **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        timer = threading.Timer(seconds_max, kill, [process])
        timer.start()
        running = tests[0].name
        try:
            for line in process.stdout:
                if line.startswith("test ") and " ... " in line:
                    running = line.split()[1]
                if line.rstrip().endswith("FAILED"):
                    return running
            return running if process.wait() else ""
        finally:
            timer.cancel()
            kill(process)
            process.wait()
            process.stdout.close()


def make_batches(tests: list[Test]):
    """Splits tests, in their order, into batches of one program and of growing time."""
    sizes = iter(BATCH_SECONDS)
    size, group, seconds = next(sizes), [], 0.0
    for test in tests:
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


def kill(process: subprocess.Popen) -> None:
    """Ends a test and what it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
