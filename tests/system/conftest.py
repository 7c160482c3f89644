# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the system tests: hosts that always end, and the binary with files of its own."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from harness import binary, privilege  # noqa: E402
from harness.minihost import MiniHost, StartHost  # noqa: E402

HOSTS = pathlib.Path(__file__).resolve().parents[1] / "hosts"


def public_folder(name: str) -> pathlib.Path:
    """A temporary folder that every user may enter, unlike pytest's own."""
    path = pathlib.Path(tempfile.mkdtemp(prefix=f"reaper-{name}-"))
    path.chmod(0o755)
    return path


@pytest.fixture(scope="session")
def hosts() -> Iterator[pathlib.Path]:
    """The mini host, compiled once, where every user may read it."""
    path = public_folder("hosts")
    shutil.copytree(HOSTS, path / "hosts", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["javac", "-d", path / "hosts", path / "hosts" / "MiniHost.java"], check=True)
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


def host_starter(hosts: pathlib.Path) -> Iterator[StartHost]:
    started: list[MiniHost] = []
    folder = public_folder("host")
    folder.chmod(0o1777)

    def start(**options: object) -> MiniHost:
        host = MiniHost(hosts, folder, **options)  # type: ignore[arg-type]
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
def start_host(hosts: pathlib.Path) -> Iterator[StartHost]:
    """Start hosts that end with the test."""
    yield from host_starter(hosts)


@pytest.fixture(scope="module")
def start_module_host(hosts: pathlib.Path) -> Iterator[StartHost]:
    """Start hosts that end with the module."""
    yield from host_starter(hosts)


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
