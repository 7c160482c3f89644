# SPDX-License-Identifier: Apache-2.0
"""Spark with both markers: the plugin in its JVMs, reaper_pyspark in its daemons.

Its results are what they are without them, every task is told once by each side, and no worker of a
healthy Spark is anything but kept.

REAPER_SOAK_S    how long the soak lasts (tools/soak; not run without it)
REAPER_ROUNDS    of the cost of the markers (default: 10; 0: not measured)
"""

import os
import statistics
import threading

import pytest

import checks
import hostmarkers
import procs
from checks import LEAK, POLL, next_job_works, reaped
from procs import Proc

MASTERS = {"local": "local[8,4]", "cluster": "local-cluster[1,4,1024]"}
FAILED_S = 10  # until a worker whose task failed has left by itself
LATE_BEAT_S = 30  # of which doctor says that something is wrong
COMPLETE_S = 15  # until the last beat tells of what was there before it
EMPTY_TASKS = 10_000  # on each side, in all rounds together
ROUNDS = int(os.environ.get("REAPER_ROUNDS", "10"))
JOB_TASKS = 20
WARM_UP = 100
COST_LIMIT = 1.02


def seconds(age):
    """Of an age below a minute."""
    return float(age.removesuffix("s"))


class Audits(threading.Thread):
    """Looks at a Spark again and again while it works: whom it sees, what is not a `keep`, and what there
    is a proof of."""

    def __init__(self, reaper):
        super().__init__(daemon=True)
        self.reaper, self.over = reaper, threading.Event()
        self.looks, self.odd, self.seen, self.fenced, self.error = 0, [], set(), {}, None

    def run(self):
        try:
            while not self.over.wait(0.2):
                doc = self.reaper.audit().doc
                self.looks += 1
                self.seen |= {Proc(row["pid"], row["start"]) for row in doc["workers"]}
                self.odd += [row for row in doc["workers"] + doc["daemons"]
                             if row["verdict"] != "keep"]
                self.fenced.update({Proc(row["pid"], row["start"]): (row["reason"], row["fence"])
                                    for row in doc["workers"] if row["fence"] != "none"})
        except BaseException as error:  # told by finish()
            self.error = error

    def finish(self):
        self.over.set()
        self.join()
        if self.error:
            raise self.error


@pytest.fixture(scope="module")
def plain(start_spark):
    """What the battery gives without markers."""
    spark = start_spark("plain", master=MASTERS["local"])
    value = spark.run("battery", 300)
    spark.close()
    return value


def doctor_hears(reaper, host, logs):
    """The log is this JVM's, and both ages are those of a host that beats every two seconds."""
    said = checks.doctor(reaper, host)
    log, record, beat = checks.speaks(said)
    assert (said["status"], said["fix"]) == ("ok", None), said
    event, fields = next(hostmarkers.lines(logs / log))
    assert event == "host" and fields["host"].startswith(f"{host}:"), fields
    assert 0 <= seconds(record) <= seconds(beat) < LATE_BEAT_S, said


@pytest.mark.parametrize("kind", MASTERS)
def test_healthy_spark(start_spark, reaper_for, tmp_path_factory, plain, kind):
    logs = tmp_path_factory.mktemp("both-logs")
    spark = start_spark(f"both-{kind}", master=MASTERS[kind], **hostmarkers.settings(logs))
    try:
        (first,) = spark.pool()
        host = checks.host_of(first).pid
        reaper = reaper_for(spark, host=host)
        reaper.settings["reaper.marker_dir"] = str(logs)
        audits = Audits(reaper)
        audits.start()
        seen = set()
        try:
            assert spark.run("battery", 300) == plain
            seen = {who for daemon in spark.daemons(host) for who in procs.children(daemon.pid)}
        finally:
            audits.finish()
        assert audits.looks > 5 and not audits.odd, audits.odd[:3]
        # the worker of a task that failed is about to leave when its host hangs up
        left = procs.wait_gone(audits.fenced, FAILED_S)
        assert not left, f"a proof of who goes on: { {who: audits.fenced[who] for who in left} }"

        checks.wait_markers(reaper, dict.fromkeys(seen, "pooled"))
        doctor_hears(reaper, host, logs)
        result = checks.sweep_ends(spark, reaper)
        assert not result.actions
        said = hostmarkers.told(logs)
        promises = [said_by for said_by in said.hosts if said_by["host"].startswith(f"{host}:")]
        assert promises and all((one["class"], one["pool"], one["tasks"]) ==
                                ("pyspark", "reported", "all") for one in promises), said.hosts
        assert len(said.begun) > 240 and set(said.begun.values()) == {1}
        assert said.ended == said.begun, "every task begun and ended once"
        assert set(said.bound.values()) == {1} and said.beats > 2
        tasks = {task for _, task in said.begun}
        assert {task for task, _ in said.bound} <= tasks
        unbound = {who for who in seen | audits.seen if f"{who.pid}:{who.start}" not in said.workers}
        assert not unbound, f"every worker is bound, also those that have ended: {unbound}"
        reasons = {row["reason"] for row in result.entries().values()}
        assert "pooled" in reasons and reasons <= {"pooled", "idle"}, result
        assert {row["fence"] for row in result.entries().values()} == {"none"}, result
        next_job_works(spark)
    finally:
        spark.close()


def test_its_leaks_are_ended_as_before(start_spark, reaper_for, tmp_path_factory):
    """What the kernel proves needs no marker, and the host's word on its pool agrees."""
    logs = tmp_path_factory.mktemp("leak-logs")
    spark = start_spark("both-leak", **hostmarkers.settings(logs))
    try:
        reaper = reaper_for(spark)
        reaper.settings["reaper.marker_dir"] = str(logs)
        pooled = spark.pool(2)
        job = spark.begin("early_arrow")
        spark.value(job)
        worker = spark.noted(job)
        checks.wait_half_closed(worker)
        checks.wait_blocked(worker, POLL)
        checks.wait_markers(reaper, {worker: "ended", **dict.fromkeys(pooled, "pooled")})
        result = reaped(spark, reaper, worker, socket="peer-closed", marker="ended", **LEAK)
        for who in pooled:
            result.holds(who, verdict="keep", reason="pooled", marker="pooled")
        next_job_works(spark)
    finally:
        spark.close()


needs_soak = pytest.mark.skipif("REAPER_SOAK_S" not in os.environ, reason="only in tools/soak")


@needs_soak
def test_soak(start_spark, reaper_for, tmp_path_factory, capsys, monkeypatch):
    """As test_live, for long, with both markers on."""
    import test_live

    logs = tmp_path_factory.mktemp("soak-logs")
    sweeps = int(os.environ["REAPER_SOAK_S"]) / test_live.STEP_S
    monkeypatch.setenv("REAPER_LIVE_SWEEPS", str(int(sweeps)))
    test_live.live(start_spark, reaper_for, capsys, hostmarkers.settings(logs), logs)


def empty_tasks(spark, tasks):
    """Milliseconds of wall time and of processor time that so many tasks took."""
    before = sum(procs.processor_s(who.pid) for who in spark.snapshot())
    took = spark.run("empty_tasks", 600, tasks=tasks)
    return took, 1000 * (sum(procs.processor_s(who.pid) for who in spark.snapshot()) - before)


def cost_of_a_round(start_spark, logs):
    """(without, with markers), each (wall, processor) milliseconds of its tasks."""
    plain = start_spark("cost-plain", master="local[2]")
    both = start_spark("cost-both", master="local[2]", **hostmarkers.settings(logs))
    sums = {plain: [0, 0], both: [0, 0]}
    try:
        for spark in sums:
            empty_tasks(spark, WARM_UP)
        for turn in range(EMPTY_TASKS // ROUNDS // JOB_TASKS):
            for spark in (plain, both) if turn % 2 else (both, plain):
                sums[spark] = [a + b for a, b in zip(sums[spark], empty_tasks(spark, JOB_TASKS))]
        return sums[plain], sums[both]
    finally:
        plain.close()
        both.close()


@needs_soak
@pytest.mark.skipif(not ROUNDS, reason="only in a soak that takes its time: few tasks tell nothing")
def test_soak_cost(start_spark, tmp_path_factory, capsys):
    """Rounds of empty tasks, each on two Sparks of its own, without and with both markers, a few tasks on
    one and then on the other: what else a machine does comes and goes in seconds, and two Sparks that are
    started alike differ by several percent as long as they live."""
    logs = tmp_path_factory.mktemp("cost-logs")
    rounds = [cost_of_a_round(start_spark, logs) for _ in range(ROUNDS)]
    (wall, processor), (wall_both, processor_both) = (
        [sum(one[side][kind] for one in rounds) / EMPTY_TASKS for kind in (0, 1)] for side in (0, 1))
    ratios = sorted(both[0] / plain[0] for plain, both in rounds)
    with capsys.disabled():
        print(f"\nan empty task: {wall:.2f} ms, with markers {wall_both:.2f} ms; of processors "
              f"{processor:.2f} ms, with markers {processor_both:.2f} ms; {ROUNDS} rounds: "
              + ", ".join(f"{ratio:.3f}" for ratio in ratios)
              + f"; median {statistics.median(ratios):.4f}")
    assert sum(hostmarkers.told(logs).begun.values()) >= EMPTY_TASKS
    assert statistics.median(ratios) < COST_LIMIT
