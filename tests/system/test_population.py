# SPDX-License-Identifier: Apache-2.0
"""One row per kind of worker: the verdict and the reason that reaper must give it.

All rows live side by side under one host and are judged by one look, taken when every proof among
them is due.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from harness.binary import Reaper, Result
from harness.folders import public_folder
from harness.minihost import Daemon, MiniHost, Worker
from harness.privilege import STRANGER_UID

BIG = 30_000_000  # more than the buffers of a connection take
SMALL = 300_000  # less

IDLE = ("keep", "idle")
SERVING = ("keep", "serving")
SILENT = ("suspect", "silent")


@dataclass(frozen=True)
class Row:
    """A kind of worker: what it does, what its host does then, and what reaper must say.

    `silent` is the verdict past silent_after.
    """

    why: str
    steps: str
    verdict: tuple[str, str]
    then: str = ""
    members: dict[str, Any] = field(default_factory=dict)
    silent: tuple[str, str] = SILENT
    awake: tuple[str, str] | None = None  # where a look may find it running
    daemon: str = "pyspark.daemon"
    root: bool = False


ROWS = {
    # nothing is known against these
    "pooled": Row("an idle pooled worker must never be taken for a leak", "echo 3", IDLE, "read 3",
                  {"blocked_in": "read", "socket": "established", "fence": "none",
                   "transport": "tcp", "class": "pyspark", "role": "worker", "marker": "none"}),
    "fresh": Row("checked out, but not sent a byte yet: it looks pooled", "", IDLE),
    "pyjava": Row("the other shipped class: same shapes, another name", "", IDLE,
                  members={"class": "pyjava"}, daemon="pyjava.daemon"),
    "busy": Row("a worker that computes serves", "cpu", SERVING, members={"state": "R"}),
    "slow reader": Row("rows sent, the host reads slowly: it is blocked in write and will go on",
                       f"bigwrite {BIG}", IDLE, members={"blocked_in": "write"}),
    "half closed": Row("CLOSE_WAIT while the host holds its end is no hang-up", "poll", IDLE,
                       "half-close", {"socket": "half-closed"}),
    "no socket": Row("no task socket, no proof", "close-socket", IDLE, "close",
                     {"socket": "none", "fence": "none"}),
    "other network": Row("its socket is in no table that counts", "unshare-net then poll", IDLE,
                         "close", {"socket": "unknown", "fence": "none"}, ("keep", "changed"),
                         root=True),
    # whatever a task waits for, waiting long is no proof of anything
    "sleep": Row("time.sleep in a task", "sleep", IDLE, members={"blocked_in": "sleep"}),
    "poll": Row("poll(-1) in a task", "poll", IDLE,
                members={"blocked_in": "poll", "wait_forever": True}),
    "short polls": Row("a loop of polls, shorter than the time between two looks", "poll-loop 20",
                       IDLE,
                       members={"blocked_in": "poll", "wait_forever": False},
                       silent=("keep", "progress"), awake=SERVING),
    "epoll": Row("asyncio", "epoll", IDLE, members={"blocked_in": "epoll"}),
    "select": Row("select without a timeout", "select", IDLE, members={"blocked_in": "select"}),
    "futex": Row("a lock that is not released", "futex", IDLE, members={"blocked_in": "futex"}),
    "recv": Row("a slow data base", "recv-unix", IDLE, members={"blocked_in": "recv"}),
    "flock": Row("a file lock", "flock", IDLE, members={"blocked_in": "flock"}),
    "wait": Row("a slow child", "waitpid", IDLE, members={"blocked_in": "wait"}),
    "pipe": Row("a pipe that nobody writes", "pipe", IDLE, members={"blocked_in": "read"}),
    # proofs from the kernel
    "early stop": Row("the common leak: the host hung up, the worker sits in poll for ever",
                      f"poll {SMALL}", ("reap", "peer-closed"), f"read {SMALL} then close",
                      {"fence": "peer-closed", "socket": "peer-closed", "blocked_in": "poll",
                       "wait_forever": True}),
    "signed off": Row("it refused to be reused and waits for the hang-up, nothing else", "signoff",
                      ("reap", "signed-off"),
                      members={"fence": "signed-off", "socket": "signed-off",
                               "blocked_in": "recv"}),
    "signed off, unread": Row("the host may still write to it, and lose what it has not read",
                              f"signoff {SMALL}", ("keep", "unread-bytes"),
                              members={"fence": "signed-off"}),
    # a proof is not enough: what the worker does, or is, may object
    "thread at work": Row("a thread of it computes", "spin-thread then poll", ("keep", "running"),
                          "close", {"fence": "peer-closed"}),
    "unknown wait": Row("nothing is known about this wait", "pause", ("keep", "unknown-wait"),
                        "close", {"fence": "peer-closed", "blocked_in": None}),
    "another user": Row("it is not its daemon's user any more", f"setuid {STRANGER_UID} then poll",
                        ("keep", "foreign-uid"), "close", root=True),
}
STILL_SERVES = ("pooled", "fresh", "pyjava")


class Crowd:
    """All rows, and two looks at them: with the settings of every test, and with a short
    silent_after."""

    def __init__(self, reaper: Reaper, host: MiniHost) -> None:
        self.reaper = reaper
        self.host = host
        self.daemons: dict[str, Daemon] = {}
        self.workers = {name: self.worker(row) for name, row in ROWS.items() if self.may(row)}
        self.executed = self.daemon("pyspark.daemon").open()
        self.executed.task("exec")
        self.executed.close()
        due = [w for name, w in self.workers.items() if ROWS[name].verdict[0] == "reap"]
        self.first = reaper.audit_until_due(host, *due, *self.daemon("pyspark.daemon").leak())
        self.silent = reaper.audit(host, settings={"policy.silent_after": "1s"})
        for name in ("busy", "thread at work"):
            self.workers[name].pinned.kill()

    @staticmethod
    def may(row: Row) -> bool:
        return os.geteuid() == 0 or not row.root

    def daemon(self, module: str) -> Daemon:
        if module not in self.daemons:
            self.daemons[module] = self.host.daemon(module)
        return self.daemons[module]

    def worker(self, row: Row) -> Worker:
        worker = self.daemon(row.daemon).open()
        if row.steps:
            worker.task(row.steps)
        for act in filter(None, row.then.split(" then ")):
            name, *size = act.split()
            getattr(worker, name.replace("-", "_"))(*map(int, size))
        return worker


@pytest.fixture(scope="module")
def crowd(reaper_binary: Any, module_host: MiniHost) -> Iterator[Crowd]:
    home = public_folder("crowd")
    yield Crowd(Reaper(reaper_binary, home), module_host)
    shutil.rmtree(home)


def entry(result: Result, crowd: Crowd, name: str) -> dict[str, Any]:
    if name not in crowd.workers:
        pytest.skip("needs root")
    return result.worker(crowd.workers[name])


@pytest.mark.parametrize("name", ROWS)
def test_row(crowd: Crowd, name: str) -> None:
    """Every row gets its verdict and its reason, and the evidence is shown as it is."""
    row, found = ROWS[name], entry(crowd.first, crowd, name)
    assert (found["verdict"], found["reason"]) in (row.verdict, row.awake), row.why
    assert {key: found[key] for key in row.members} == row.members, row.why
    assert found["why"]


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.verdict == IDLE])
def test_silence_is_reported_and_no_more(crowd: Crowd, name: str) -> None:
    """Past silent_after a worker without a proof is a suspect, with the proof that is missing."""
    found = entry(crowd.silent, crowd, name)
    assert (found["verdict"], found["reason"]) == ROWS[name].silent
    assert bool(found["missing"]) == (found["verdict"] == "suspect")


def test_busy_is_not_silent(crowd: Crowd) -> None:
    """A worker that computes is no suspect, however long it sends nothing."""
    assert crowd.silent.verdict(crowd.workers["busy"]) == ("keep", "running")


def test_queues_are_shown(crowd: Crowd) -> None:
    """Both ends of a full connection, and the worker goes on when its host reads on."""
    slow = crowd.workers["slow reader"]
    assert crowd.first.worker(slow)["send_queue"] > 0
    slow.read(BIG)
    assert slow.serves()


def test_what_was_queued_arrives(crowd: Crowd) -> None:
    """Once the host has read all, the worker that signed off is due."""
    worker = crowd.workers["signed off, unread"]
    worker.read(SMALL)
    result = crowd.reaper.audit_until_due(crowd.host, worker)
    assert result.verdict(worker) == ("reap", "signed-off")


def test_an_executed_program_is_no_worker(crowd: Crowd) -> None:
    """A worker that became another program is not the class's any more."""
    listed = {w["pid"]: w["role"] for w in crowd.first.doc["workers"]}
    assert listed.get(crowd.executed.pid) != "worker"


@pytest.mark.parametrize("name", STILL_SERVES)
def test_untouched(crowd: Crowd, name: str) -> None:
    """To be looked at changes nothing: the next task runs on it."""
    assert crowd.workers[name].serves()
