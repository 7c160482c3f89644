# SPDX-License-Identifier: Apache-2.0
"""What a host's markers, and an operator's, prove; and what they do not."""

from __future__ import annotations

import time
import uuid

import pytest

from harness.binary import Reaper
from harness.markers import (BOOT_ID, PID_NS, PastLog, host_record, operator_record,
                             record, tasks_that_ended)
from harness.minihost import MiniHost, OldWorkers, StartHost, Worker
from harness.privilege import needs_strace

KEEP_IDLE = ("keep", "idle")
KEEP_SERVING = ("keep", "serving")
LATE_BYTE_S = 10  # a byte that comes later than that after the last task is no part of it
GROWN_S = 44.5  # a pool_timeout of 1 s, the 40 s that a purge may take, and the logs' own beginning


@pytest.fixture
def marked_host(reaper: Reaper, start_host: StartHost) -> MiniHost:
    """A JVM that writes a marker log."""
    return start_host(marker_log=reaper.marker_dir / "host.log")


def test_open_task(reaper: Reaper, marked_host: MiniHost) -> None:
    """A bound task that has not ended: the worker serves."""
    marked_host.marker(host_record(marked_host, "pool=none tasks=some"))
    daemon = marked_host.daemon()
    worker = daemon.open()
    marked_host.marker(f"begin task=1 job=7 worker={worker.identity}")
    worker.task("sleep")
    result = reaper.judge(daemon)
    assert result.verdict(worker) == KEEP_SERVING
    entry = result.worker(worker)
    assert entry["tasks"] == ["1"] and entry["job"] == "7" and entry["marker"] == "open"


def test_open_task_does_not_outweigh_the_kernel(reaper: Reaper, marked_host: MiniHost) -> None:
    """A log that lost its end record cannot hide a hang-up."""
    marked_host.marker(host_record(marked_host, "pool=none tasks=some"))
    worker = marked_host.daemon().open()
    marked_host.marker(f"begin task=1 worker={worker.identity}")
    worker.task("poll")
    worker.close()
    result = reaper.audit_until_due(marked_host, worker)
    assert result.verdict(worker) == ("reap", "peer-closed")


def test_retired_by_its_host(reaper: Reaper, marked_host: MiniHost) -> None:
    """The host gave it up: the one proof for a worker that looks pooled."""
    marked_host.marker(host_record(marked_host, "pool=unknown tasks=some"))
    daemon = marked_host.daemon()
    worker, other = daemon.open(), daemon.open()
    marked_host.marker(f"retired worker={worker.identity}")
    result = reaper.audit_until_due(marked_host, worker)
    assert result.verdict(worker) == ("reap", "retired")
    assert result.worker(worker)["marker"] == "retired"
    assert result.verdict(other) == KEEP_IDLE
    assert reaper.sweep(marked_host).expect(0).acted_on == {worker.pid}
    assert other.serves()


def test_retired_but_bytes_wait(reaper: Reaper, marked_host: MiniHost) -> None:
    """Bytes for the worker, while the host holds its end, object to every fence."""
    marked_host.marker(host_record(marked_host, "pool=unknown tasks=some"))
    daemon = marked_host.daemon()
    worker = daemon.open()
    worker.task("poll")
    worker.write(100)
    marked_host.marker(f"retired worker={worker.identity}")
    result = reaper.judge(daemon)
    assert result.verdict(worker) == ("keep", "unread-bytes")
    assert result.worker(worker)["recv_queue"] == 100


def test_retired_but_open(reaper: Reaper, marked_host: MiniHost) -> None:
    """An open task contradicts its host's own word."""
    marked_host.marker(host_record(marked_host, "pool=unknown tasks=some"))
    daemon = marked_host.daemon()
    worker = daemon.open()
    marked_host.marker(f"begin task=1 worker={worker.identity}")
    marked_host.marker(f"retired worker={worker.identity}")
    assert reaper.judge(daemon).verdict(worker) == ("keep", "open-task")


def test_task_ended_and_no_pool(reaper: Reaper, marked_host: MiniHost) -> None:
    """A host that never reuses workers, and whose task ended: declared."""
    marked_host.marker(host_record(marked_host, "pool=none tasks=some"))
    daemon = marked_host.daemon()
    worker, unbound = daemon.open(), daemon.open()
    marked_host.marker(f"begin task=1 worker={worker.identity}")
    worker.task("sleep")
    marked_host.marker("end task=1 outcome=ok")
    result = reaper.audit_until_due(marked_host, worker)
    assert result.verdict(worker) == ("reap", "task-ended")
    assert result.verdict(unbound) == KEEP_IDLE


def test_task_ended_by_port(reaper: Reaper, marked_host: MiniHost) -> None:
    """A host that knows no pid binds by the two ports of the task socket."""
    marked_host.marker(host_record(marked_host, "pool=none tasks=some"))
    daemon = marked_host.daemon()
    worker = daemon.open()
    marked_host.marker(f"begin task=1 job=2 lport={worker.lport} dport={daemon.port}")
    worker.task("sleep")
    marked_host.marker("end job=2 outcome=failed")
    assert reaper.audit_until_due(marked_host, worker).verdict(worker) == ("reap", "task-ended")


def test_task_ended_is_not_enough(reaper: Reaper, marked_host: MiniHost) -> None:
    """A completion marker alone never kills: the worker may be pooled."""
    marked_host.marker(host_record(marked_host, "pool=unknown tasks=some"))
    daemon = marked_host.daemon()
    worker = daemon.open()
    marked_host.marker(f"begin task=1 worker={worker.identity}")
    worker.task("sleep")
    marked_host.marker("end task=1 outcome=ok")
    assert reaper.judge(daemon).verdict(worker) == KEEP_IDLE


def test_python_side_done_proves_nothing(reaper: Reaper, marked_host: MiniHost) -> None:
    """Python sent its last byte; the host may still be reading."""
    marked_host.marker(host_record(marked_host, "pool=none tasks=some"))
    daemon = marked_host.daemon()
    worker = daemon.open()
    marked_host.marker(f"begin task=1 worker={worker.identity}")
    marked_host.marker(f"done worker={worker.identity} code=0")
    assert reaper.judge(daemon).verdict(worker) == KEEP_SERVING


def test_retired_by_the_operator(reaper: Reaper, host: MiniHost) -> None:
    """The operator's word is final for that very process, and for no other."""
    daemon = host.daemon()
    worker, other = daemon.open(), daemon.open()
    reaper.run("retire", str(worker.pid), host=host).expect(0)
    result = reaper.audit_until_due(host, worker)
    assert result.verdict(worker) == ("reap", "retired")
    assert result.verdict(other) == KEEP_IDLE
    reaper.sweep(host).expect(0)
    assert worker.pinned.has_ended() and other.serves()


@needs_strace
def test_a_byte_is_dated_when_it_is_asked_for(reaper: Reaper, marked_host: MiniHost) -> None:
    """It came long after the last task, so a task was not told of. A look that takes seconds until it
    reads the sockets must not take the byte for that much older."""
    marked_host.marker(host_record(marked_host, "pool=none tasks=some"))
    worker = marked_host.daemon().open()
    marked_host.marker(f"begin task=1 worker={worker.identity}")
    ended = time.monotonic()
    marked_host.marker("end task=1")
    result = reaper.audit_until_due(marked_host, worker)
    assert result.verdict(worker) == ("reap", "task-ended")
    time.sleep(max(0, ended + LATE_BYTE_S + 1 - time.monotonic()))
    assert worker.serves()
    slow = ("strace", "-f", "-qq", "-o", str(reaper.home / "strace"), "-e", "trace=sendto",
            "-e", "inject=sendto:delay_enter=3000000:when=1")  # the first question about sockets
    result = reaper.audit(marked_host, prefix=slow, settings={"policy.sample": "0s"})  # one look
    assert result.took_s > 3, "it was not delayed"
    entry = result.worker(worker)
    assert (entry["verdict"], entry["fence"]) == ("keep", "none"), result


# ---- proofs that need time: last, so that the workers have grown old meanwhile ------------


def test_reported_pool(reaper: Reaper, old: OldWorkers) -> None:
    """Two beats that list neither pool nor lease prove that an ended worker is given up."""
    time.sleep(max(0, 16 - old.age_s()))
    leaked, pooled, leased = old.workers
    pool = (f"pooled worker={pooled.identity}", f"leased worker={leased.identity} task=9")
    past = PastLog(old.host, "pool=reported tasks=some", "pyjava", 15)
    past.add(14, *tasks_that_ended(old.workers))
    for age_s in (13.5, 13, 5):
        past.add(age_s, *pool)
        past.beat(age_s)
    log = reaper.marker_dir / "host.log"
    log.write_text(past.text)
    first = reaper.audit(old.host)
    assert first.verdict(leaked) == KEEP_IDLE, "its two beats lie only 8 s apart"
    past.add(2, *pool)
    past.beat(2)
    log.write_text(past.text)
    result = reaper.audit_until_due(old.host, leaked)
    assert result.verdict(leaked) == ("reap", "task-ended")
    assert result.verdict(pooled) == ("keep", "pooled")
    assert result.verdict(leased) == ("keep", "leased")


def test_a_lost_record_spoils_the_beat(reaper: Reaper, old: OldWorkers) -> None:
    """A beat whose count does not match what was read counts for nothing."""
    time.sleep(max(0, 16 - old.age_s()))
    leaked = old.workers[0]
    past = PastLog(old.host, "pool=reported tasks=some", "pyjava", 15)
    past.add(14, *tasks_that_ended([leaked]))
    for age_s in (13.5, 2):
        past.since_beat += 1
        past.beat(age_s)
    (reaper.marker_dir / "host.log").write_text(past.text)
    assert reaper.judge(old.daemon).verdict(leaked) == KEEP_IDLE


def idle_log(host: MiniHost, workers: list[Worker], *more: str) -> str:
    """A host that brackets every task and has run none for 43 s, but for `more`."""
    past = PastLog(host, "pool=unknown tasks=all pool_timeout=1000", "pyjava", 44)
    past.add(43.9, *tasks_that_ended(workers), *more)
    for age_s in (43.8, 33, 22, 11, 2):
        past.beat(age_s)
    return past.text


def test_host_idle(reaper: Reaper, old: OldWorkers, old_and_busy: OldWorkers) -> None:
    """A host that brackets every task, and ran none for longer than its pool lives, keeps nobody;
    one that still runs a task, whoever serves it, does."""
    time.sleep(max(0, GROWN_S - old_and_busy.age_s()))
    for one, name, more in ((old, "a.log", ()), (old_and_busy, "b.log", ("begin task=9",))):
        (reaper.marker_dir / name).write_text(idle_log(one.host, one.workers, *more))
    result = reaper.audit_until_due(old.host, *old.workers)
    assert {result.verdict(worker) for worker in old.workers} == {("reap", "task-ended")}
    busy = reaper.audit(old_and_busy.host)
    assert {busy.verdict(worker) for worker in old_and_busy.workers} == {KEEP_IDLE}


def test_host_idle_but_stopped(reaper: Reaper, old: OldWorkers) -> None:
    """A host that was not seen running through the whole stretch has purged nothing."""
    time.sleep(max(0, GROWN_S - old.age_s()))
    past = PastLog(old.host, "pool=unknown tasks=all pool_timeout=1000", "pyjava", 44)
    past.add(43.9, *tasks_that_ended(old.workers))
    for age_s in (43.8, 33, 2):
        past.beat(age_s)
    (reaper.marker_dir / "host.log").write_text(past.text)
    result = reaper.judge(old.daemon)
    assert {result.verdict(worker) for worker in old.workers} == {KEEP_IDLE}


def test_logs_of_the_gone_are_removed(reaper: Reaper, marked_host: MiniHost) -> None:
    """After marker_keep: every log of a host or daemon that is gone, also of another boot."""
    boot = f"boot={BOOT_ID} pidns={PID_NS}"
    marked_host.marker(host_record(marked_host, "pool=none tasks=some"))
    daemon = marked_host.daemon()
    logs = {
        "gone-host": (f"host host=2:7 {boot} class=pyspark pool=none tasks=some", 2, False),
        "gone-host-again": (f"host host=2:7 {boot} class=pyjava pool=none tasks=some", 2, False),
        "gone-daemon": (f"daemon daemon=2:7 {boot}", 2, False),
        "other-boot": (f"daemon daemon={daemon.pid}:{daemon.start} "
                       f"boot={uuid.uuid4()} pidns={PID_NS}", 2, False),
        "gone-lately": (f"daemon daemon=2:7 {boot}", 0.5, True),
        "living": (f"daemon daemon={daemon.pid}:{daemon.start} {boot}", 2, True),
        "operator": (operator_record(0), 2, True),
        "nobody": ("begin task=1", 2, True),
    }
    for name, (text, age_h, _) in logs.items():
        (reaper.marker_dir / f"{name}.log").write_text(record(text, age_h * 3600))
    reaper.sweep(marked_host, settings={"reaper.marker_keep": "1h"})
    left = {path.stem for path in reaper.marker_dir.iterdir()}
    assert left == {"host"} | {name for name, (_, _, stays) in logs.items() if stays}
