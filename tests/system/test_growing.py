# SPDX-License-Identifier: Apache-2.0
"""Two roles of one job, as TensorFlow's: a large one that stays as it is, and a small one that grows
until there is no memory left. The kernel would kill the large one; reaper names the other."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness import procs
from harness.binary import Reaper, Result
from harness.program import Program

MIB = 1 << 20
CLASS = "[class tensorflow]\nkind = single\nargs = train.py\nrole_args = --job_name\n"
PS_MIB = 200
RATE_MIB = 3  # each second
ROOM_MIB = 120  # for the worker: less than what the other one holds
LIMIT_MIB = PS_MIB + ROOM_MIB
SETTINGS = {"reaper.interval": "1s", "policy.growing_after": "8s", "policy.growing_within": "365d"}
MAY_KILL = {"class tensorflow.may_kill": "yes"}
V1 = pathlib.Path("/sys/fs/cgroup/memory")
V2 = pathlib.Path("/sys/fs/cgroup")

TRAIN = """
import os, sys, time
flat, rate, cgroup = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
if cgroup:
    with open(cgroup + "/cgroup.procs", "w") as file:
        file.write(str(os.getpid()))
held = [bytearray(b"x") * (flat << 20)]
print("ready", flush=True)
while True:
    time.sleep(0.05)
    if rate:
        held.append(bytearray(b"x") * ((rate << 20) // 20))
"""


def role(folder: pathlib.Path, name: str, flat: int, rate: int,
         cgroup: pathlib.Path | None) -> Program:
    """One process of the job."""
    return Program(folder / "train.py", TRAIN, str(flat), str(rate), str(cgroup or ""),
                   f"--job_name={name}")


def limited_cgroup() -> pathlib.Path | None:
    """A cgroup of our own that holds so much; None where none can be made here."""
    for top, limit in ((V1, "memory.limit_in_bytes"), (V2, "memory.max")):
        path = top / f"reaper-test-{os.getpid()}-{time.monotonic_ns()}"
        try:
            path.mkdir()
        except OSError:
            continue
        try:
            if (path / limit).exists():
                (path / limit).write_text(str(LIMIT_MIB * MIB))
                return path
        except OSError:
            pass
        path.rmdir()
    return None


@pytest.fixture
def cgroup() -> Iterator[pathlib.Path | None]:
    path = limited_cgroup()
    yield path
    if path is not None:
        procs.until("the cgroup is empty", lambda: not (path / "cgroup.procs").read_text(), 10)
        path.rmdir()


@pytest.fixture
def roles(reaper: Reaper, workdir: pathlib.Path,
          cgroup: pathlib.Path | None) -> Iterator[tuple[Program, Program]]:
    """The large one and the one that grows."""
    reaper.write_config(CLASS)
    with contextlib.ExitStack() as stack:
        ps = role(workdir, "ps", PS_MIB, 0, cgroup)
        stack.callback(ps.finish)
        worker = role(workdir, "worker", 5, RATE_MIB, cgroup)
        stack.callback(worker.finish)
        yield ps, worker


def check_row(row: dict[str, Any], ps: Program, limited: bool) -> None:
    """What is said of the one that grows."""
    memory = row["memory"]
    assert (row["verdict"], row["reason"], row["label"]) == ("suspect", "growing", "worker")
    assert row["fence"] == "none"
    assert memory["growing"] is True and memory["window_ms"] >= 8000
    assert len(memory["samples"]) >= 8
    ages, _, anon = zip(*memory["samples"])
    assert list(ages) == sorted(set(ages), reverse=True)
    assert anon[-1] > anon[0] + 8 * MIB
    for key in "slope_bytes_per_s", "vm_slope_bytes_per_s":
        assert 0.4 * RATE_MIB * MIB < memory[key] < 1.2 * RATE_MIB * MIB
    assert memory["limit_of"] == ("cgroup" if limited else "machine")
    until_ms = memory["room_bytes"] * 1000 / memory["slope_bytes_per_s"]
    assert memory["until_limit_ms"] == pytest.approx(until_ms, rel=0.01)
    if limited:
        assert memory["limit_bytes"] == LIMIT_MIB * MIB
        assert 0 < memory["room_bytes"] < (ROOM_MIB + 20) * MIB
        assert (memory["kernel_would_kill"]["pid"], memory["kernel_would_kill"]["start"],
                memory["kernel_would_kill"]["label"]) == (ps.pid, ps.start, "ps")
        assert f"the kernel would kill process {ps.pid} (ps), not this one" in row["why"]
    else:
        assert memory["kernel_would_kill"]["pid"]


def when_growing(run: Callable[..., Result], roles: tuple[Program, Program],
                 worker: Program) -> Result:
    """The first audit or sweep that says so: where a look comes late, it alone can lie beside the
    line."""
    last: list[Result] = []

    def says() -> bool:
        last[:] = [run(roles, settings={**SETTINGS, **MAY_KILL}).expect(0)]
        return last[0].verdict(worker) == ("suspect", "growing")

    procs.until("it is said that it grows", says, 15)
    return last[0]


def shown(reaper: Reaper, worker: Program) -> str | None:
    """What explain says, once it says that it grows."""
    text = reaper.run("explain", str(worker.pid), settings=SETTINGS).expect(0).out
    return text if "suspect growing" in text else None


def test_who_grows_and_who_would_pay(reaper: Reaper, roles: tuple[Program, Program],
                                     cgroup: pathlib.Path | None) -> None:
    """Named before it is too late; shown by audit and explain; nobody is ended for it. And the kernel
    does what reaper said it would."""
    ps, worker = roles
    limited = cgroup is not None
    with reaper.watch(roles, {**SETTINGS, **MAY_KILL}) as watch:
        event = watch.until_event(event="verdict", reason="growing", timeout_s=30)
        assert event["pid"] == worker.pid
        check_row(event, ps, limited)
        assert watch.stop()[0] == 0
        assert {e["pid"] for e in watch.events() if e.get("verdict") == "suspect"} == {worker.pid}
        assert not [e for e in watch.events() if e["event"] == "action"]
    # What watch saw lies in a file.
    result = when_growing(reaper.audit, roles, worker)
    check_row(result.worker(worker), ps, limited)
    swept = when_growing(reaper.sweep, roles, worker)
    check_row(swept.worker(worker), ps, limited)
    assert swept.doc["actions"] == []
    flat = result.worker(ps)["memory"]
    assert result.verdict(ps)[0] == "keep" and result.worker(ps)["fence"] == "none"
    assert flat["growing"] is False
    assert len(flat["samples"]) >= 8 and abs(flat["slope_bytes_per_s"]) < 0.1 * MIB
    assert flat["until_limit_ms"] is None and flat["kernel_would_kill"] is None
    text = procs.until("explain shows it", lambda: shown(reaper, worker), 15)
    for word in "growing", "RssAnon", "VmSize", "limit", "OOM killer":
        assert word in text
    assert not [line for line in text.splitlines() if len(line) > 80], text
    # Near or far is the operator's to say, and so is whom it concerns.
    near = {**SETTINGS, "policy.growing_within": "1s"}
    assert reaper.audit(roles, settings=near).verdict(worker)[0] == "keep"
    reaper.write_config(CLASS + "[protect]\nargs = --job_name=worker\n")
    assert reaper.audit(roles, settings=SETTINGS).verdict(worker)[0] == "keep"
    assert not ps.pinned.has_ended() and not worker.pinned.has_ended()
    if not limited:
        pytest.skip("whom the kernel takes was not seen: no cgroup of one's own can be made here")
    assert ps.pinned.has_ended(ROOM_MIB / RATE_MIB * 3)
    assert ps.process.wait(10) == -signal.SIGKILL
    assert not worker.pinned.has_ended()


def test_seen_only_now(reaper: Reaper, roles: tuple[Program, Program]) -> None:
    """Two looks are too few to say that something grows; what they saw is shown all the same."""
    row = reaper.audit(roles, settings=SETTINGS).expect(0).worker(roles[1])
    assert row["verdict"] == "keep"
    assert row["memory"]["growing"] is None and row["memory"]["until_limit_ms"] is None
    assert row["memory"]["slope_bytes_per_s"] is None and row["memory"]["kernel_would_kill"] is None
    assert not (reaper.state_dir / "memory").exists()


def test_a_sweep_goes_on_where_the_last_one_ended(reaper: Reaper,
                                                  roles: tuple[Program, Program]) -> None:
    """Without a watch, sweeps keep the history; one that is torn is begun anew."""
    for _ in range(4):
        reaper.sweep(roles, settings=SETTINGS).expect(0)
        time.sleep(0.6)  # what is seen sooner says nothing new
    row = reaper.audit(roles, settings=SETTINGS).worker(roles[1])
    assert len(row["memory"]["samples"]) >= 5
    file = reaper.state_dir / "memory"
    assert (file.stat().st_mode & 0o7777) == 0o640
    file.write_bytes(file.read_bytes()[:-3])
    row = reaper.audit(roles, settings=SETTINGS).worker(roles[1])
    assert len(row["memory"]["samples"]) <= 2
