# SPDX-License-Identifier: Apache-2.0
"""The mini host and the binary of the system tests, for runs in which something is made to fail."""

from __future__ import annotations

import importlib.util
import pathlib
import sys

SYSTEM = pathlib.Path(__file__).resolve().parents[1] / "system"

sys.path.insert(0, str(SYSTEM))

_spec = importlib.util.spec_from_file_location("system_conftest", SYSTEM / "conftest.py")
assert _spec is not None and _spec.loader is not None
_system = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_system)

hosts = _system.hosts
module_host = _system.module_host
reaper_binary = _system.reaper_binary
spare = _system.spare
start_module_host = _system.start_module_host
workdir = _system.workdir
