# SPDX-License-Identifier: Apache-2.0
"""What every row of the population tests asserts in the same way."""

import re
import time
import warnings
from typing import Any, Callable, Dict, Iterable, Tuple

import procs
from binary import Reaper, Result
from procs import Proc
from sparkhost import Spark, SparkHang

READ, POLL, RECVFROM = 0, 7, 45  # system call numbers of x86-64
LEAK = {"reason": "peer-closed", "fence": "peer-closed", "blocked_in": "poll", "wait_forever": True}
BLOCKED_S = 60  # what a job gets until its worker waits, on a machine with much else to do
SILENT_S = 1.4  # longer than the timeout of binary.FAST and than its min_age
# The scheduler's clock stands still while the machine's processors are stolen: what is silent for a
# second may look younger, and is due a little later.
LATE_S = 20.0
AWAKE_MOST = 5  # sweeps more for who is awake at one
SPEAKS = re.compile(r"host (\d+) \(\w+\) writes (\S+): last record (\S+) ago, last beat (\S+) ago")


def settle(seconds: float = SILENT_S) -> None:
    time.sleep(seconds)


def refresh(spark: Spark) -> None:
    """Use both pools, so that Spark's own purge (60 s after the last use) is far away."""
    spark.pool()
    if len(spark.daemons()) > 1:
        spark.run("pooled_udf")


def audit_until(reaper: Reaper, workers: Iterable[Proc], verdict: str, **settings: str) -> Result:
    """The first audit in which each of these workers has this verdict."""
    workers, last = list(workers), []

    def all_judged() -> bool:
        last[:] = [reaper.audit(**settings)]
        rows = last[0].entries()
        return all(who in rows and rows[who]["verdict"] == verdict for who in workers)

    try:
        procs.until(f"{verdict}: {workers}", all_judged, LATE_S)
    except AssertionError as error:
        raise AssertionError(f"{error}: {last[0]}") from None
    return last[0]


def wait_markers(reaper: Reaper, wanted: Dict[Proc, str]) -> None:
    """Until the marker logs say so of these workers."""

    def all_told() -> bool:
        rows = reaper.audit().entries()
        return all(who in rows and rows[who]["marker"] == marker for who, marker in wanted.items())

    procs.until(f"the logs say {wanted}", all_told, LATE_S, 0.5)


def doctor(reaper: Reaper, host: int) -> Dict[str, str]:
    """What `doctor` says of the markers of the one host that it looks at."""
    (said,) = [row for row in reaper.run("doctor").doc["checks"] if row["name"] == "host-markers"]
    assert said["found"].startswith(f"host {host} "), said
    return said


def speaks(said: Dict[str, str]) -> Tuple[str, str, str]:
    """The log that the host writes; how long ago its last record was, and its last beat."""
    match = SPEAKS.match(said["found"])
    assert match, said
    return match.group(2), match.group(3), match.group(4)


def wait_due(reaper: Reaper, due: Iterable[Proc], **settings: str) -> None:
    """Until all that are workers, and no helpers of one, are to be ended."""
    rows = reaper.audit(**settings).entries()
    audit_until(reaper, {who for who in due if who not in rows or rows[who]["role"] == "worker"},
                "reap", **settings)


def sweep_ends(spark: Spark, reaper: Reaper, due: Iterable[Proc] = (), **settings: str) -> Result:
    """One sweep ends these processes and no other one of this Spark."""
    due = set(due)
    if due and not spark.isolated:
        wait_due(reaper, due, **settings)
    before = spark.snapshot()
    assert due <= before, f"gone before the sweep: {due - before}"
    result = reaper.sweep(**settings).expect(0)
    after = spark.snapshot()
    for _ in range(AWAKE_MOST):
        # a thread of zmq wakes ten times a second; who is awake at a look is left to the next sweep
        awake = result.awake() & due & after
        if not awake:
            break
        assert before - after <= due, f"ended: {before - after}, not {due}: {result}"
        result = reaper.sweep(**settings).expect(0)
        after = spark.snapshot()
    assert before - after == due, f"ended: {before - after}, not {due}: {result}"
    if not spark.isolated:
        assert result.ended() <= due, result
        told = {Proc(row["pid"], row["start"]) for row in reaper.records() if "outcome" in row}
        assert due <= told, f"no outcome: {due - told}: {result}"
    spark.ended |= due
    records = reaper.records()
    for kind in ("intent", "outcome"):
        told = {row["pid"] for row in records if kind in row.values()}
        assert {row["pid"] for row in result.actions} <= told, f"no {kind}: {records}"
    return result


def keeps(spark: Spark, reaper: Reaper, who: Proc, **members: Any) -> Result:
    """The worker is kept, with these members, and a sweep ends nothing."""
    result = reaper.audit()
    result.holds(who, verdict="keep", **members)
    assert not result.due(), result
    sweep_ends(spark, reaper)
    return result


def suspected(spark: Spark, reaper: Reaper, who: Proc) -> None:
    """Past `silent_after` it is reported, with the proof that is missing, and not ended."""
    result = audit_until(reaper, [who], "suspect", silent_after="1s").expect(0)
    row = result.holds(who, verdict="suspect", reason="silent", fence="none")
    assert row["missing"], row
    sweep_ends(spark, reaper, silent_after="1s")


def reaped(spark: Spark, reaper: Reaper, who: Proc, more: Iterable[Proc] = (),
           **members: Any) -> Result:
    """The worker is due, with these members; a sweep ends it and `more` (its helpers)."""
    result = audit_until(reaper, [who], "reap").expect(1)
    result.holds(who, verdict="reap", **members)
    assert result.due() == {who}, result
    sweep_ends(spark, reaper, {who, *more})
    return result


def seen_first(spark: Spark, reaper: Reaper, who: Proc, **members: Any) -> None:
    """A first sweep dates a fence that the kernel does not date; it ends nothing. (With a long timeout:
    its own two looks may be a second apart.)"""
    began = procs.boottime_ms()
    result = sweep_ends(spark, reaper, timeout="1h")
    row = result.holds(who, verdict="keep", reason="waiting", **members)
    assert row["fence_age_ms"] <= procs.boottime_ms() - began, row
    settle()


def host_of(worker: Proc) -> Proc:
    """The JVM that feeds it: of a cluster an executor's."""
    daemon = procs.read_stat(worker.pid).ppid
    return procs.read_stat(procs.read_stat(daemon).ppid).proc


def stop_with_a_pool(spark: Spark, later: float = 0) -> Spark:
    """Stops the JVM that runs its tasks so many seconds from now, with two pooled workers."""
    spark.pooled = spark.pool(2)
    spark.host = host_of(spark.pooled[0])
    settle(later)
    spark.freeze(spark.host)
    spark.stopped_at = time.monotonic()
    return spark


def next_job_works(spark: Spark) -> None:
    spark.pool(2)
    if len(spark.daemons()) > 1:
        spark.run("pooled_udf")


def without_spark_hangs(start: Callable[[], Spark], body: Callable[[Spark], None]) -> None:
    """Run `body` on a Spark of its own; a second time if a job hung.

    PySpark itself loses a job now and then once its daemon was killed or its JVM stopped: that is
    Spark's own as long as reaper has ended nobody. After a sweep that ended somebody it is ours.
    """
    for attempt in (1, 2):
        spark = start()
        try:
            body(spark)
            return
        except SparkHang as hang:
            if spark.ended or attempt == 2:
                raise
            warnings.warn(f"Spark hung by itself (reaper had ended nobody), once more: {hang}",
                          stacklevel=2)
        finally:
            spark.close()


def wait_reset(who: Proc) -> None:
    """Until the worker's task socket is in no table any more."""

    def is_reset() -> bool:
        inodes = procs.socket_inodes(who.pid)
        return 3 in inodes and procs.tcp_state(who.pid, inodes[3]) is None

    procs.until(f"the task socket of {who} is reset", is_reset)


def wait_unread(who: Proc) -> None:
    """Until the JVM's end is nobody's while the worker's is still established."""

    def is_full() -> bool:
        inodes = procs.socket_inodes(who.pid)
        if 3 not in inodes or procs.tcp_state(who.pid, inodes[3]) != "01":
            return False
        return procs.tcp_peer_inode(who.pid, inodes[3]) == 0

    procs.until(f"the JVM has left {who} with a full window", is_full)


def wait_half_closed(who: Proc) -> None:
    """Until the worker's end is CLOSE_WAIT."""

    def is_half_closed() -> bool:
        inodes = procs.socket_inodes(who.pid)
        return 3 in inodes and procs.tcp_state(who.pid, inodes[3]) == "08"

    procs.until(f"the task socket of {who} is in CLOSE_WAIT", is_half_closed)


def wait_blocked(who: Proc, number: int) -> None:
    """Until its main thread sits in this system call (x86-64)."""
    procs.until(f"{who} in system call {number}", lambda: procs.syscall(who.pid) == number, BLOCKED_S)
