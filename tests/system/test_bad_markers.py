# SPDX-License-Identifier: Apache-2.0
"""Marker files of every bad kind: never a crash, never a hang, never a kill because of one."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from harness import procs
from harness.binary import Reaper
from harness.markers import BOOT_ID, PID_NS, host_record, operator_record, record
from harness.minihost import MiniHost, Worker
from harness.privilege import STRANGER_UID, needs_fuse, needs_root, needs_strace
from harness.rogue_fs import rogue

SETTLED_S = 3.5  # how long the workers of this file have been idle
PAST_S = 2  # how long ago the records were written, as they say
READ_S = 20  # whatever lies in marker_dir, a sweep is over by then
MILLION = 1_000_000
CUT_S = 5  # what a log that is cut says is not due before
MORE_LOGS_THAN_ARE_READ = 4200
WORKERS = 100


CONTROLS = ("test_a_good_log_is_believed", "test_a_log_in_a_subdirectory_is_believed",
            "test_the_same_of_its_own_class", "test_each_has_its_reason", "test_missing_marker_dir")


@pytest.fixture(autouse=True)
def attack_is_counted(request: pytest.FixtureRequest,
                      record_property: Callable[[str, object], None]) -> None:
    if request.function.__name__ not in CONTROLS:
        record_property("attack", "marker logs")


@pytest.fixture(scope="module")
def idle(module_host: MiniHost) -> list[Worker]:
    """Pooled workers that have been idle for long enough to be due at once if retired."""
    daemon = module_host.daemon()
    workers = [daemon.open() for _ in range(WORKERS)]
    time.sleep(SETTLED_S)
    return workers


@pytest.fixture
def worker(idle: list[Worker]) -> Worker:
    """One of them; no other test has it."""
    return idle.pop()


def stamp(text: str) -> str:
    return record(text, PAST_S)


def header(host: MiniHost) -> str:
    return stamp(host_record(host, "pool=unknown tasks=some"))


def retiring(worker: Worker) -> str:
    """A whole log that gives the worker up."""
    return header(worker.host) + stamp(f"retired worker={worker.identity}")


def believed(reaper: Reaper, worker: Worker) -> bool:
    """Whether a sweep ends the worker; nothing in marker_dir may stop it or slow it down."""
    result = reaper.sweep(worker.host, timeout_s=READ_S).expect(0)
    assert result.acted_on <= {worker.pid}, result
    return worker.pinned.has_ended()


def test_a_good_log_is_believed(reaper: Reaper, worker: Worker) -> None:
    """The control: without an attack the very same record ends the worker at once."""
    (reaper.marker_dir / "a.log").write_text(retiring(worker))
    assert believed(reaper, worker)


def test_a_log_in_a_subdirectory_is_believed(reaper: Reaper, worker: Worker) -> None:
    """Each JVM user has a directory of its own."""
    mine = reaper.marker_dir / "mine"
    mine.mkdir(mode=0o755)
    (mine / "a.log").write_text(retiring(worker))
    assert believed(reaper, worker)


Attack = Callable[[pathlib.Path, str], None]


def world_writable(log: pathlib.Path, text: str) -> None:
    log.write_text(text)
    log.chmod(0o646)


def group_writable(log: pathlib.Path, text: str) -> None:
    log.write_text(text)
    log.chmod(0o664)


def hard_link(log: pathlib.Path, text: str) -> None:
    log.write_text(text)
    os.link(log, log.with_suffix(".other"))


def symbolic_link(log: pathlib.Path, text: str) -> None:
    target = log.parent.parent / "elsewhere"
    target.write_text(text)
    log.symlink_to(target)


def linked_directory(log: pathlib.Path, text: str) -> None:
    target = log.parent.parent / "elsewhere"
    target.mkdir(mode=0o755)
    (target / "a.log").write_text(text)
    (log.parent / "sub").symlink_to(target)


def too_deep(log: pathlib.Path, text: str) -> None:
    deep = log.parent / "one" / "two"
    deep.mkdir(parents=True, mode=0o755)
    (deep / "a.log").write_text(text)


def other_suffix(log: pathlib.Path, text: str) -> None:
    log.with_suffix(".txt").write_text(text)


def fifo(log: pathlib.Path, _text: str) -> None:
    os.mkfifo(log, 0o644)


def directory(log: pathlib.Path, _text: str) -> None:
    log.mkdir(mode=0o755)


def open_subdirectory(log: pathlib.Path, text: str) -> None:
    sub = log.parent / "sub"
    sub.mkdir()
    sub.chmod(0o1777)
    (sub / "a.log").write_text(text)


def half_a_line(log: pathlib.Path, text: str) -> None:
    log.write_text(text[:-1])


def without_header(log: pathlib.Path, text: str) -> None:
    log.write_text(text.split("\n", 1)[1])


def binary_noise(log: pathlib.Path, text: str) -> None:
    head, rest = text.encode().split(b"\n", 1)
    log.write_bytes(head + b"\n" + os.urandom(100_000).replace(b"\n", b"x") + rest)


def control_characters(log: pathlib.Path, text: str) -> None:
    log.write_text(text.replace("retired ", "retired \033[31m"))


def nul_bytes(log: pathlib.Path, text: str) -> None:
    log.write_text(text.replace("retired", "ret\0ired"))


def another_version(log: pathlib.Path, text: str) -> None:
    log.write_text(text.replace("reaper/1", "reaper/2"))


def long_record(log: pathlib.Path, text: str) -> None:
    log.write_text(text.replace("retired ", f"retired pad={'x' * 600} "))


def another_boot(log: pathlib.Path, text: str) -> None:
    log.write_text(text.replace(BOOT_ID, "00000000-0000-4000-8000-000000000000"))


def another_namespace(log: pathlib.Path, text: str) -> None:
    log.write_text(text.replace(f"pidns={PID_NS}", f"pidns={int(PID_NS) - 1}"))


def another_host(log: pathlib.Path, text: str) -> None:
    """The record is that of a process that is no JVM: ours."""
    me = procs.stat(os.getpid())
    assert me is not None
    before = text.split("host=", 1)[1].split(" ", 1)[0]
    log.write_text(text.replace(f"host={before}", f"host={me.pid}:{me.start}"))


def gone_host(log: pathlib.Path, text: str) -> None:
    """The pid is right, and the process has taken it after another."""
    pid, start = text.split("host=", 1)[1].split(" ", 1)[0].split(":")
    log.write_text(text.replace(f"host={pid}:{start}", f"host={pid}:{int(start) - 1}"))


def another_start(log: pathlib.Path, text: str) -> None:
    """The pid is right, the process is an older one."""
    head, identity = text.rstrip("\n").rsplit(":", 1)
    log.write_text(f"{head}:{int(identity) - 1}\n")


def served(text: str) -> str:
    """Instead of giving the worker up, that its one task ended, and that the host pools none."""
    head, rest = text.replace("pool=unknown", "pool=none").split("\n", 1)
    worker = rest.split()[-1]
    return f"{head}\n" + stamp(f"begin task=1 {worker}") + stamp("end task=1 outcome=ok")


def another_class(log: pathlib.Path, text: str) -> None:
    """The host promises nothing of workers of this class."""
    log.write_text(served(text).replace("class=pyspark", "class=pyjava"))


def second_writer(log: pathlib.Path, text: str) -> None:
    """Somebody writes into the log of another process."""
    head, rest = text.split("\n", 1)
    log.write_text(f"{head}\n" + stamp(f"daemon daemon=2:2 boot={BOOT_ID} pidns={PID_NS}") + rest)


def device(log: pathlib.Path, _text: str) -> None:
    """Reading it would rewind a tape."""
    try:
        os.mknod(log, 0o644 | stat.S_IFCHR, os.makedev(9, 0))
    except PermissionError:
        pytest.skip("may not make devices here")


def foreign_owner(log: pathlib.Path, text: str) -> None:
    """Only root and the worker's own user may speak about a worker."""
    sub = log.parent / "sub"
    sub.mkdir(mode=0o755)
    (sub / "a.log").write_text(text)
    for path in (sub / "a.log", sub):
        os.chown(path, STRANGER_UID, STRANGER_UID)


def signs_and_overflow(log: pathlib.Path, text: str) -> None:
    head = text.split("\n", 1)[0] + "\n"
    log.write_text(head + stamp("retired worker=-1:1") + stamp("retired worker=0:0")
                   + stamp("retired worker=99999999999999999999:1")
                   + stamp("retired worker=1") + stamp("retired") + stamp(""))


def unix_socket(log: pathlib.Path, _text: str) -> None:
    here = os.getcwd()
    os.chdir(log.parent)  # a socket's name has 107 bytes at most
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(log.name)
    finally:
        os.chdir(here)


def behind_a_terabyte(log: pathlib.Path, text: str) -> None:
    """A hole that no sweep gets through, and the record behind it."""
    head, rest = text.split("\n", 1)
    with open(log, "w", encoding="ascii") as out:
        out.write(head + "\n")
        out.seek(1 << 40)
        out.write("\n" + rest)


def roots_file_in_an_open_directory(log: pathlib.Path, text: str) -> None:
    """Its owner and mode are right; whoever may write to the directory may have put it there."""
    sub = log.parent / "sub"
    sub.mkdir(mode=0o755)
    (sub / "a.log").write_text(text)
    sub.chmod(0o775)


# What each is told to be by doctor (or by explain: a proof that does not hold), and where.
REASONS: dict[Attack, tuple[str, str]] = {
    world_writable: ("marker-trust", "a.log: is writable by others"),
    group_writable: ("marker-trust", "a.log: is writable by its group"),
    hard_link: ("marker-trust", "a.log: does not have exactly one link"),
    symbolic_link: ("marker-trust", "a.log: is a symbolic link"),
    linked_directory: ("marker-trust", "sub: is a symbolic link"),
    too_deep: ("marker-depth", "one/two"),
    other_suffix: ("marker-logs", "1 are believed"),
    fifo: ("marker-trust", "a.log: is a FIFO"),
    unix_socket: ("marker-trust", "a.log: is a socket"),
    device: ("marker-trust", "a.log: is not a regular file"),
    directory: ("marker-logs", "1 are believed"),
    open_subdirectory: ("marker-trust", "sub: is writable by others"),
    roots_file_in_an_open_directory: ("marker-trust", "sub: is writable by its group"),
    foreign_owner: ("marker-writers", "sub/a.log: is not of the user whose process"),
    half_a_line: ("marker-tails", "a.log"),
    without_header: ("marker-writers", "a.log: does not say first who writes it"),
    second_writer: ("marker-records", "a.log:2: a second process writes this log"),
    binary_noise: ("marker-records", "a.log:2: expected at most 512 bytes"),
    control_characters: ("marker-records", "a.log:2: expected printable ASCII"),
    nul_bytes: ("marker-records", "a.log:2: expected printable ASCII"),
    another_version: ("marker-records", "a.log:1: expected reaper/1"),
    long_record: ("marker-records", "a.log:2: expected at most 512 bytes"),
    signs_and_overflow: ("marker-records", "6 records were skipped"),
    another_boot: ("marker-past", "a.log: was written in another boot"),
    another_namespace: ("marker-writers", "a.log: speaks of a pid namespace"),
    another_host: ("host-markers", f"host {os.getpid()} "),
    gone_host: ("marker-past", "a.log: is of a process that is gone"),
    another_start: ("retired", "neither its host nor an operator gave it up"),
    another_class: ("task-ended", "nothing proves that its host neither pools nor leases it"),
    behind_a_terabyte: ("marker-backlog", "longer than one sweep reads"),
}
# Those that must not be judged beside another log of the same host, or of the same owner.
ALONE = (another_class, behind_a_terabyte, second_writer)
ROOTS = (device, foreign_owner)  # what only root can do


def tried(attack: Attack) -> Any:
    return pytest.param(attack, id=attack.__name__, marks=[needs_root] if attack in ROOTS else [])


def reasons(reaper: Reaper, worker: Worker, prefix: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """Everything that a user is told when he asks why."""
    checks = []
    for only in ((), ("--host", str(os.getpid()))):  # of many hosts a few are shown
        doctor = reaper.run_argv([*prefix, *reaper.argv((*only, "--json", "doctor"), (), None)])
        checks += json.loads(doctor.out)["checks"]
    explained = reaper.run("--json", "explain", str(worker.pid), prefix=prefix).doc["explain"]
    return ([(check["name"], check["found"]) for check in checks]
            + [(proof["name"], proof["why"]) for proof in explained["proofs"]])


@pytest.mark.parametrize("attack", [tried(attack) for attack in REASONS])
def test_not_believed(reaper: Reaper, idle: list[Worker], attack: Attack) -> None:
    """What nobody trustworthy wrote, or nobody wrote whole, ends nobody, is told, and holds up nobody:
    a leak beside it is ended in the same sweep, by its own proof."""
    worker, leak = idle.pop(), None
    if attack in ALONE:
        leak, = worker.host.daemon().leak()
        reaper.wait_due(leak)
    else:
        leak = idle.pop()
        (reaper.marker_dir / "honest").mkdir(mode=0o755)
        (reaper.marker_dir / "honest" / "b.log").write_text(retiring(leak))
    attack(reaper.marker_dir / "a.log", retiring(worker))
    check, reason = REASONS[attack]
    told = reasons(reaper, worker)
    assert any(name == check and reason in found for name, found in told), told
    result = reaper.sweep(worker.host, timeout_s=READ_S).expect(0)
    assert result.acted_on == {leak.pid} and leak.pinned.has_ended(), result
    assert worker.serves()
    reaper.run("-v", "audit", host=worker.host).expect(0)


def test_the_same_of_its_own_class(reaper: Reaper, worker: Worker) -> None:
    """The control of another_class: so it would have been ended."""
    (reaper.marker_dir / "a.log").write_text(served(retiring(worker)))
    assert believed(reaper, worker)


def test_each_has_its_reason() -> None:
    """Twenty attacks at least, and no reason for more than those that are of one kind."""
    assert len(REASONS) >= 20
    kinds = [set(attacks) for attacks in (
        (binary_noise, long_record), (control_characters, nul_bytes), (other_suffix, directory))]
    for one in REASONS:
        same = {other for other in REASONS if REASONS[other] == REASONS[one]}
        assert same == {one} or same in kinds, same


def test_strangers_cannot_be_named(reaper: Reaper, idle: list[Worker]) -> None:
    """A believed log that gives up everybody: only workers are ever ended because of it."""
    worker, leak = idle.pop(), idle.pop()
    me, host = procs.stat(os.getpid()), procs.stat(worker.host.pid)
    daemon, init = procs.stat(worker.daemon.pinned.pid), procs.stat(1)
    named = [who for who in (me, host, daemon, init) if who is not None]
    assert len(named) == 4
    (reaper.marker_dir / "a.log").write_text(header(worker.host) + "".join(
        stamp(f"retired worker={who.pid}:{who.start}") for who in (*named, leak)))
    told = [reaper.run("--json", "explain", str(who.pid)).doc["explain"]["why"] for who in named]
    assert "no worker" in told[0] and told[1:3] == ["a host is never ended", "a daemon is never ended"]
    assert "no worker" in told[3], told
    result = reaper.sweep(worker.host, timeout_s=READ_S).expect(0)
    assert result.acted_on == {leak.pid}, result
    assert worker.serves()


@pytest.fixture
def strangers(workdir: pathlib.Path) -> Iterator[list[procs.Pinned]]:
    """Two processes of another user's: a program in Python, and a daemon that everybody reaches by a port."""
    shutil.copy2("/usr/bin/python3", workdir / "sshd")
    sleeping = "import select; print(flush=True); select.poll().poll()"
    listening = f"import socket; s = socket.create_server(('127.0.0.1', 0)); {sleeping}"
    programs = [subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True,
                                 user=STRANGER_UID, group=STRANGER_UID, extra_groups=[])
                for argv in (["/usr/bin/python3", "-c", sleeping], [workdir / "sshd", "-c", listening])]
    pins = [procs.Pinned(program.pid) for program in programs]
    try:
        assert all(program.stdout.readline() == b"\n" for program in programs)
        yield pins
    finally:
        for program, pin in zip(programs, pins):
            pin.kill()
            program.wait()
            program.stdout.close()
            pin.close()


@needs_root
@pytest.mark.parametrize("who", ["host", "operator"])
def test_other_peoples_processes_cannot_be_named(
        reaper: Reaper, idle: list[Worker], strangers: list[procs.Pinned], who: str) -> None:
    """A log of root's, which is believed of anybody's workers, makes a worker of nobody's process."""
    leak = idle.pop()
    first = header(leak.host) if who == "host" else stamp(operator_record(0))
    (reaper.marker_dir / "a.log").write_text(first + "".join(
        stamp(f"retired worker={one.pid}:{one.start}") for one in (*strangers, leak)))
    for one in strangers:
        explained = reaper.run("--json", "explain", str(one.pid)).doc["explain"]
        assert (explained["role"], "no worker" in explained["why"]) == ("other", True), explained
    result = reaper.sweep(leak.host, timeout_s=READ_S).expect(0)
    assert result.acted_on == {leak.pid} and leak.pinned.has_ended(), result
    assert not any(one.has_ended(0.2) for one in strangers)


# ---- a name that leads to another file each time ---------------------------------------------


SWAPPED = 40
SWAPPER = """
import ctypes, os, sys
names = [(f"{n}.log".encode(), f"{n}.other".encode()) for n in range(int(sys.argv[1]))]
swap = ctypes.CDLL(None, use_errno=True).renameat2
def swap_all():
    return [swap(-100, one, -100, other, 2) for one, other in names]  # RENAME_EXCHANGE
assert not any(swap_all()), os.strerror(ctypes.get_errno())
print("ready", flush=True)
while True:
    swap_all()
"""
# Reaper is that much later at each name that it opens: names change hands meanwhile.
LATE = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=openat2", "-e",
        "inject=openat2:delay_enter=2000")


@contextmanager
def swapped(folder: pathlib.Path) -> Iterator[None]:
    """Pairs of files that change places as fast as the kernel lets them."""
    with subprocess.Popen([sys.executable, "-c", SWAPPER, str(SWAPPED)], cwd=folder,
                          stdout=subprocess.PIPE) as swapper:
        assert swapper.stdout is not None
        try:
            assert swapper.stdout.readline() == b"ready\n"
            yield
        finally:
            swapper.kill()


@needs_strace
@pytest.mark.parametrize("attack", [world_writable, fifo], ids=lambda attack: attack.__name__)
def test_replaced_while_it_is_opened(reaper: Reaper, idle: list[Worker], attack: Attack) -> None:
    """Good logs and bad ones take each other's place between any two calls: what is believed is what was
    opened, and is what was judged."""
    worker, leak = idle.pop(), idle.pop()
    (reaper.marker_dir / "honest").mkdir(mode=0o755)
    (reaper.marker_dir / "honest" / "b.log").write_text(retiring(leak))
    for number in range(SWAPPED):
        log = reaper.marker_dir / f"{number}.log"
        attack(log, retiring(worker))
        log.rename(log.with_suffix(".other"))
        log.write_text(header(worker.host))
    with swapped(reaper.marker_dir):
        result = reaper.sweep(worker.host, timeout_s=READ_S, prefix=LATE).expect(0)
        assert result.acted_on == {leak.pid} and worker.serves(), result
        told = dict(reversed(reasons(reaper, worker, LATE)))
    believed_ones, refused = (int(told[check].split()[0]) for check in ("marker-logs", "marker-trust"))
    assert believed_ones > 1 and refused > 0, f"the control: some were good, and some bad: {told}"


# ---- what is mounted in marker_dir -----------------------------------------------------------


@dataclass(frozen=True)
class Mounted:
    why: str
    kind: str
    place: str
    told: str


MOUNTED = [
    Mounted("a directory that never answers", "mute", "sub", "sub: is a mount of its own"),
    Mounted("a log that never answers", "mute", "sub/a.log", "sub/a.log: is a mount of its own"),
    Mounted("a log in marker_dir that never answers", "mute", "a.log", "a.log: is a mount of its own"),
    Mounted("a directory that says it is root's", "lying", "sub", "sub: is a mount of its own"),
    Mounted("a log that says it is root's", "lying", "sub/a.log", "sub/a.log: is a mount of its own"),
]


@needs_fuse
@pytest.mark.parametrize("row", MOUNTED, ids=lambda row: row.why)
def test_somebodys_file_system(reaper: Reaper, idle: list[Worker], row: Mounted) -> None:
    """What a user has mounted may never answer, and what it says of owners and modes is that user's word:
    nobody waits for it, nobody believes it, and the leak beside it is ended in the same sweep."""
    worker, leak = idle.pop(), idle.pop()
    honest, sub = reaper.marker_dir / "honest", reaper.marker_dir / "sub"
    honest.mkdir(mode=0o755)
    (honest / "b.log").write_text(retiring(leak))
    sub.mkdir(mode=0o755)
    place = reaper.marker_dir / row.place
    if place != sub:
        place.touch(0o644)
    for path in (sub, *sub.iterdir()):
        os.chown(path, STRANGER_UID, STRANGER_UID)
    with rogue(row.kind, place, retiring(worker), READ_S) as server:
        result = reaper.sweep(worker.host, prefix=server.prefix, timeout_s=2 * READ_S).expect(0)
        assert server.process.poll() is None, f"it was waited for: {result}"
        assert result.acted_on == {leak.pid} and leak.pinned.has_ended(), result
        told = reasons(reaper, worker, server.prefix)
    assert ("marker-trust", f"1 logs are not believed; the first: {row.told}") in told, told
    assert worker.serves()


def test_a_hostile_name(reaper: Reaper, worker: Worker) -> None:
    """A log's own name is foreign text: it is believed, and does not get through to the terminal."""
    (reaper.marker_dir / "a\n\033[31m.log").write_text(retiring(worker) + "nonsense\n")
    for command in ("audit", "doctor"):
        shown = reaper.run("-v", command, host=worker.host)
        assert "\033" not in shown.out + shown.err, shown
    assert believed(reaper, worker)


def test_grows_faster_than_it_is_read(reaper: Reaper, worker: Worker) -> None:
    """A writer that never rests: a sweep ends in time, and ends nobody by the half that it did read."""
    log, over = reaper.marker_dir / "a.log", threading.Event()
    leak, = worker.host.daemon().leak()
    reaper.wait_due(leak)
    log.write_text(retiring(worker))
    block = stamp("begin task=1 job=2") * 20_000

    def write() -> None:
        with open(log, "a", encoding="ascii") as out:
            while not over.is_set() and out.tell() < 1 << 28:
                out.write(block)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        result = reaper.sweep(worker.host, timeout_s=READ_S).expect(0)
        told = reasons(reaper, worker)
    finally:
        over.set()
        writer.join()
    assert result.acted_on == {leak.pid} and worker.serves(), result
    assert "marker-backlog" in [name for name, _ in told], told


@needs_root
@pytest.mark.parametrize("own", [True, False])
def test_a_worker_that_is_named_a_host(reaper: Reaper, module_host: MiniHost, own: bool) -> None:
    """A host is never ended: nobody may have that for a worker, whosever log says so."""
    owner = 0 if own else STRANGER_UID
    leak, = module_host.daemon().leak()
    sub = reaper.marker_dir / "sub"
    sub.mkdir(mode=0o755)
    (sub / "a.log").write_text(stamp(f"host host={leak.pid}:{leak.start} boot={BOOT_ID} "
                                     f"pidns={PID_NS} class=pyspark"))
    os.chown(sub / "a.log", owner, owner)
    os.chown(sub, owner, owner)
    result = reaper.audit_until_due((), leak)
    assert leak.pid not in [h["pid"] for h in result.doc["hosts"]]
    leak.pinned.kill()


@needs_root
def test_a_helper_that_is_named_a_host(reaper: Reaper, module_host: MiniHost) -> None:
    """A child that a worker forked may write a log, as any code of a task: it stays a helper, and goes."""
    worker = module_host.daemon().open()
    worker.task("helper then poll")
    helper = worker.helpers[0]
    worker.close()
    sub = reaper.marker_dir / "sub"
    sub.mkdir(mode=0o755)
    (sub / "a.log").write_text(stamp(f"host host={helper.pid}:{helper.start} boot={BOOT_ID} "
                                     f"pidns={PID_NS} class=pyspark"))
    result = reaper.audit_until_due((), worker)
    assert helper.pid not in [h["pid"] for h in result.doc["hosts"]]
    reaper.sweep(module_host).expect(0)
    assert worker.pinned.has_ended() and helper.has_ended(1)


@needs_root
def test_a_stranger_names_a_host(reaper: Reaper, module_host: MiniHost) -> None:
    """A log names a process of its owner a host, and nobody else's."""
    mine = procs.stat(os.getpid())

    def named(owner: int) -> bool:
        log = reaper.marker_dir / "sub" / "a.log"
        log.parent.mkdir(mode=0o755, exist_ok=True)
        log.write_text(stamp(f"host host={os.getpid()}:{mine.start} boot={BOOT_ID} "
                             f"pidns={PID_NS} class=pyspark"))
        os.chown(log, owner, owner)
        os.chown(log.parent, owner, owner)
        return os.getpid() in [h["pid"] for h in reaper.audit().doc["hosts"]]

    assert named(0) and not named(STRANGER_UID)


def test_group_writable_marker_dir(reaper: Reaper, worker: Worker) -> None:
    """A log that lies in a directory where others may replace it."""
    (reaper.marker_dir / "a.log").write_text(retiring(worker))
    reaper.marker_dir.chmod(0o775)
    assert ("marker-trust", "1 logs are not believed; the first: a.log: lies in a directory that others "
            "may write to") in reasons(reaper, worker)
    assert not believed(reaper, worker)


def test_marker_dir_for_all(reaper: Reaper, idle: list[Worker]) -> None:
    """marker_dir may be 1777: believed is what lies in a user's own directory there."""
    loose, own = idle.pop(), idle.pop()
    reaper.marker_dir.chmod(0o1777)
    (reaper.marker_dir / "a.log").write_text(retiring(loose))
    mine = reaper.marker_dir / "mine"
    mine.mkdir(mode=0o755)
    (mine / "b.log").write_text(retiring(own))
    assert believed(reaper, own)
    assert loose.is_alive()


def test_missing_marker_dir(reaper: Reaper, host: MiniHost) -> None:
    """No markers is the normal case."""
    leak, = host.daemon().leak()
    reaper.marker_dir.rmdir()
    reaper.wait_due(leak)
    assert reaper.sweep(host).expect(0).acted_on == {leak.pid}


def test_a_bad_line_does_not_end_the_log(reaper: Reaper, worker: Worker) -> None:
    """It is counted, shown with file and line, and skipped."""
    log = reaper.marker_dir / "a.log"
    head, rest = retiring(worker).split("\n", 1)
    log.write_text(f"{head}\nnonsense \033[31m\n{rest}")
    shown = reaper.run("-v", "audit", host=worker.host)
    assert "a.log:2" in shown.out + shown.err and "\033" not in shown.out + shown.err
    doctor = reaper.run("doctor", host=worker.host)
    assert "a.log:2" in doctor.out
    assert believed(reaper, worker)


def test_truncated_under_a_watch(reaper: Reaper, idle: list[Worker]) -> None:
    """What was cut away is not believed any more; what follows is read."""
    first, second = idle.pop(), idle.pop()
    log = reaper.marker_dir / "a.log"
    log.write_text(retiring(first))
    settings = {"reaper.interval": "1s", "policy.timeout": f"{CUT_S}s"}
    with reaper.watch(first.host, settings) as watch:
        watch.until_event(event="verdict", pid=first.pid, fence="retired")
        log.write_text(header(first.host))
        time.sleep(CUT_S + 2)
        with open(log, "a", encoding="ascii") as out:
            out.write(stamp(f"retired worker={second.identity}"))
        watch.until_event(event="action", pid=second.pid, outcome="exited", timeout_s=CUT_S + 20)
        assert first.serves()


def test_a_million_lines(reaper: Reaper, worker: Worker) -> None:
    """A huge log takes a bounded time, and what it could not read yet would have kept who is given up before."""
    line = stamp("begin task=1 job=2")
    with open(reaper.marker_dir / "a.log", "w", encoding="ascii") as log:
        log.write(retiring(worker) + line * MILLION + stamp(f"leased worker={worker.identity} task=9"))
    began = time.monotonic()
    reaper.sweep(worker.host, timeout_s=60).expect(0)
    assert time.monotonic() - began < READ_S
    assert worker.serves()


def test_many_logs(reaper: Reaper, host: MiniHost) -> None:
    """More files than are read: bounded, and no harm."""
    leak, = host.daemon().leak()
    text = header(host)
    for number in range(MORE_LOGS_THAN_ARE_READ):
        (reaper.marker_dir / f"{number}.log").write_text(text)
    reaper.wait_due(leak)
    began = time.monotonic()
    assert reaper.sweep(host).expect(0).acted_on == {leak.pid}
    assert time.monotonic() - began < READ_S


def test_replaced_while_it_is_read(reaper: Reaper, host: MiniHost) -> None:
    """Delete-then-rename, half written, gone for a moment: hundreds of times a second, no harm."""
    daemon = host.daemon()
    pooled, leak = daemon.open(), daemon.leak()[0]
    log, aside = reaper.marker_dir / "a.log", reaper.marker_dir / "a.tmp"
    text = header(host) + "".join(stamp(f"begin task={n}") for n in range(200))
    stop = threading.Event()

    def replace() -> None:
        while not stop.is_set():
            aside.write_text(text[: len(text) // 2])
            log.unlink(missing_ok=True)
            aside.rename(log)
            with open(log, "a", encoding="ascii") as out:
                out.write(text[len(text) // 2:])
            time.sleep(0.002)

    writer = threading.Thread(target=replace)
    writer.start()
    try:
        for _ in range(10):
            result = reaper.audit(host)
            assert result.rc in (0, 1), result
            assert result.verdict(pooled)[0] == "keep"
        reaper.wait_due(leak)
        assert reaper.sweep(host).expect(0).acted_on == {leak.pid}
    finally:
        stop.set()
        writer.join()
    assert pooled.serves()
