# SPDX-License-Identifier: Apache-2.0
"""A JVM that is stopped purges no pool, however long: silence proves nothing while it lasts."""

import time

import checks
import procs

STOPPED_S = 100


def stop(spark):
    spark.pooled = spark.pool(2)
    spark.freeze()
    spark.stopped_at = time.monotonic()
    return spark


def test_pooled_workers_of_a_stopped_host_are_kept(stopped_spark, start_spark, reaper_for):
    prepared = [stopped_spark]

    def start():
        return prepared.pop() if prepared else stop(start_spark("stopped-again"))

    def body(spark):
        reaper = reaper_for(spark)
        checks.keeps(spark, reaper, spark.pooled[0], reason="idle")
        time.sleep(max(0.0, spark.stopped_at + STOPPED_S - time.monotonic()))
        assert procs.read_stat(spark.jvm).state == "T"
        for worker in spark.pooled:
            assert procs.alive(worker), "a stopped JVM was to purge nothing"
            checks.keeps(spark, reaper, worker, reason="idle", socket="established", fence="none")
        checks.suspected(spark, reaper, spark.pooled[0])
        spark.thaw()
        checks.next_job_works(spark)

    checks.without_spark_hangs(start, body)
