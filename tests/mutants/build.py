"""Plants all mutants of some files in a copy of the sources, and builds its tests.

A mutant that the compiler refuses is dropped, until the copy compiles. It is *unviable* if plain
cargo-mutants would see the same error, and *not judged* if only its planted form is wrong.
"""

import hashlib
import json
import os
import subprocess
from collections import defaultdict
from pathlib import Path

import plant
from plant import Mutant

HERE = Path(__file__).parent
# Errors of an operator between these types, and of a value of the wrong type: the mutant's own.
OWN_ERRORS = {"E0277", "E0308", "E0368", "E0369", "E0600"}
# Overflow that the compiler foresees ends the mutant when it runs.
HEADER = """#![feature(const_eval_select, core_intrinsics)]
#![allow(internal_features, warnings, arithmetic_overflow, unconditional_panic)]
"""
# All mutants together make much code, so it is neither optimised nor kept in parts.
PROFILE = ["--config", "profile.dev.debug=0"]


def list_mutants(copy: Path, files: str) -> list[Mutant]:
    command = ["cargo", "mutants", "--list", "--json", "--dir", str(copy), "--file", files]
    rows = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    mutants = []
    for number, row in enumerate(rows, 1):
        returns = (row["function"] or {}).get("return_type", "")
        members = (row[name] for name in ("name", "file", "genre", "replacement"))
        mutants.append(Mutant(number, *members, returns, row["span"]))
    return mutants


class Build:
    """`folder` gets the programs. `known` remembers what was dropped, by the content of a file."""

    def __init__(self, copy: Path, folder: Path, mutants: list[Mutant], known: Path):
        self.copy, self.folder = copy, folder
        self.mutants = {mutant.number: mutant for mutant in mutants}
        self.by_file: dict[str, list[Mutant]] = defaultdict(list)
        for mutant in mutants:
            self.by_file[mutant.file].append(mutant)
        self.sources = {file: (copy / file).read_bytes() for file in self.by_file}
        self.planted: dict[str, bytes] = {}
        self.known = known

    def make(self, tests: list[str]) -> list[Path]:
        """Returns the test programs with every mutant that compiles."""
        (self.copy / "src/mutants.rs").write_bytes((HERE / "mutants.rs").read_bytes())
        root = self.copy / "src/lib.rs"
        root.write_text(f"{HEADER}{root.read_text()}\npub mod mutants;\n")
        self.recall_dropped()
        self.plant(self.by_file)
        for arguments in (["check", "--lib"], ["test", "--no-run", *tests]):
            while True:
                messages, succeeded = self.cargo(arguments)
                if succeeded:
                    break
                self.drop(messages)
        self.remember_dropped()
        return [Path(m["executable"]) for m in messages if is_test_program(m)]

    def recall_dropped(self) -> None:
        """Drops what an earlier run dropped from the same text: that spares most of the builds."""
        rows = json.loads(self.known.read_text()) if self.known.exists() else {}
        for mutant in self.mutants.values():
            row = rows.get(mutant.file, {})
            if row.get("digest") == self.digest(mutant.file):
                mutant.dropped = row["dropped"].get(mutant.name, "")

    def remember_dropped(self) -> None:
        rows = json.loads(self.known.read_text()) if self.known.exists() else {}
        for file, mutants in self.by_file.items():
            dropped = {m.name: m.dropped for m in mutants if m.dropped}
            rows[file] = {"digest": self.digest(file), "dropped": dropped}
        self.known.write_text(json.dumps(rows))

    def digest(self, file: str) -> str:
        return hashlib.sha256(self.sources[file]).hexdigest()

    def plant(self, files) -> None:
        for file in files:
            self.planted[file] = plant.plant_file(self.sources[file], self.by_file[file])
            (self.copy / file).write_bytes(self.planted[file])

    def cargo(self, arguments: list[str]) -> tuple[list[dict], bool]:
        command = ["cargo", arguments[0], "--locked", "--message-format=json", *PROFILE]
        # The switch asks in constant functions too, which the stable compiler has no way to do.
        environment = {**os.environ, "RUSTC_BOOTSTRAP": "slotbook"}
        environment |= {"CARGO_TARGET_DIR": str(self.folder), "CARGO_INCREMENTAL": "0"}
        result = subprocess.run(
            [*command, *arguments[1:]],
            cwd=self.copy,
            env=environment,
            capture_output=True,
            text=True,
        )
        messages = [json.loads(line) for line in result.stdout.splitlines() if line[:1] == "{"]
        if result.returncode and not any(is_error(m) for m in messages):
            raise SystemExit(result.stderr)
        return messages, result.returncode == 0

    def drop(self, messages: list[dict]) -> None:
        dropped: list[Mutant] = []
        unknown = []
        for error in (m["message"] for m in messages if is_error(m)):
            found = self.blame(error)
            if not found and error["spans"]:
                unknown.append(error["rendered"])
            dropped += found
        print(f"{len(dropped)} mutants do not compile", flush=True)
        if not dropped:
            raise SystemExit("no mutant explains these errors:\n" + "\n".join(unknown))
        self.plant({mutant.file for mutant in dropped})

    def blame(self, error: dict) -> list[Mutant]:
        """Drops the mutants that an error comes from, and returns them."""
        spans = sorted(error["spans"], key=lambda span: not span["is_primary"])
        code = (error["code"] or {}).get("code", "")
        for span in spans:
            if span["file_name"] not in self.planted:
                continue
            planted = self.planted[span["file_name"]]
            place = span["byte_start"], span["byte_end"]
            if code == "E0004":
                kind, numbers = "m", plant.find_deleted_arms(planted, *place)
            else:
                kind, numbers = plant.blame(planted, *place)
                numbers = numbers or plant.find_hidden_types(planted, *place)
            mutants = [self.mutants[n] for n in numbers if not self.mutants[n].dropped]
            if kind != "m" and mutants and mutants[0].genre == "FnValue":
                # The replacements of a hidden type fail together. The first one is the empty
                # iterator, which fits; the others often have items of another type.
                mutants = mutants[1:] or mutants
            for mutant in mutants:
                own = (kind == "m" and is_own_error(mutant, code)) or code == "E0271"
                mutant.dropped = "unviable" if own else f"its form does not compile ({code})"
            if mutants:
                return mutants
        return []


def is_own_error(mutant: Mutant, code: str) -> bool:
    """Whether plain cargo-mutants would see an error too: it does not for `==` and `!=`."""
    if mutant.genre in {"FnValue", "MatchArm"}:
        return True
    return code in OWN_ERRORS and mutant.replacement not in {"==", "!="}


def is_error(message: dict) -> bool:
    return message["reason"] == "compiler-message" and message["message"]["level"] == "error"


def is_test_program(message: dict) -> bool:
    if message["reason"] != "compiler-artifact" or not message["executable"]:
        return False
    return message["profile"]["test"]
