"""Judges all mutants of some files: the second half of tests/mutants/run, which says how."""

import sys
import time
from collections import Counter
from pathlib import Path

from build import Build, list_mutants
from judge import NOT_PASSED, Judge, Test
from plant import Mutant


def main(copy: Path, place: str, files: str, tests: list[str]) -> None:
    started = time.monotonic()
    mutants = list_mutants(copy, files)
    print(f"{len(mutants)} mutants", flush=True)
    programs = Build(copy, copy.parent / "build", mutants).make(tests)
    print(f"built after {minutes_since(started)} minutes", flush=True)
    judge = Judge(copy)
    judge.record(programs)
    report_tests(judge.tests)
    planted = [mutant for mutant in mutants if not mutant.dropped]
    print(f"{len(judge.tests)} tests alone after {minutes_since(started)} minutes", flush=True)
    file = copy.parent / "missed.txt"
    judge.find_missed(planted, file)
    print(file.read_text(), end="")
    report_mutants(copy.parent, place, mutants)
    print(f"== {minutes_since(started)} minutes")


def minutes_since(started: float) -> int:
    return round((time.monotonic() - started) / 60)


def report_tests(tests: list[Test]) -> None:
    for test in tests:
        if test.fails:
            print(f"left out, since it fails without a mutant: {test.name}")
    for test in sorted(tests, key=lambda test: -test.seconds)[:5]:
        print(f"{test.seconds:.1f} s: {test.name}")


def report_mutants(work: Path, place: str, mutants: list[Mutant]) -> None:
    missed = (work / "missed.txt").read_text().splitlines()
    not_passed = sum(line.endswith(NOT_PASSED) for line in missed)
    reasons = Counter(mutant.dropped for mutant in mutants if mutant.dropped)
    unviable = reasons.pop("unviable", 0)
    judged = len(mutants) - unviable - reasons.total()
    skipped = [f"{m.name}: {m.dropped}\n" for m in mutants if m.dropped not in {"", "unviable"}]
    (work / "not_judged.txt").write_text("".join(skipped))
    print(f"== {place}: {len(mutants)} mutants, {unviable} unviable, {reasons.total()} not judged")
    for reason, count in reasons.most_common():
        print(f"==   {count}: {reason}")
    print(f"== {judged} judged, {judged - len(missed)} caught, {len(missed)} missed")
    print(f"== no test gets to {not_passed} of those that are missed")
    if judged:
        share = len(missed) / judged
        print(f"== {1 - share:.1%} caught, {share:.1%} missed")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:])
