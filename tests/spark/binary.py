# SPDX-License-Identifier: Apache-2.0
"""The reaper under test: run it on one host, read its document."""

import functools
import json
import os
import pathlib
import subprocess
from typing import Any, Dict, List, Optional, Sequence, Set

import jsonschema
import procs
from procs import Proc

REPO = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = REPO / "docs" / "reaper.schema.json"
RUN_S = 60

# The fastest legal settings: a test waits seconds where a user waits minutes.
FAST = {
    "policy.timeout": "1s",
    "policy.min_age": "1s",
    "policy.sample": "100ms",
    "policy.term_grace": "2s",
    "policy.kill_grace": "5s",
}


def built() -> pathlib.Path:
    return pathlib.Path(os.environ.get("REAPER_BIN", REPO / "build" / "reaper")).resolve()


class Result:
    """One finished run with its JSON document."""

    def __init__(self, argv: List[str], rc: int, out: str, err: str):
        self.argv, self.rc, self.out, self.err = argv, rc, out, err
        self.doc: Dict[str, Any] = {}
        if rc in (0, 1) and out:
            self.doc = json.loads(out)
            validate(self.doc, self)

    def __str__(self) -> str:
        return f"{' '.join(self.argv)}\nexit {self.rc}\n{self.out}\n{self.err}"

    def expect(self, *rcs: int) -> "Result":
        assert self.rc in rcs, f"expected exit {rcs}: {self}"
        return self

    def entries(self) -> Dict[Proc, Dict[str, Any]]:
        return {Proc(row["pid"], row["start"]): row for row in self.doc["workers"]}

    def worker(self, who: Proc) -> Dict[str, Any]:
        assert who in self.entries(), f"{who} is not listed: {self}"
        return self.entries()[who]

    def daemon(self, who: Proc) -> Dict[str, Any]:
        rows = [row for row in self.doc["daemons"] if Proc(row["pid"], row["start"]) == who]
        assert len(rows) == 1, f"{len(rows)} entries for daemon {who}: {self}"
        return rows[0]

    def holds(self, who: Proc, **members: Any) -> Dict[str, Any]:
        """Each named member of this worker's entry has this value, or one of a set of values."""
        row = self.worker(who)
        for name, want in members.items():
            good = row[name] in want if isinstance(want, (set, frozenset)) else row[name] == want
            assert good, f"{name} of {who} is {row[name]!r}, not {want!r}\n{row}\n{self}"
        return row

    def due(self) -> Set[Proc]:
        return {who for who, row in self.entries().items()
                if row["role"] == "worker" and row["verdict"] == "reap"}

    @property
    def actions(self) -> List[Dict[str, Any]]:
        return self.doc.get("actions", [])

    def ended(self) -> Set[Proc]:
        return {Proc(row["pid"], row["start"]) for row in self.actions
                if row["outcome"] in ("exited", "killed")}

    def awake(self) -> Set[Proc]:
        """Who ran when it was looked at, by the first look or by the one before the signal."""
        first = {who for who, row in self.entries().items()
                 if (row["verdict"], row["reason"]) == ("keep", "running")}
        return first | {Proc(row["pid"], row["start"]) for row in self.actions
                        if row["outcome"] == "spared"
                        and row.get("why") == "the second look says keep running"}


@functools.lru_cache(None)
def schema() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text("utf-8")))


def validate(doc: Dict[str, Any], result: Result) -> None:
    try:
        schema().validate(doc)
    except jsonschema.ValidationError as error:
        where = "/".join(map(str, error.absolute_path))
        raise AssertionError(f"{error.message} at {where}: {result}") from None


class Reaper:
    """The binary with state, markers and audit log of its own; blind to all hosts but one."""

    def __init__(self, program: pathlib.Path, home: pathlib.Path, host: Optional[int],
                 prefix: Sequence[str] = ()):
        assert host is not None or prefix, "without a host, only in a pid namespace of its own"
        home.mkdir(parents=True)
        self.program, self.home, self.prefix = program, home, list(prefix)
        self.options = [] if host is None else ["--host", str(host)]
        for folder, mode in (("state", 0o750), ("markers", 0o755), ("audit", 0o750)):
            (home / folder).mkdir()
            (home / folder).chmod(mode)
        self.settings = {
            "reaper.state_dir": str(home / "state"),
            "reaper.marker_dir": str(home / "markers"),
            "reaper.audit_log": str(home / "audit" / "audit.jsonl"),
            **FAST,
        }
        self.log = home / "audit" / "audit.jsonl"

    def run(self, *command: str, **settings: str) -> Result:
        """`policy` settings by name; one JSON document back."""
        argv = [*self.prefix, str(self.program), *self.options]
        chosen = {**self.settings, **{f"policy.{name}": value for name, value in settings.items()}}
        for key, value in chosen.items():
            argv += ["--set", f"{key}={value}"]
        argv += ["--json", *command]
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(self.home)}
        env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
        with subprocess.Popen(argv, env=env, cwd=self.home, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            try:
                out, err = child.communicate(timeout=RUN_S)
            except subprocess.TimeoutExpired:
                where = procs.whereabouts(child.pid)
                child.kill()
                raise AssertionError(f"no end after {RUN_S} s: {' '.join(argv)}\n{where}") from None
        return Result(argv, child.returncode, out, err).expect(0, 1)

    def audit(self, **settings: str) -> Result:
        return self.run("audit", **settings)

    def sweep(self, **settings: str) -> Result:
        return self.run("sweep", **settings)

    def explain(self, pid: int, **settings: str) -> Dict[str, Any]:
        return self.run("explain", str(pid), **settings).expect(0).doc["explain"]

    def records(self) -> List[Dict[str, Any]]:
        """The audit log; every line must parse by itself."""
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_text("utf-8").splitlines()]
