# SPDX-License-Identifier: Apache-2.0
"""Byzer is an engine on Spark: a plugin of Spark's loads what tells of its jobs.

The engine is in no registry; a jar with a stand-in for its JobManager is among Spark's jars, where the
engine's own is.
"""

import subprocess
import zipfile

import binary
import checks
import hostmarkers
import procs
import pytest

JVM = binary.REPO / "hosts" / "jvm"
MANAGER = JVM / "pyjava" / "src" / "test" / "java" / "tech" / "mlsql" / "job"
STAND_IN = [JVM / "byzer-stubs/src/main/java/tech/mlsql/job/JobListener.java",
            MANAGER / "JobManager.java", MANAGER / "JobManager$.java"]
PLUGINS = f"{hostmarkers.PLUGIN},reaper.pyjava.ByzerPlugin"
SOON_S = 10


@pytest.fixture(scope="module")
def manager(tmp_path_factory):
    """A jar with the classes of the stand-in."""
    classes = tmp_path_factory.mktemp("byzer")
    subprocess.run(["javac", "--release", "11", "-nowarn", "-proc:none", "-d", classes, *STAND_IN],
                   check=True, timeout=300)
    jar = tmp_path_factory.mktemp("engine") / "engine.jar"
    with zipfile.ZipFile(jar, "w") as file:
        for path in sorted(classes.rglob("*.class")):
            file.write(path, path.relative_to(classes))
    return jar


def told(logs, jvm):
    """What the log of the class pyjava says of jobs; it is the JVM's own."""
    said = []
    for path in sorted(logs.rglob("host-*-pyjava-*.log")):
        first, *more = hostmarkers.lines(path)
        assert first[0] == "host" and first[1]["host"] == f"{jvm.pid}:{jvm.start}", first
        said += [(event, fields) for event, fields in more if "job" in fields]
    return said


def test_the_plugin_tells_of_jobs(start_spark, tmp_path_factory, manager):
    """By the line that docs/HOSTS.md and doctor name, and no other step."""
    assert f" spark.plugins={PLUGINS} " in (binary.REPO / "docs" / "HOSTS.md").read_text("utf-8")
    logs = tmp_path_factory.mktemp("byzer-logs")
    chosen = hostmarkers.settings(logs)
    jars = [hostmarkers.jar(), hostmarkers.jar("reaper-pyjava.jar"), manager]
    chosen["conf"]["spark.plugins"] = PLUGINS
    chosen["conf"]["spark.jars"] = ",".join(map(str, jars))
    spark = start_spark("byzer", master="local[2]", **chosen)
    try:
        job = spark.begin("byzer")
        spark.value(job)
        procs.until(f"the job has ended\n{spark.log_tail()}",
                    lambda: len(told(logs, spark.jvm_proc)) > 1, SOON_S)
        assert told(logs, spark.jvm_proc) == [("begin", {"job": job}),
                                              ("end", {"job": job, "outcome": "ok"})]
        checks.next_job_works(spark)
        assert told(logs, spark.jvm_proc)[2:] == [], "Spark's tasks are not its jobs"
        assert list(logs.rglob(f"host-{spark.jvm}-*-pyspark-*.log")), "the other plugin is there too"
    finally:
        spark.close()
