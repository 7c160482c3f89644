# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests on real pyjava; those on real PySpark bring the rest.

REAPER_BIN          the binary (default: build/reaper)
REAPER_PYJAVA_DIR   where tools/pyjava-env puts pyjava (default: build/pyjava)
REAPER_PYJAVA_JAR   the jar of hosts/jvm with reaper.pyjava.Observer, for test_with_observer.py
"""

import os
import pathlib
import subprocess
import sys
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "spark")]

import binary  # noqa: E402
import pyjavahost  # noqa: E402
from spark.conftest import (  # noqa: E402, F401
    nothing_left, pytest_runtest_makereport, reaper_binary, reaper_for, shared, shared_spark)

FETCH_S = 900


@pytest.fixture(scope="session")
def pyjava(reaper_binary, tmp_path_factory):
    """Real pyjava, and the driver compiled against it."""
    base = os.environ.get("REAPER_PYJAVA_DIR", str(binary.REPO / "build" / "pyjava"))
    done = subprocess.run([binary.REPO / "tools" / "pyjava-env", base], timeout=FETCH_S,
                          stdout=subprocess.PIPE, text=True, check=True)
    classes = tmp_path_factory.mktemp("classes")
    found = pyjavahost.environment(done.stdout, classes)
    subprocess.run(["javac", "--release", "11", "-nowarn", "-proc:none", "-d", classes,
                    "-cp", found["jars"], HERE / "driver" / "Driver.java"], check=True, timeout=300)
    return found


@pytest.fixture(scope="session")
def start_pyjava(pyjava, tmp_path_factory):
    """Start JVMs; whoever forgets one has it ended, and fails."""
    started = []

    def start(name, **more):
        host = pyjavahost.Pyjava(pyjava, tmp_path_factory.mktemp(name), **more)
        started.append(host)
        return host

    yield start
    forgotten = [host.log for host in started if not host.closed]
    for host in started:
        host.close()
    assert not forgotten, f"not closed: {forgotten}"


@pytest.fixture(scope="session")
def start_spark(start_pyjava):
    """What the fixtures `shared` and `shared_spark` start here."""
    return start_pyjava


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Where a JVM and its daemons write their marker logs."""
    return tmp_path_factory.mktemp("marker-logs")


@pytest.fixture(scope="session")
def patient(start_pyjava):
    """A JVM that keeps idle workers for 3 minutes, with two that are pooled from now on."""
    host = start_pyjava("patient", conf={"python.worker.idle.time": "3"})
    host.pooled = host.pool(2)
    host.pooled_at = time.monotonic()
    yield host
    host.close()


@pytest.fixture(autouse=True)
def wait_beside_others(request):
    """The row that takes 90 s begins with the first test, beside the others."""
    if any("patient" in getattr(item, "fixturenames", ()) for item in request.session.items):
        request.getfixturevalue("patient")


@pytest.fixture
def host(shared_spark):
    """The JVM of the test."""
    return shared_spark("ordinary")


@pytest.fixture
def reaper(reaper_for, host):
    """A reaper for that JVM, which reads its marker logs if there are any."""
    made = reaper_for(host)
    if host.logs:
        made.settings["reaper.marker_dir"] = str(host.logs)
    return made
