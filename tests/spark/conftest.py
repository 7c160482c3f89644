# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests on real PySpark: which releases, and Sparks that always end.

REAPER_SPARK        releases to test, separated by blanks (default: those that fit this Python)
REAPER_SPARK_DIR    where their environments are, as <dir>/spark-<release> (default: build/)
REAPER_BIN          the binary (default: build/reaper)
"""

import os
import pathlib
import shutil
import subprocess
import sys
import uuid

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import binary  # noqa: E402
import checks  # noqa: E402
import hostmarkers  # noqa: E402
import procs  # noqa: E402
from sparkhost import Spark  # noqa: E402

VENV_TOOL = binary.REPO / "tools" / "spark-venv"
VENV_S = 900


def releases():
    chosen = os.environ.get("REAPER_SPARK", "").split()
    if chosen:
        return chosen
    done = subprocess.run([VENV_TOOL, "--releases"], capture_output=True, text=True, timeout=60,
                          check=True)
    return done.stdout.split()


def major(release):
    return int(release.split(".")[0])


def pytest_configure(config):
    config.addinivalue_line("markers", "spark4: what only Spark 4 and later can do")


def pytest_collection_modifyitems(config, items):
    """Tests of what Spark 4 brought are not there for 3.5."""
    for_all, dropped = [], []
    for item in items:
        release = getattr(item, "callspec", None) and item.callspec.params.get("release")
        old = release and major(release) < 4 and item.get_closest_marker("spark4")
        (dropped if old else for_all).append(item)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = for_all


@pytest.fixture(scope="session")
def reaper_binary(tmp_path_factory):
    """The binary under test, copied: a build beside the tests changes nothing under them."""
    if not binary.built().exists():
        pytest.fail(f"{binary.built()} is not built; REAPER_BIN names another one", pytrace=False)
    return pathlib.Path(shutil.copy2(binary.built(), tmp_path_factory.mktemp("bin") / "reaper"))


@pytest.fixture(scope="session", params=releases())
def release(request):
    return request.param


@pytest.fixture(scope="session")
def python(release, reaper_binary):
    """The python of this release's environment."""
    base = pathlib.Path(os.environ.get("REAPER_SPARK_DIR", binary.REPO / "build"))
    done = subprocess.run([VENV_TOOL, release, str(base / f"spark-{release}")], timeout=VENV_S,
                          stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.split()[-1]


@pytest.fixture(scope="session")
def start_spark(python, tmp_path_factory):
    """Start Sparks of this release; whoever forgets one has it ended, and fails."""
    started = []

    def start(name, **more):
        spark = Spark(python, tmp_path_factory.mktemp(name), **more)
        started.append(spark)
        return spark

    yield start
    forgotten = [spark.log for spark in started if spark.snapshot()]
    for spark in started:
        if spark.snapshot():
            spark.close()
    assert not forgotten, f"not closed: {forgotten}"


@pytest.fixture(scope="session")
def shared(start_spark):
    """The Spark that tests with the same settings share, by its name; one at a time."""
    current = {}

    def get(name, **more):
        if name not in current:
            drop()
            current[name] = start_spark(name, **more)
        return current[name]

    def drop():
        for name in list(current):
            current.pop(name).close()

    get.drop = drop
    yield get
    drop()


@pytest.fixture
def shared_spark(request, shared):
    """As `shared`, with its pools just used: Spark's own purge, 60 s after the last use, is not to
    end anybody beside a sweep. After a test that failed the next one gets a new Spark."""

    def get(name, **more):
        spark = shared(name, **more)
        checks.refresh(spark)
        return spark

    yield get
    if getattr(request.node, "failed", True):
        shared.drop()


@pytest.fixture
def reaper(reaper_for, spark):
    """A reaper for the Spark of the test's class or file."""
    return reaper_for(spark)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.when == "call":
        item.failed = report.failed


@pytest.fixture(scope="session")
def stopped_spark(start_spark):
    spark = checks.stop_with_a_pool(start_spark("stopped"))
    yield spark
    spark.close()


@pytest.fixture(scope="session")
def stopped_spark_with_markers(start_spark, tmp_path_factory):
    logs = tmp_path_factory.mktemp("stopped-logs")
    spark = start_spark("stopped-both", **hostmarkers.settings(logs))
    spark.logs = logs
    yield checks.stop_with_a_pool(spark, later=5)  # a beat has told of the pool by then
    spark.close()


@pytest.fixture(scope="session")
def stopped_cluster(start_spark, tmp_path_factory):
    """Its executor is stopped and its driver is not, which is not to take it for lost meanwhile."""
    logs = tmp_path_factory.mktemp("stopped-cluster-logs")
    chosen = hostmarkers.settings(logs)
    chosen["conf"]["spark.network.timeout"] = "1h"
    spark = start_spark("stopped-cluster", master="local-cluster[1,4,1024]", **chosen)
    spark.logs = logs
    yield checks.stop_with_a_pool(spark, later=5)
    spark.close()


@pytest.fixture(autouse=True)
def stop_some_early(request):
    """The rows that take 100 s begin with the first test of their release, beside the others."""
    for name in ("stopped_spark", "stopped_spark_with_markers", "stopped_cluster"):
        if any(name in getattr(item, "fixturenames", ()) for item in request.session.items):
            request.getfixturevalue(name)


@pytest.fixture
def reaper_for(reaper_binary, tmp_path):
    """A reaper with files of its own for one Spark."""

    def make(spark, host=None):
        home = tmp_path / f"reaper-{uuid.uuid4().hex[:8]}"
        if spark.isolated:
            return binary.Reaper(reaper_binary, home, None, prefix=spark.enter())
        return binary.Reaper(reaper_binary, home, host or spark.jvm)

    return make


@pytest.fixture(scope="session", autouse=True)
def nothing_left():
    """After the last test no process of any Spark of this run is there."""
    yield
    left = procs.of_run()
    for proc in left:
        procs.end_and_wait(proc)
    assert not left, f"left behind: {sorted(left)}"
