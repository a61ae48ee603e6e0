"""Judges all mutants of some files: the second half of tests/mutants/run, which says how.

A run that was ended goes on where it was, as long as the commit and the arguments are the same.
"""

import json
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from build import Build, list_mutants
from judge import Judge, Test, read_rows
from plant import Mutant

HERE = Path(__file__).parent
# What follows the name of a mutant that is missed for want of a test that passes it.
NOT_PASSED = " (no test gets there)"


def main(copy: Path, place: str, files: str, tests: list[str]) -> None:
    started = time.monotonic()
    known = copy.parent / "known"
    mutants, programs = prepare(copy, known, files, tests)
    print(f"{len(mutants)} mutants, built after {minutes_since(started)} minutes", flush=True)
    judge = Judge(copy, known)
    judge.killers = dict(read_verdicts(copy.parent / "killers.jsonl"))
    judge.record(programs)
    report_tests(judge.tests)
    print(f"{len(judge.tests)} tests alone after {minutes_since(started)} minutes", flush=True)
    planted = [mutant for mutant in mutants if not mutant.dropped]
    verdicts = judge.find_verdicts(planted, "quick", judge.judge_quickly)
    missed = [mutant for mutant in planted if not verdicts[mutant.name]]
    print(f"{len(missed)} missed by quick tests", flush=True)
    verdicts |= judge.find_verdicts(missed, "slow", judge.judge_slowly)
    missed = [mutant for mutant in planted if not verdicts[mutant.name]]
    report_mutants(copy.parent, place, mutants, missed, judge)
    print(f"== {minutes_since(started)} minutes")


def prepare(copy: Path, known: Path, files: str, tests: list[str]) -> tuple[list[Mutant], list]:
    """Returns the mutants and the programs with them: those of an ended run, or new ones."""
    commit = ["git", "-C", str(copy), "rev-parse", "HEAD"]
    commit = subprocess.run(commit, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    stamp = {"commit": commit, "files": files, "tests": tests}
    file = known / "build.json"
    if file.exists():
        built = json.loads(file.read_text())
        if built["stamp"] == stamp:
            return [Mutant(**row) for row in built["mutants"]], built["programs"]
        keep_killers(known)
        shutil.rmtree(known)
    mutants = list_mutants(copy, files)
    build = Build(copy, copy.parent / "build", mutants, copy.parent / "dropped.json")
    programs = [str(program) for program in build.make(tests)]
    known.mkdir(exist_ok=True)
    rows = [asdict(mutant) for mutant in mutants]
    file.write_text(json.dumps({"stamp": stamp, "mutants": rows, "programs": programs}))
    return mutants, programs


def keep_killers(known: Path) -> None:
    """Remembers which test caught which mutant: it is tried first in the next run."""
    file = known.parent / "killers.jsonl"
    caught = dict(read_verdicts(file))
    for stage in ("quick", "slow"):
        caught |= {name: by for name, by in read_verdicts(known / f"{stage}.jsonl") if by}
    rows = ({"mutant": name, "caught_by": by} for name, by in caught.items())
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def read_verdicts(file: Path) -> list[tuple[str, str]]:
    return [(row["mutant"], row["caught_by"]) for row in read_rows(file)]


def minutes_since(started: float) -> int:
    return round((time.monotonic() - started) / 60)


def report_tests(tests: list[Test]) -> None:
    for test in tests:
        if test.fails:
            print(f"left out, since it fails without a mutant: {test.key}")
        if test.slow:
            print(f"slow: {test.key}")


def report_mutants(
    work: Path, place: str, mutants: list[Mutant], missed: list[Mutant], judge: Judge
) -> None:
    reasons = read_reasons(HERE / "equivalent.txt")
    unnamed, named, used = [], [], set()
    for mutant in missed:
        reason = next((r for r in reasons if r.fits(mutant)), None)
        if reason:
            named.append(f"{mutant.name} # {reason.why}\n")
            used.add(reason)
        else:
            gets_there = bool(judge.by_mutant[mutant.number])
            unnamed.append(f"{mutant.name}{'' if gets_there else NOT_PASSED}\n")
    dropped = Counter(mutant.dropped for mutant in mutants if mutant.dropped)
    unviable = dropped.pop("unviable", 0)
    judged = len(mutants) - unviable - dropped.total()
    skipped = [f"{m.name}: {m.dropped}\n" for m in mutants if m.dropped not in {"", "unviable"}]
    (work / "missed.txt").write_text("".join(unnamed))
    (work / "named.txt").write_text("".join(named))
    (work / "not_judged.txt").write_text("".join(skipped))
    print("".join(unnamed), end="")
    for reason in reasons:
        if reason not in used and any(mutant.file == reason.file for mutant in mutants):
            print(f"equivalent.txt names no mutant that survives: {reason.text}")
    print(f"== {place}: {len(mutants)} mutants, {unviable} unviable, {dropped.total()} not judged")
    for reason, count in dropped.most_common():
        print(f"==   {count}: {reason}")
    print(f"== {judged} judged, {judged - len(missed)} caught, {len(missed)} missed")
    not_passed = sum(line.endswith(f"{NOT_PASSED}\n") for line in unnamed)
    print(f"== {len(named)} of those that are missed are equivalent: equivalent.txt says why")
    print(f"== no test gets to {not_passed} of the others")
    if judged:
        print(f"== {len(missed) / judged:.1%} missed, {len(unnamed) / judged:.1%} unnamed")


class Reason:
    """A line of equivalent.txt: mutants of a file that change nothing a caller could see."""

    def __init__(self, text: str):
        self.text = text
        start, self.why = (part.strip() for part in text.split(" # "))
        self.file, pattern = start.split(": ", 1)
        self.pattern = re.compile(pattern)

    def fits(self, mutant: Mutant) -> bool:
        change = mutant.name.split(": ", 1)[1]
        return mutant.file == self.file and bool(self.pattern.search(change))


def read_reasons(file: Path) -> list[Reason]:
    lines = file.read_text().splitlines()
    return [Reason(line) for line in lines if line and not line.startswith("#")]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:])
