# SPDX-License-Identifier: Apache-2.0
"""A JVM that is stopped purges no pool, however long: silence proves nothing while it lasts."""

import time

import checks
import procs

STOPPED_S = 100


def wait_stopped(spark):
    time.sleep(max(0.0, spark.stopped_at + STOPPED_S - time.monotonic()))
    assert procs.read_stat(spark.jvm).state == "T"
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


def test_nor_does_its_log_prove_anything(stopped_spark_with_markers, reaper_for):
    """Its tasks have ended, its log says tasks=all and pool_timeout, and no task runs for longer than
    that; but a host that does not run purges nothing, and its last list shows them in the pool."""
    spark = stopped_spark_with_markers
    reaper = reaper_for(spark)
    reaper.settings["reaper.marker_dir"] = str(spark.logs)
    wait_stopped(spark)
    for worker in spark.pooled:
        checks.keeps(spark, reaper, worker, reason="pooled", fence="none")
    spark.thaw()
    checks.settle(3)
    checks.next_job_works(spark)
