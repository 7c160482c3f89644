# SPDX-License-Identifier: Apache-2.0
"""The system calls of a watch fail that a sweep without history, markers or helpers does not make: its loop,
what it reads anew, the files that it keeps up to date, and the service manager's socket."""

from __future__ import annotations

import pathlib
import shutil
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from faulty import NOT_FAILING, SWEEP, Crowd, Fault, Faulty, Key, Run, Scene, in_program, reason
from harness.binary import Reaper
from harness.folders import public_folder
from harness.markers import BOOT_ID, host_record, record
from harness.minihost import MiniHost
from harness.privilege import needs_strace
from harness.program import Program
from statuses import judge_watch

pytestmark = needs_strace

# Sites that need not be hit, by a word of theirs.
SELDOM: dict[str, str] = {}
# What is reached by neither, and why.
AFTER_A_FAULT = "made only where another call has failed"
OF_AN_END = "nobody ends here"
ELSEWHERE = {
    "by can_make": "of doctor",
    "by check_": "of doctor",
    "by markers_retire": "of retire",
    "by output_style": "no terminal here",
    "by read_one": "by a thread of its own: test_memory.py",
    "by exit_info_read": OF_AN_END,
    "by watch_exits_read": OF_AN_END,
    "by evidence_held_among": "no helper holds a task socket here",
    "by fds_socket_mount": "all descriptors may be read here",
    "by read_lines": "no other network namespace here",
    "by sockets_dump": "no other network namespace here",
    "by sockets_read_proc": "no other network namespace here",
    "clock_nanosleep by clock_sleep_ms": AFTER_A_FAULT,
    "close by fs_open_dir": AFTER_A_FAULT,
    "ftruncate by audit_log_append": AFTER_A_FAULT,
    "unlink by fs_replace": AFTER_A_FAULT,
}
ALONE = "[class alone]\nkind = single\nargs = alone.py\n"
GONE_S = 2 * 3600  # longer than marker_keep


class Listener:
    """The service manager, which listens to all of it."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()

    def listen(self) -> None:
        while self.socket.recv(65536):
            pass

    def finish(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
            last.sendto(b"", str(self.path))
        self.thread.join()
        self.socket.close()


def watch_of(host: MiniHost, crowd: Crowd, notify: pathlib.Path) -> Scene:
    """Three looks, a reload, a look, the end: with logs of this host and of one that is gone, and a history."""
    now = [record(host_record(host, "pool=unknown tasks=some"), 3),
           *(record(f"begin task={n} worker={worker.identity}", 2) for n, worker in enumerate(crowd.kept)),
           record("beat n=3", 2)]
    gone = record(f"host host=4194304:1 boot={BOOT_ID} pidns=1 class=pyspark pool=none tasks=some", GONE_S)

    def prepare(reaper: Reaper) -> None:
        reaper.write_config(ALONE)
        if reaper.audit_log.parent.exists():
            reaper.audit_log.parent.rmdir()
        below = reaper.marker_dir / "below"
        below.mkdir(mode=0o755, exist_ok=True)
        (reaper.marker_dir / "now.log").write_text("".join(now))
        (below / "gone.log").write_text(gone)
        for path in (reaper.marker_dir / "now.log", below / "gone.log"):
            path.chmod(0o644)
        history = reaper.state_dir / "history"
        history.write_text(f"reaper-history/1 boot={BOOT_ID}\nkill 1\n")
        history.chmod(0o640)

    return Scene("watch", ("--json", "watch"),
                 {"reaper.interval": "1s", "reaper.marker_keep": "1h",
                  "reaper.metrics_file": str(notify.parent / "home" / "reaper.prom")},
                 ("-E", "HUP_AT=3", "-E", "TERM_AT=4", "-E", f"NOTIFY_SOCKET={notify}"),
                 prepare, frozenset({0, 2, 3, 4}),
                 # so the kernel says that there is no signal to read: nothing could stop it
                 only_once=frozenset({("read", "EAGAIN")}))


@pytest.fixture(scope="module")
def crowd(module_host: MiniHost, folder: pathlib.Path) -> Iterator[Crowd]:
    """With a helper, a worker that has signed off, and a program that stands alone."""
    found = Crowd.of(module_host, "helper then poll")
    signed_off = module_host.daemons[0].open()
    signed_off.task("signoff")
    found.due.add(signed_off.pid)
    alone = Program(folder / "alone.py", "import time\nprint('ready', flush=True)\ntime.sleep(1e6)\n")
    found.hosts += (alone,)
    yield found
    assert signed_off.is_alive() and not alone.pinned.has_ended(), "a signal arrived"
    alone.finish()


@pytest.fixture(scope="module")
def faulty(reaper_binary: pathlib.Path, folder: pathlib.Path, shim: pathlib.Path,
           module_host: MiniHost, crowd: Crowd) -> Iterator[Faulty]:
    listener = Listener(folder / "notify")
    found = Faulty(reaper_binary, folder, shim, crowd, watch_of(module_host, crowd, listener.path))
    try:
        found.begin()
        yield found
        assert crowd.is_as_it_was(), "a signal arrived"
    finally:
        listener.finish()


@pytest.fixture(scope="module")
def of_sweep(faulty: Faulty, reaper_binary: pathlib.Path, shim: pathlib.Path) -> set[Key]:
    """The sites that test_calls.py has."""
    plain = public_folder("plain")
    sweep = Faulty(reaper_binary, plain, shim, faulty.crowd, SWEEP)
    sweep.begin()
    found = {site.key for site in sweep.look_for_sites()}
    shutil.rmtree(plain)
    return found


def test_calls_that_fail(faulty: Faulty, of_sweep: set[Key], capsys: pytest.CaptureFixture[str]) -> None:
    """As in a sweep; and from its first look on it ends for nothing but SIGTERM."""

    def judge(fault: Fault, run: Run) -> None:
        faulty.judge(run)
        judge_watch(run, fault.errno)

    began = time.monotonic()
    done = faulty.fail_each(lambda site: site.key not in of_sweep, judge)
    done.tell("system calls of a watch that fail", began, capsys, SELDOM)


def test_what_is_never_failed(faulty: Faulty, of_sweep: set[Key], reaper_binary: pathlib.Path,
                              capsys: pytest.CaptureFixture[str]) -> None:
    """Of all calls that the program has, those which neither a sweep nor a watch comes by are known."""
    keys = of_sweep | {site.key for site in faulty.look_for_sites()}
    left = in_program(reaper_binary) - {(call, caller) for call, _, caller in keys}
    named = sorted(f"{call} by {caller}" for call, caller in left if call not in NOT_FAILING)
    with capsys.disabled():
        print("".join(f"\n  never reached: {name}: {reason(name, ELSEWHERE) or 'no reason'}" for name in named))
    assert all(reason(name, ELSEWHERE) for name in named), named
