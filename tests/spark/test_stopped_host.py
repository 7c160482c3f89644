# SPDX-License-Identifier: Apache-2.0
"""A JVM that is stopped purges no pool, however long: silence proves nothing while it lasts."""

import re
import time

import checks
import procs

STOPPED_S = 100


def wait_stopped(spark):
    time.sleep(max(0.0, spark.stopped_at + STOPPED_S - time.monotonic()))
    states = {stat.proc: stat.state for stat in procs.all_stats().values()}
    assert {who for who in spark.snapshot() if states.get(who) == "T"} == {spark.host}
    assert all(procs.alive(worker) for worker in spark.pooled), "it was to purge nothing"


def test_pooled_workers_of_a_stopped_host_are_kept(stopped_spark, start_spark, reaper_for):
    prepared = [stopped_spark]

    def start():
        return prepared.pop() if prepared else checks.stop_with_a_pool(start_spark("stopped-again"))

    def body(spark):
        reaper = reaper_for(spark)
        checks.keeps(spark, reaper, spark.pooled[0], reason="idle")
        wait_stopped(spark)
        for worker in spark.pooled:
            checks.keeps(spark, reaper, worker, reason="idle", socket="established", fence="none")
        checks.suspected(spark, reaper, spark.pooled[0])
        spark.thaw()
        checks.next_job_works(spark)

    checks.without_spark_hangs(start, body)


def log_proves_nothing(spark, reaper_for):
    reaper = reaper_for(spark, host=spark.host.pid)
    reaper.settings["reaper.marker_dir"] = str(spark.logs)
    wait_stopped(spark)
    for worker in spark.pooled:
        checks.keeps(spark, reaper, worker, reason="pooled", fence="none")
    said = checks.doctor(reaper, spark.host.pid)
    _, _, beat = checks.speaks(said)
    assert said["status"] == "advice" and re.fullmatch(r"\d+m", beat), said
    spark.thaw()
    checks.settle(3)
    checks.next_job_works(spark)


def test_nor_does_its_log_prove_anything(stopped_spark_with_markers, reaper_for):
    """Its tasks have ended, its log says tasks=all and pool_timeout, and no task runs for longer than
    that; but a host that does not run purges nothing, and its last list shows them in the pool."""
    log_proves_nothing(stopped_spark_with_markers, reaper_for)


def test_an_executor_that_is_stopped(stopped_cluster, reaper_for):
    """The driver's JVM goes on; what the executor's log says is not read, and then it is."""
    spark = stopped_cluster
    assert spark.host.pid != spark.jvm
    reaper = reaper_for(spark, host=spark.host.pid)
    wait_stopped(spark)
    for worker in spark.pooled:
        checks.keeps(spark, reaper, worker, reason="idle", socket="established", fence="none")
    checks.suspected(spark, reaper, spark.pooled[0])
    log_proves_nothing(spark, reaper_for)
