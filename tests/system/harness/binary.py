# SPDX-License-Identifier: Apache-2.0
"""The shipped binary: run it, judge its output, read what it wrote."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jsonschema

from harness import procs
from harness.minihost import Daemon, MiniHost

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCHEMA_FILE = ROOT / "docs" / "reaper.schema.json"
RUN_S = 120
DUE_S = 3.0  # after a timeout of 1 s, of which stolen processors hide some from who sleeps
SANITIZER = re.compile(r"(Address|Leak|UndefinedBehavior|Memory)Sanitizer|runtime error:")

Hosts = MiniHost | tuple[MiniHost, ...]  # as values of --host

# The fastest legal settings: a test waits seconds where a user waits minutes.
FAST = {
    "policy.timeout": "1s",
    "policy.min_age": "1s",
    "policy.sample": "100ms",
    "policy.term_grace": "2s",
    "policy.kill_grace": "2s",
}


def binary_path() -> pathlib.Path:
    return pathlib.Path(os.environ.get("REAPER_BIN", ROOT / "build" / "reaper"))


@functools.cache
def schema() -> jsonschema.Draft202012Validator:
    """What judges documents; made once, for to check the schema itself takes longer than that."""
    content = json.loads(SCHEMA_FILE.read_text())
    jsonschema.Draft202012Validator.check_schema(content)
    return jsonschema.Draft202012Validator(content)


def no_findings(err: str) -> None:
    """A sanitizer's report fails whatever test saw it."""
    assert not SANITIZER.search(err), err


@dataclass
class Result:
    """One finished run."""

    argv: list[str]
    rc: int
    out: str
    err: str
    took_s: float
    doc: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return (f"{' '.join(self.argv)}\nrc {self.rc} after {self.took_s:.2f} s\n"
                f"--- stdout\n{self.out}\n--- stderr\n{self.err}")

    def expect(self, rc: int) -> Result:
        assert self.rc == rc, f"expected rc {rc}: {self}"
        return self

    def worker(self, who: Any) -> dict[str, Any]:
        """The document's entry for one worker."""
        found = [w for w in self.doc["workers"] if w["pid"] == who.pid]
        assert len(found) == 1, f"{len(found)} entries for {who.pid}: {self}"
        assert found[0]["start"] == who.start, f"start of {who.pid}: {self}"
        return found[0]

    def verdict(self, who: Any) -> tuple[str, str]:
        entry = self.worker(who)
        return entry["verdict"], entry["reason"]

    def action(self, who: Any) -> dict[str, Any]:
        found = [a for a in self.doc["actions"] if a["pid"] == who.pid]
        assert len(found) == 1, f"{len(found)} actions for {who.pid}: {self}"
        return found[0]

    @property
    def acted_on(self) -> set[int]:
        """The pids of the workers that this sweep ended."""
        return {a["pid"] for a in self.doc["actions"]
                if a["role"] == "worker" and a["outcome"] in ("exited", "killed")}


class Reaper:
    """The binary with files of its own: state, markers and audit log lie in one folder."""

    def __init__(self, binary: pathlib.Path, home: pathlib.Path, uid: int | None = None) -> None:
        self.binary = binary
        self.home = home
        self.uid = uid
        self.state_dir = home / "state"
        self.marker_dir = home / "markers"
        self.audit_log = home / "audit" / "audit.jsonl"
        self.config = home / "reaper.conf"
        self.settings = dict(FAST)
        self.marker_dir.mkdir(mode=0o755)
        self.state_dir.mkdir(mode=0o750)
        self.audit_log.parent.mkdir(mode=0o750)
        self.write_config("")
        if uid is not None:
            for path in (home, self.marker_dir, self.state_dir, self.audit_log.parent,
                         self.config):
                os.chown(path, uid, uid)

    def write_config(self, more: str) -> None:
        """The three paths, then whatever a test adds."""
        self.config.write_text(
            f"[reaper]\nmarker_dir = {self.marker_dir}\nstate_dir = {self.state_dir}\n"
            f"audit_log = {self.audit_log}\n{more}")
        self.config.chmod(0o644)

    def environment(self, more: dict[str, str] | None = None,
                    argv: Sequence[str] = ()) -> dict[str, str]:
        """What the binary sees of the environment, for this command line."""
        sanitizers = {k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}
        if "strace" in argv:
            # LeakSanitizer wants to trace the program itself; the other checks stay.
            sanitizers["ASAN_OPTIONS"] = sanitizers.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        return {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "LC_ALL": "C.UTF-8",
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.home / "xdg-run"),
            "XDG_STATE_HOME": str(self.home / "xdg-state"),
            **sanitizers,
            **(more or {}),
        }

    def argv(self, args: tuple[str, ...], hosts: tuple[MiniHost, ...],
             settings: dict[str, str] | None) -> list[str]:
        """The command line; a sweep or a watch is never let loose without a host."""
        acts = {"sweep", "watch"} & set(args)
        assert hosts or self.uid is not None or not acts or "--help" in args, \
            "a root sweep must name its --host"
        argv = [str(self.binary), "-c", str(self.config)]
        for host in hosts:
            argv += ["--host", str(host.pid)]
        for key, value in {**self.settings, **(settings or {})}.items():
            argv += ["--set", f"{key}={value}"]
        return argv + list(args)

    def who(self) -> dict[str, Any]:
        if self.uid is None:
            return {}
        return {"user": self.uid, "group": self.uid, "extra_groups": []}

    def run_argv(self, argv: list[str], *, env: dict[str, str] | None = None,
                 timeout_s: float = RUN_S, check: bool = True) -> Result:
        """Run a whole command line as it stands."""
        began = time.monotonic()
        done = subprocess.run(
            argv, env=self.environment(env, argv), cwd=self.home, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=timeout_s, check=False, **self.who())
        result = Result(argv, done.returncode, done.stdout.decode(errors="surrogateescape"),
                        done.stderr.decode(errors="surrogateescape"), time.monotonic() - began)
        if check:
            no_findings(result.err)
            assert result.rc >= 0, f"died of signal {-result.rc}: {result}"
        return result

    def run(self, *args: str, host: Hosts = (),
            settings: dict[str, str] | None = None, prefix: tuple[str, ...] = (),
            env: dict[str, str] | None = None, timeout_s: float = RUN_S) -> Result:
        """Run one command; its JSON document, where it prints one, is parsed and validated."""
        hosts = host if isinstance(host, tuple) else (host,)
        argv = list(prefix) + self.argv(args, hosts, settings)
        result = self.run_argv(argv, env=env, timeout_s=timeout_s)
        if "--json" in args and result.rc in (0, 1):
            result.doc = json.loads(result.out)
            self.validate(result)
        return result

    def validate(self, result: Result) -> None:
        if "workers" not in result.doc:
            return
        try:
            schema().validate(result.doc)
        except jsonschema.ValidationError as error:
            where = "/".join(map(str, error.absolute_path))
            raise AssertionError(f"{error.message} at {where}: {result}") from None

    def audit(self, host: Hosts = (), **more: Any) -> Result:
        return self.run("--json", "audit", host=host, **more)

    def sweep(self, host: Hosts = (), **more: Any) -> Result:
        return self.run("--json", "sweep", host=host, **more)

    def audit_until_due(self, host: Hosts, *due: Any, **more: Any) -> Result:
        """The first audit in which each of `due` is to be ended."""
        last: list[Result] = []

        def all_due() -> bool:
            last[:] = [self.audit(host, **more)]
            return all(last[0].worker(who)["verdict"] == "reap" for who in due)

        try:
            procs.until("every leak is due", all_due, 15)
        except AssertionError as error:
            raise AssertionError(f"{error}: {last[0]}") from None
        return last[0]

    def wait_due(self, *workers: Any) -> None:
        """Let the timeout pass for workers that are fenced by now, and each come to rest."""
        assert workers
        self.audit_until_due(tuple({worker.host for worker in workers}), *workers)

    def judge(self, daemon: Daemon, **more: Any) -> Result:
        """Audit when a leak that is younger than the daemon's other workers is due."""
        control, = daemon.leak()
        result = self.audit_until_due(daemon.host, control, **more)
        assert result.verdict(control) == ("reap", "peer-closed"), result
        control.pinned.kill()
        return result

    def audit_records(self) -> list[dict[str, Any]]:
        """The audit log, line by line; every line must parse by itself."""
        if not self.audit_log.exists():
            return []
        text = self.audit_log.read_text()
        for _ in range(100):  # an append is shown page by page
            if not text or text.endswith("\n"):
                break
            time.sleep(0.05)
            text = self.audit_log.read_text()
        assert text == "" or text.endswith("\n"), f"torn audit log: {text[-200:]!r}"
        return [json.loads(line) for line in text.splitlines()]

    def begin(self, *args: str, host: Hosts = (), settings: dict[str, str] | None = None,
              prefix: tuple[str, ...] = ()) -> Running:
        """Start one command and go on."""
        hosts = host if isinstance(host, tuple) else (host,)
        return Running(self, list(prefix) + self.argv(args, hosts, settings))

    def watch(self, host: Hosts = (), settings: dict[str, str] | None = None,
              env: dict[str, str] | None = None, prefix: tuple[str, ...] = (),
              args: tuple[str, ...] = ("--json", "watch")) -> Watch:
        hosts = host if isinstance(host, tuple) else (host,)
        argv = list(prefix) + self.argv(args, hosts, settings)
        return Watch(self, argv, env or {})


class Running:
    """A command that still runs; always ended by the test that began it."""

    def __init__(self, reaper: Reaper, argv: list[str]) -> None:
        self.argv = argv
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            argv, env=reaper.environment(argv=argv), cwd=reaper.home, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **reaper.who())
        self.pinned = procs.Pinned(self.process.pid)

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.pinned.kill()
        self.process.communicate()
        self.pinned.close()

    def result(self, timeout_s: float = 30) -> Result:
        """Wait for its end."""
        out, err = self.process.communicate(timeout=timeout_s)
        no_findings(err)
        return Result(self.argv, self.process.returncode, out, err,
                      time.monotonic() - self.began)


class Watch:
    """A running `reaper watch` with a notify socket; always ended by the test that began it."""

    def __init__(self, reaper: Reaper, argv: list[str], env: dict[str, str]) -> None:
        path = str(reaper.home / "notify")
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        if os.path.exists(path):
            os.unlink(path)
        self.notify.bind(path)
        os.chmod(path, 0o666)
        self.messages: list[str] = []
        self.out_path = reaper.home / f"watch-{time.monotonic_ns()}.out"
        self.err_path = self.out_path.with_suffix(".err")
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.process = subprocess.Popen(
                argv, env=reaper.environment({"NOTIFY_SOCKET": path, **env}, argv), cwd=reaper.home,
                stdin=subprocess.DEVNULL, stdout=out, stderr=err, **reaper.who())
        self.pinned = procs.Pinned(self.process.pid)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def events(self) -> list[dict[str, Any]]:
        """Every whole line of JSON so far."""
        lines = self.out_path.read_text().split("\n")[:-1]
        return [json.loads(line) for line in lines]

    def errors(self) -> str:
        return self.err_path.read_text()

    def receive(self) -> list[str]:
        """Everything that came over the notify socket so far, one assignment each."""
        while select.select([self.notify], [], [], 0)[0]:
            self.messages += self.notify.recv(65536).decode().split("\n")
        return [message for message in self.messages if message]

    def until_notified(self, start: str, timeout_s: float = 15) -> None:
        self.until(f"{start} over the notify socket",
                   lambda: any(m.startswith(start) for m in self.receive()), timeout_s)

    def until_event(self, timeout_s: float = 15, **members: Any) -> dict[str, Any]:
        """The first event with these members."""
        found: list[dict[str, Any]] = []

        def seen() -> bool:
            found[:] = [e for e in self.events()
                        if all(e.get(k) == v for k, v in members.items())]
            return bool(found)

        self.until(f"event {members}", seen, timeout_s)
        return found[0]

    def until(self, what: str, probe: Any, timeout_s: float) -> None:
        try:
            # who does not listen holds up whoever tells (net.unix.max_dgram_qlen)
            procs.until(what, lambda: (self.receive(), probe())[1], timeout_s)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.out_path.read_text()}\n{self.errors()}\n"
                                 f"notified: {self.receive()}") from None

    def stop(self, number: int = signal.SIGTERM, timeout_s: float = 10) -> tuple[int, float]:
        """Send a signal; exit status and seconds until it was gone."""
        began = time.monotonic()
        self.pinned.signal(number)
        return self.wait(timeout_s), time.monotonic() - began

    def wait(self, timeout_s: float = 20) -> int:
        try:
            rc = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"watch still runs after {timeout_s} s\n"
                                 f"{self.out_path.read_text()}\n{self.errors()}") from None
        no_findings(self.errors())
        return rc

    def finish(self) -> None:
        if self.process.poll() is None:
            self.pinned.kill()
            self.process.wait(10)
        self.pinned.close()
        self.notify.close()
