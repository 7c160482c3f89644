# SPDX-License-Identifier: Apache-2.0
"""The shipped units, run by a systemd: whatever they take away, no proof and no end is lost."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from harness import booted
from harness.privilege import needs_no_sanitizer

WHY_NOT = booted.why_not()
pytestmark = [needs_no_sanitizer, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)]

ALL_FOUR = f"{1 << 2 | 1 << 5 | 1 << 19 | 1 << 23:016x}"  # DAC_READ_SEARCH KILL SYS_PTRACE SYS_NICE
TO_LOOK = f"{1 << 2 | 1 << 19:016x}"
NONE = f"{0:016x}"


@pytest.fixture(scope="module")
def seen(hosts: pathlib.Path, reaper_binary: pathlib.Path) -> dict[str, Any]:
    """One boot, all of it."""
    with booted.booted(hosts, reaper_binary) as one:
        done = booted.python(one, "harness.serve")
        assert done.returncode == 0, done.stderr + one.log.read_text()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_timers_sweep(seen: dict[str, Any]) -> None:
    """Every kind of leak, a user's and root's, at the first sweep; unix sockets, which no kernel
    dates, at the second or third."""
    rounds = seen["swept"]["rounds"]
    assert all("unix" in name for name in rounds[0]["left"]), rounds
    assert rounds[-1] == {"left": [], "status": "0"}, rounds


def test_the_service(seen: dict[str, Any]) -> None:
    """It ends them all, obeys reload and stop, and pats the watchdog."""
    found = seen["watched"]
    assert found["left"] == [], found
    assert found["after reload"] == "active" and found["same"], found
    assert [line for line in found["journal"] if line.startswith("reload:")] == [
        "reload: new settings are in use"]
    assert "4 workers" in found["said"]
    assert found["result"] == "success"
    assert found["its sockets"] == "inactive"  # nobody is left who could start it
    assert found["files"] == {
        "/run/reaper": "755", "/run/reaper/markers": "1777", "/run/reaper/history": "640",
        "/var/log/reaper": "750", "/var/log/reaper/audit.jsonl": "640"}


def test_what_the_service_keeps(seen: dict[str, Any]) -> None:
    """Four capabilities, and no way to more; no network; others' processes only as far as these reach."""
    powers = seen["watched"]["powers"]
    for name in ("CapPrm", "CapEff", "CapBnd"):
        assert powers[name] == ALL_FOUR, (name, powers[name])
    assert powers["CapInh"] == powers["CapAmb"] == NONE
    assert powers["NoNewPrivs"] == "1" and powers["Seccomp"] == "2"
    assert any("hidepid=invisible" in line for line in seen["watched"]["proc"])
    assert seen["watched"]["interfaces"] == ["lo"]


def test_a_trial(seen: dict[str, Any]) -> None:
    """The unit has the lines for a dry run ready; without them it does nothing, and fails."""
    found = seen["tried"]
    assert found["state"] == "active" and found["left"] == found["leaks"], found
    assert f"{len(found['leaks'])} due" in found["said"], found
    for name in ("CapPrm", "CapEff", "CapBnd"):
        assert found["powers"][name] == TO_LOOK, (name, found["powers"][name])
    assert found["without"] == "3"


def test_who_is_in_the_pool(seen: dict[str, Any]) -> None:
    """Nobody else was touched."""
    assert all(seen["pooled"]["serve"]) and len(seen["pooled"]["serve"]) == 4
