# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the system tests: hosts that always end, and the binary with files of its own."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from harness import binary, privilege  # noqa: E402
from harness.folders import public_folder  # noqa: E402
from harness.minihost import MiniHost, OldWorkers, StartHost  # noqa: E402

HOSTS = pathlib.Path(__file__).resolve().parents[1] / "hosts"


def jars_dir() -> pathlib.Path:
    return pathlib.Path(os.environ.get("REAPER_JARS", HOSTS.parents[1] / "build" / "jvm" / "jars"))


@pytest.fixture
def jars(hosts: pathlib.Path) -> pathlib.Path:
    """The jars that hosts run, where every user may read them."""
    path = hosts.parent / "jars"
    assert path.is_dir(), f"{jars_dir()} is not there: tools/build-jvm makes it"
    return path


@pytest.fixture(scope="session")
def hosts() -> Iterator[pathlib.Path]:
    """The mini host, compiled once, where every user may read it."""
    path = public_folder("hosts")
    shutil.copytree(HOSTS, path / "hosts", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["javac", "-d", path / "hosts", path / "hosts" / "MiniHost.java"], check=True)
    jars = jars_dir()
    if jars.is_dir():
        shutil.copytree(jars, path / "jars")
        subprocess.run(["javac", "-d", path / "hosts", "-cp", jars / "reaper-markers.jar",
                        path / "hosts" / "jar" / "JarMarkers.java"], check=True)
    yield path / "hosts"
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def reaper_binary() -> Iterator[pathlib.Path]:
    """The binary under test, where every user may run it."""
    built = binary.binary_path()
    if not built.exists():
        pytest.exit(f"{built} is not built; REAPER_BIN names another one", returncode=2)
    path = public_folder("bin")
    shutil.copy2(built, path / "reaper")
    (path / "reaper").chmod(0o755)
    yield path / "reaper"
    shutil.rmtree(path)


class Spare:
    """The next plain JVM, started while the tests before it wait for their leaks to get old."""

    def __init__(self, hosts: pathlib.Path, folder: pathlib.Path) -> None:
        self.hosts = hosts
        self.folder = folder
        self.next: MiniHost | None = None

    def take(self) -> MiniHost:
        host = self.next or MiniHost(self.hosts, self.folder)
        self.next = MiniHost(self.hosts, self.folder)
        return host

    def finish(self) -> None:
        if self.next is not None:
            self.next.finish()


@pytest.fixture(scope="session")
def spare(hosts: pathlib.Path) -> Iterator[Spare]:
    folder = public_folder("spare")
    one = Spare(hosts, folder)
    yield one
    one.finish()
    shutil.rmtree(folder)


def host_starter(hosts: pathlib.Path, spare: Spare) -> Iterator[StartHost]:
    started: list[MiniHost] = []
    folder = public_folder("host")
    folder.chmod(0o1777)

    def start(fresh: bool = False, **options: Any) -> MiniHost:
        plain = not fresh and not options
        host = spare.take() if plain else MiniHost(hosts, folder, **options)
        started.append(host)
        return host

    yield start
    failures = []
    for host in started:
        try:
            host.finish()
        except AssertionError as error:
            failures.append(str(error))
    shutil.rmtree(folder)
    assert not failures, failures


@pytest.fixture
def start_host(hosts: pathlib.Path, spare: Spare) -> Iterator[StartHost]:
    """Start hosts that end with the test."""
    yield from host_starter(hosts, spare)


@pytest.fixture(scope="module")
def start_module_host(hosts: pathlib.Path, spare: Spare) -> Iterator[StartHost]:
    """Start hosts that end with the module."""
    yield from host_starter(hosts, spare)


@pytest.fixture(scope="session")
def start_session_host(hosts: pathlib.Path, spare: Spare) -> Iterator[StartHost]:
    """Start hosts that end with the whole run."""
    yield from host_starter(hosts, spare)


@pytest.fixture(scope="session")
def old(start_session_host: StartHost) -> OldWorkers:
    """Workers that are idle from the beginning of the run, which began long ago."""
    return OldWorkers(start_session_host())


@pytest.fixture(scope="session")
def old_and_busy(start_session_host: StartHost) -> OldWorkers:
    """The same of another JVM."""
    return OldWorkers(start_session_host())


@pytest.fixture(scope="session", autouse=True)
def begin_to_grow_old(request: pytest.FixtureRequest) -> None:
    """What has to be old when its test comes is started before the first test."""
    for name in ("old", "old_and_busy"):
        if any(name in getattr(item, "fixturenames", ()) for item in request.session.items):
            request.getfixturevalue(name)


@pytest.fixture
def host(start_host: StartHost) -> MiniHost:
    """A fresh JVM, without a daemon."""
    return start_host()


@pytest.fixture(scope="module")
def module_host(start_module_host: StartHost) -> MiniHost:
    """A JVM that the tests of one module share, each with daemons of its own."""
    return start_module_host()


@pytest.fixture
def workdir() -> Iterator[pathlib.Path]:
    """A folder of the test's own that every user may enter."""
    path = public_folder("test")
    yield path
    shutil.rmtree(path)


@pytest.fixture
def reaper(reaper_binary: pathlib.Path, workdir: pathlib.Path) -> binary.Reaper:
    """The binary, as whoever runs the tests."""
    home = workdir / "reaper"
    home.mkdir(mode=0o755)
    return binary.Reaper(reaper_binary, home)


@pytest.fixture
def user_reaper(reaper_binary: pathlib.Path, workdir: pathlib.Path) -> binary.Reaper:
    """The binary as a user that owns nothing else: it cannot signal what it did not start."""
    home = workdir / "user"
    home.mkdir(mode=0o755)
    return binary.Reaper(reaper_binary, home, privilege.PRIVATE_UID)


@pytest.fixture
def user_host(start_host: StartHost) -> MiniHost:
    """A fresh JVM of that same user."""
    return start_host(uid=privilege.PRIVATE_UID)
