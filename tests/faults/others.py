# SPDX-License-Identifier: Apache-2.0
"""What else is run while something is made to fail: doctor, retire, a watch whose members end, and a sweep of a
host in another network namespace; and what each of them must not say."""

from __future__ import annotations

import contextlib
import json
import pathlib
import re
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterator

from faulty import Crowd, Run, Scene
from harness.binary import Reaper
from harness.minihost import StartHost, Worker
from statuses import any_of, events, injected
from watching import ALONE, DEAF, QUIET_JVM, Listener

# Functions that make calls for nobody else (test_watch_calls.py knows the others).
BY_OTHERS = ("can_make", "check_audit_log", "check_files", "check_marker_dir", "check_metrics",
             "check_state_dir", "exit_info_read", "exit_info_read_zombie", "markers_retire", "read_lines",
             "sockets_read_proc", "watch_exits_read")
DOCTORS = ("doctor_kernel", "doctor_paths", "doctor_reach", "doctor_markers", "doctor_unmatched",
           "output_text")
# A daemon that no class describes, beside one that a class does.
UNMATCHED = "[class pyjava]\ndaemon_args = -m nothing.here\n"
MORTAL = "[class mortal]\nkind = single\nargs = mortal.sh\n"
ROW_LEFT_S = 3600  # how long the kernel keeps the row of an end that was closed
NETNS = ("unshare", "--net", "sh", "-c", f"ip link set lo up && echo {ROW_LEFT_S} "
         '>/proc/sys/net/ipv4/tcp_fin_timeout && exec "$@"', "sh")
TORN = "reaper/1 17636"
WRITE = re.compile(r"^write\(")


# ---- doctor


def find_something(reaper: Reaper) -> None:
    reaper.write_config(UNMATCHED)
    reaper.audit_log.touch(mode=0o640)


def doctor_of(folder: pathlib.Path) -> Scene:
    """On a machine on which there is something of each kind to find."""
    return Scene("doctor", ("--json", "doctor"), {"reaper.metrics_file": str(folder / "home" / "reaper.prom")},
                 prepare=find_something, statuses=frozenset({0, 1, 3}), signals=(), within=DOCTORS)


def judge_doctor(run: Run, errno: str) -> None:
    """Its status is that of its worst finding; without a document there is none, and it says why."""
    if run.result.rc == 3:
        written = any_of(injected(run), WRITE)
        assert written or (run.said() and errno == "ENOMEM"), f"why can it not tell? {run}"
        return
    checks = json.loads(run.result.out)["checks"]
    assert len(checks) > 5 and all(check["name"] and check["found"] for check in checks), run
    assert run.result.rc == any(check["status"] != "ok" for check in checks), run


# ---- retire


class Retired:
    """A worker that is retired, and the log in which that stands."""

    def __init__(self, worker: Worker, before: str) -> None:
        """`before` is what the log holds already; if nothing, the whole of marker_dir is missing."""
        self.worker = worker
        self.before = before
        self.log = pathlib.Path()

    def prepare(self, reaper: Reaper) -> None:
        self.log = reaper.marker_dir / "operator-0" / "retire.log"
        shutil.rmtree(reaper.marker_dir, ignore_errors=True)
        if self.before:
            self.log.parent.mkdir(mode=0o755, parents=True)
            self.log.write_text(self.before)
            self.log.chmod(0o644)
            for folder in (reaper.marker_dir, self.log.parent):
                folder.chmod(0o755)

    def scene(self) -> Scene:
        return Scene("retire", ("--json", "retire", str(self.worker.pid)), prepare=self.prepare,
                     statuses=frozenset({0, 3}), signals=(), within=("markers_retire", "output_text"))

    def text(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    def judge(self, rc: int) -> None:
        """Written is one record behind one that says who speaks; refused is none, nor a part of one."""
        mended = "\n" if self.before and not self.before.endswith("\n") else ""
        both = (rf"{mended}reaper/1 \d+ operator uid=0 boot=\S+ pidns=\d+\n"
                rf"reaper/1 \d+ retired worker={self.worker.identity}\n")
        text = self.text()
        assert text.startswith(self.before), f"what was there is lost: {text!r}"
        added = text[len(self.before):]
        assert not added if rc else re.fullmatch(both, added), f"status {rc}, and its log has {added!r}"

    def judge_run(self, run: Run) -> None:
        written = any_of(injected(run), WRITE)
        assert not run.result.rc or written or run.said(), f"it says nothing: {run}"
        self.judge(run.result.rc)


# ---- a watch whose members end


class Mortals:
    """Programs that end as soon as a watch has seen them: well, badly, and by a signal."""

    ENDS = (("code", 0), ("code", 7), ("signal", signal.SIGSEGV))

    def __init__(self, folder: pathlib.Path, crowd: Crowd) -> None:
        self.notify = folder / "notify-of-ends"
        self.script = folder / "mortal.sh"
        self.script.write_text('echo ready\nread code\nexit "$code"\n')
        self.always = crowd.hosts
        self.crowd = crowd
        self.running: list[subprocess.Popen[bytes]] = []
        self.ended = True

    def begin(self) -> None:
        """Anew, since each ends once."""
        self.finish()
        self.running = [subprocess.Popen(["sh", self.script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                        for _ in self.ENDS]
        for one in self.running:
            resource.prlimit(one.pid, resource.RLIMIT_CORE, (0, 0))
            assert one.stdout is not None and one.stdout.readline() == b"ready\n"
        self.crowd.hosts = (*self.always, *self.running)
        self.ended = False

    def end(self) -> None:
        """They stay zombies until the next run: who is waited for meanwhile is asked in fewer calls."""
        if self.ended:
            return
        self.ended = True
        for one, (how, number) in zip(self.running, self.ENDS):
            if how == "signal":
                one.send_signal(number)
            else:
                assert one.stdin is not None
                one.stdin.write(b"%d\n" % number)
                one.stdin.flush()

    def finish(self) -> None:
        for one in self.running:
            one.kill()
            one.communicate()
        self.running = []

    def prepare(self, reaper: Reaper) -> None:
        reaper.write_config(ALONE + MORTAL)
        self.begin()

    def scene(self) -> Scene:
        """Between two looks there is time for all of them to end."""
        return Scene("watch", ("--json", "watch"), {"reaper.interval": "5s"},
                     ("-E", "TERM_AT=3", "-E", f"NOTIFY_SOCKET={self.notify}"), self.prepare,
                     frozenset({0, 2, 3, 4}), signals=(), only_once=DEAF, within=("watch_exits_read",))

    def judge(self, run: Run) -> None:
        """An end is told rightly or as unknown, once, and nobody's who lives."""
        truth = {one.pid: end for one, end in zip(self.running, self.ENDS)}
        told = [event for event in events(run) if event["event"] == "exit"]
        assert len({event["pid"] for event in told}) == len(told), f"who ends twice? {run}"
        for event in told:
            how, number = truth[event["pid"]]
            assert event["how"] == "unknown" or (event["how"], event[how]) == (how, number), f"it lies: {run}"
            assert not event["counts"] or how == "signal", f"no crash: {run}"


@contextlib.contextmanager
def ending(folder: pathlib.Path, crowd: Crowd) -> Iterator[Mortals]:
    mortals = Mortals(folder, crowd)
    listener = Listener(mortals.notify, mortals.end)
    try:
        yield mortals
    finally:
        listener.finish()
        mortals.finish()


# ---- another network namespace


class Elsewhere:
    """A JVM in a network namespace of its own. Nobody tells there how long a socket has been silent, so that
    each sweep knows from one before since when."""

    def __init__(self, start_host: StartHost) -> None:
        self.host = start_host(prefix=[*NETNS, *QUIET_JVM])
        self.crowd = Crowd.of(self.host)
        self.crowd.kept.append(self.half_closed())
        self.history = b""

    def half_closed(self) -> Worker:
        """A worker whose host has only stopped writing."""
        half = self.host.daemons[0].open()
        half.task("poll")
        half.half_close()
        return half

    def prepare(self, reaper: Reaper) -> None:
        path = reaper.state_dir / "history"
        if not self.history:
            reaper.sweep(self.host, settings={"policy.timeout": "1h"}).expect(0)
            self.history = path.read_bytes()
            reaper.audit_log.unlink(missing_ok=True)
        path.write_bytes(self.history)
        path.chmod(0o640)

    def scene(self) -> Scene:
        return Scene("sweep", prepare=self.prepare, within=("sockets_read_proc",))
