# SPDX-License-Identifier: Apache-2.0
"""The system calls fail that neither a sweep nor a watch makes by itself: those of doctor and retire, for a
member of a watch that ends, and for sockets of another network namespace.

REAPER_FAULTS    `all`: the first, the middle and the last call of each site, once and from then on
"""

from __future__ import annotations

import dataclasses
import pathlib
import shutil
import time
from collections.abc import Callable, Container, Iterator

import pytest
from faulty import ALL, Crowd, Fault, Faulty, Key, Run, Scene, in_program, seconds, shown
from harness.folders import public_folder
from harness.minihost import StartHost
from harness.privilege import needs_root, needs_strace
from others import BY_OTHERS, TORN, Elsewhere, Mortals, Retired, doctor_of, ending, judge_doctor
from statuses import judge_sweep, judge_watch

pytestmark = [needs_strace, needs_root]

STEP, LAST_CUTS = 8, 4  # of a record, bytes for which a disk has room: every so many, and the last ones
# Sites that need not be hit, by a word of theirs.
SELDOM: dict[str, str] = {}
# What is made only where another call has failed.
AFTER_A_FAULT = {("epoll_ctl", "watch_exits_read")}

Start = Callable[[Crowd, Scene], Faulty]


@pytest.fixture(scope="module")
def start(reaper_binary: pathlib.Path, shim: pathlib.Path) -> Iterator[Start]:
    """Begins a scene in a folder of its own."""
    folders: list[pathlib.Path] = []

    def begin(crowd: Crowd, scene: Scene) -> Faulty:
        folders.append(public_folder("other"))
        found = Faulty(reaper_binary, folders[-1], shim, crowd, scene)
        found.begin()
        return found

    yield begin
    for path in folders:
        shutil.rmtree(path)


@pytest.fixture(scope="module")
def crowd(faulty_watch: Faulty) -> Crowd:
    """The JVM of the watch, which has a daemon more that no class will describe."""
    faulty_watch.crowd.host.daemon("pyjava.daemon").open()
    return faulty_watch.crowd


@pytest.fixture(scope="module")
def doctor(start: Start, crowd: Crowd, folder: pathlib.Path) -> Faulty:
    return start(crowd, doctor_of(folder))


@pytest.fixture(scope="module")
def retiring(start: Start, crowd: Crowd) -> list[tuple[Retired, Faulty]]:
    """Where a log ends in the middle of a record, and where there is none yet, not even marker_dir."""
    both = [Retired(crowd.kept[0], before) for before in (TORN, "")]
    return [(retired, start(crowd, retired.scene())) for retired in both]


@pytest.fixture(scope="module")
def members(start: Start, crowd: Crowd, folder: pathlib.Path) -> Iterator[tuple[Mortals, Faulty]]:
    """Beside a program that lives; the JVM is looked at in test_watch_calls.py."""
    with ending(folder, dataclasses.replace(crowd, due=set(), hosts=crowd.hosts[1:])) as mortals:
        yield mortals, start(mortals.crowd, mortals.scene())


@pytest.fixture(scope="module")
def elsewhere(start: Start, start_module_host: StartHost) -> Iterator[Faulty]:
    there = Elsewhere(start_module_host)
    found = start(there.crowd, there.scene())
    yield found
    assert found.crowd.is_as_it_was(), "a signal arrived"


def fail_each(faulty: Faulty, what: str, capsys: pytest.CaptureFixture[str],
              judge: Callable[[Fault, Run], None], but: Container[Key] = ()) -> set[Key]:
    """Each call that is made for what the scene names. Which sites these were."""

    def judge_both(fault: Fault, run: Run) -> None:
        faulty.judge(run)
        judge(fault, run)

    began = time.monotonic()
    done = faulty.fail_each(lambda site: site.key not in but, judge_both)
    done.tell(f"system calls of {what} that fail", began, capsys, SELDOM)
    return {site.key for site in done.sites}


def test_doctor(doctor: Faulty, capsys: pytest.CaptureFixture[str]) -> None:
    """It signals nobody, tells all it can, and its exit status is that of what it tells."""
    fail_each(doctor, "doctor", capsys, lambda fault, run: judge_doctor(run, fault.errno))


def test_retire(retiring: list[tuple[Retired, Faulty]], capsys: pytest.CaptureFixture[str]) -> None:
    """What it says to have written is there whole, and what it refused left nothing behind."""
    done: set[Key] = set()
    for retired, faulty in retiring:
        done |= fail_each(faulty, "retire", capsys, lambda _, run: retired.judge_run(run), done)


def test_retire_on_a_full_disk(retiring: list[tuple[Retired, Faulty]],
                               capsys: pytest.CaptureFixture[str]) -> None:
    """The same where there is room for so many bytes of it and no more."""
    retired, faulty = retiring[0]
    reaper = faulty.fresh()
    reaper.run(*faulty.scene.args).expect(0)
    whole = len(retired.text()) - len(retired.before)
    began = time.monotonic()
    cuts = [cut for cut in range(1, whole + 1) if ALL or cut % STEP == 0 or cut > whole - LAST_CUTS]
    wrong = []
    for cut in cuts:
        faulty.fresh()
        result = reaper.run(*faulty.scene.args, prefix=("prlimit", f"--fsize={len(retired.before) + cut}"))
        try:
            assert result.rc == (0 if cut == whole else 3), result
            retired.judge(result.rc)
        except AssertionError as error:
            wrong.append(f"room for {cut} of {whole} bytes: {error}")
    with capsys.disabled():
        print(f"\n{seconds(began)}\n"
              f"figure records of retire on a full disk: {len(cuts)} runs, {len(wrong)} wrong")
    assert not wrong, shown(wrong)


def test_members_that_end(members: tuple[Mortals, Faulty], capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing but SIGTERM ends the watch, and of no end it tells what is not so."""
    mortals, faulty = members

    def judge(fault: Fault, run: Run) -> None:
        judge_watch(run, fault.errno)
        mortals.judge(run)

    fail_each(faulty, "a watch whose members end", capsys, judge)


def test_another_network_namespace(elsewhere: Faulty, capsys: pytest.CaptureFixture[str]) -> None:
    """A row that was not read is no end that nobody holds."""
    leak = elsewhere.crowd.leak.pid
    fail_each(elsewhere, "a sweep of another network namespace", capsys,
              lambda fault, run: judge_sweep(run, fault.errno, leak))


def test_what_is_reached(doctor: Faulty, elsewhere: Faulty, retiring: list[tuple[Retired, Faulty]],
                         members: tuple[Mortals, Faulty], reaper_binary: pathlib.Path) -> None:
    """Each call of those functions that the program has for these alone."""
    scenes = [doctor, elsewhere, members[1], *(faulty for _, faulty in retiring)]
    made = set().union(*(faulty.reached() for faulty in scenes))
    program = {(call, caller) for call, caller in in_program(reaper_binary) if caller in BY_OTHERS}
    assert {caller for _, caller in program} == set(BY_OTHERS), "its code is not read"
    assert program - made == AFTER_A_FAULT
