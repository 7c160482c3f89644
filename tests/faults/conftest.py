# SPDX-License-Identifier: Apache-2.0
"""The mini host and the binary of the system tests, for runs in which something is made to fail."""

from __future__ import annotations

import importlib.util
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

SYSTEM = pathlib.Path(__file__).resolve().parents[1] / "system"

sys.path.insert(0, str(SYSTEM))

from faulty import Faulty  # noqa: E402
from harness.folders import public_folder  # noqa: E402
from harness.minihost import MiniHost, StartHost  # noqa: E402
from watching import QUIET_JVM, Listener, watch_of, watched  # noqa: E402

_spec = importlib.util.spec_from_file_location("system_conftest", SYSTEM / "conftest.py")
assert _spec is not None and _spec.loader is not None
_system = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_system)

hosts = _system.hosts
reaper_binary = _system.reaper_binary
spare = _system.spare
start_module_host = _system.start_module_host
workdir = _system.workdir


@pytest.fixture(scope="module")
def module_host(start_module_host: StartHost) -> MiniHost:
    """A JVM that a module has for itself. Side by side in pid namespaces of their own, JVMs would lock each
    other's files of performance data, which are called by their pid, and complain of it."""
    return start_module_host(prefix=list(QUIET_JVM))


@pytest.fixture(scope="session")
def shim() -> Iterator[pathlib.Path]:
    """What reaper runs with (fail.c)."""
    folder = public_folder("shim")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", folder / "fail.so",
                    pathlib.Path(__file__).with_name("fail.c")], check=True)
    yield folder / "fail.so"
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def folder() -> Iterator[pathlib.Path]:
    """Where a module's reapers have their files."""
    path = public_folder("faults")
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def faulty_watch(reaper_binary: pathlib.Path, folder: pathlib.Path, shim: pathlib.Path,
                 module_host: MiniHost) -> Iterator[Faulty]:
    with watched(module_host, folder) as crowd:
        listener = Listener(folder / "notify")
        try:
            found = Faulty(reaper_binary, folder, shim, crowd, watch_of(module_host, crowd, listener.path))
            found.begin()
            yield found
        finally:
            listener.finish()
