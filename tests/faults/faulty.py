# SPDX-License-Identifier: Apache-2.0
"""A run of reaper whose system calls fail, or which is killed at one of them, over a host of three workers.

No signal arrives: strace(1) swallows pidfd_send_signal(2) and says that it was sent, so that one leak
serves all runs, and tells for whom the signal was meant. fail.c makes waits short, and counts what is
left of memory and descriptors at the end.

A call is told by its number among those of its name, which is another as soon as /proc has one process more:
so there is one run at a time, and tools/check gives each file of tests a pid and a network namespace of its own.
"""

from __future__ import annotations

import difflib
import json
import os
import pathlib
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from harness.binary import Reaper, Result
from harness.minihost import MiniHost, Worker

ERRNOS = ("EIO", "EINTR", "ENOMEM", "EMFILE", "ENFILE", "ENOSPC", "EDQUOT", "EACCES", "EPERM", "ESRCH",
          "ENOENT", "EAGAIN", "EROFS")
ALL = os.environ.get("REAPER_FAULTS") == "all"  # tools/soak
HANG_S = 60
ENDED = {"exited", "killed"}  # outcomes that nobody here comes to, since no signal arrives
SLOW = 10  # times that for a run whose every call is shown with its callers
SHOWN, WORDS = 3, 300  # of what went wrong: runs, and characters of each
ATTEMPTS = 6  # to hit each site; each counts its calls anew
HASTE = 50
SETTINGS = {"policy.sample": "0s", "policy.term_grace": "0s", "policy.kill_grace": "0s"}
CALL = re.compile(r"^(\d+) +(\w+)\((.*?)(?:\)? += | *<unfinished)")
CALLER = re.compile(r"^ > \S+/reaper\((\w+)[\w.]*\+0x")  # without what the compiler puts behind a name
SIGNAL = re.compile(r"pidfd_send_signal\(\d+(?:<pid:(\d+)>)?, (SIG\w+), NULL, (\w+)\)")
COUNTS = re.compile(r"allocations: (\d+), transfers: (\d+), calls of threads: (\d+), signals: (\d+), "
                    r"left: (-?\d+) blocks, (-?\d+) of reaper, (-?\d+) descriptors\n")
LOST = ("-e", "inject=pidfd_send_signal:retval=0")
STRACE = ("strace", "-f", "-qq", "--decode-fds=path,pidfd", "-e", "signal=none")
FASTER = "--seccomp-bpf"  # stops at what is traced only; with it strace 6.1 sends none of the signals it is told to
PATHS = ("openat", "openat2", "newfstatat", "readlinkat", "readlink", "getxattr", "statx", "mkdirat", "rename",
         "access", "unlink", "unlinkat", "faccessat", "faccessat2")
DEAD_PIDFD = ("<anon_inode:[pidfd]>", "<pid:0>")  # how a pidfd is shown whose process was waited for
LIBRARY = re.compile(r"</?(?:usr/)?(?:lib|share)/|\"/(?:usr/)?lib|\"/usr/share/locale|ld\.so\.cache"
                     r"|locale\.alias")
FUNCTION = re.compile(r"^[0-9a-f]+ <(\w+)[\w.]*>:$")
CALLED = re.compile(r"(?:call|jmp) .*<(\w+)@plt>$")
# What the C library's functions call, where that has another name; and the others.
WRAPPERS = {
    "open": "openat", "__openat_2": "openat", "__read_chk": "read", "pread": "pread64",
    "fstat": "newfstatat", "fstatat": "newfstatat", "stat": "newfstatat", "lstat": "newfstatat",
    "faccessat": "faccessat2", "__poll_chk": "poll", "nanosleep": "clock_nanosleep", "signalfd": "signalfd4",
    "getrlimit": "prlimit64", "setrlimit": "prlimit64", "sigprocmask": "rt_sigprocmask",
    "signal": "rt_sigaction", "readdir": "getdents64", "closedir": "close",
    **{name: name for name in (
        "openat read write writev close statx readlink readlinkat getxattr socket setsockopt sendto ioctl"
        " poll epoll_create1 epoll_ctl epoll_wait timerfd_create timerfd_settime pidfd_open prctl"
        " sched_getaffinity sched_setaffinity sched_yield unlink unlinkat rename fchmod flock ftruncate"
        " fdatasync mkdirat getpriority setpriority getrandom fcntl").split()},
}
LIBRARY_ALONE = "a library"  # nobody of reaper is among the callers
IN = " in "  # between a caller and on whose behalf it calls
NOT_FAILING = {
    "brk": "tells no errno: the C library takes what it returns for an address",
    "exit": "a thread whose end fails tries it for ever",
    "exit_group": "likewise",
    "futex": "the C library ends a program that gets an errno which the kernel never gives",
    "pidfd_send_signal": "has tests of its own",
    "ppoll": "is the injector's",
    "pwritev2": "is the injector's",
    "timer_create": "is the injector's",
    "timer_settime": "is the injector's",
}
# What the kernel fails only for a bad address, so that the C library does not ask.
NOT_FAILING_SITES = {
    ("rt_sigprocmask", "SIG_BLOCK, ~[]"): "a thread's start (pthread_create.c of glibc), which would then restore "
                                          "a mask that it never got",
}


@dataclass
class Crowd:
    """One leak that is due, beside workers that must be left alone."""

    host: MiniHost
    leak: Worker
    kept: list[Worker]
    due: set[int]  # who may get a signal
    hosts: tuple[Any, ...] = ()  # what is looked at
    guarded: list[Worker] = field(default_factory=list)  # leaked too, but something objects

    @classmethod
    def of(cls, host: MiniHost, task: str = "poll") -> Crowd:
        """`task` is the one that the leak is left in."""
        daemon = host.daemon()
        pooled, serving = daemon.open(), daemon.open()
        serving.task("sleep")
        leak = daemon.open()
        leak.task(task)
        leak.close()
        stopped, = daemon.leak()
        os.kill(stopped.pid, signal.SIGSTOP)
        return cls(host, leak, [pooled, serving], {leak.pid, *(pin.pid for pin in leak.helpers)}, (host,), [stopped])

    def is_as_it_was(self) -> bool:
        """No signal arrived."""
        return (self.leak.is_alive() and all(worker.is_alive() for worker in self.kept + self.guarded)
                and self.kept[0].serves())


Key = tuple[str, str, str]


@dataclass
class Site:
    """One place of the program that makes one kind of call, and its occurrences among calls of that name."""

    call: str
    args: str
    caller: str
    numbers: list[int] = field(default_factory=list)

    @property
    def key(self) -> Key:
        return self.call, self.args, self.caller

    def can_fail(self) -> bool:
        return (self.call, self.args) not in NOT_FAILING_SITES

    def __str__(self) -> str:
        return f"{self.call}({self.args}) by {self.caller}"


@dataclass(frozen=True)
class Fault:
    """A call that fails, by its number among those of its name."""

    site: Key
    number: int
    errno: str
    ever_after: bool

    @property
    def call(self) -> str:
        return self.site[0]

    def option(self) -> str:
        return (f"inject={self.call}:error={self.errno}:when={self.number}"
                f"{'+' if self.ever_after else ''}")

    def __str__(self) -> str:
        call, args, caller = self.site
        return (f"{call}({args}) by {caller}, number {self.number}{' and all after it' * self.ever_after}: "
                f"{self.errno}")


@dataclass(frozen=True)
class Scene:
    """What is run, beside the settings that all have."""

    name: str
    args: tuple[str, ...] = ("--json", "sweep")
    settings: dict[str, str] = field(default_factory=dict)
    env: tuple[str, ...] = ()
    prepare: Callable[[Reaper], None] = lambda reaper: None
    statuses: frozenset[int] = frozenset({0, 1, 2, 3, 4})  # what reaper(8) says of this command
    signals: tuple[str, ...] = ("SIGTERM", "SIGKILL")  # to the leak, when nothing fails
    only_once: frozenset[tuple[str, str]] = frozenset()  # calls and errnos that are not made to fail for ever
    within: tuple[str, ...] = ()  # functions: what is called on their behalf is told from the same for others


SWEEP = Scene("sweep")


@dataclass
class Run:
    """What one run did."""

    result: Result
    signals: list[tuple[int | None, str, str]]  # pid, name and flags of each
    trace: str
    intents: set[int]
    outcomes: set[str]  # that its audit log tells
    home: pathlib.Path

    def __str__(self) -> str:
        return f"{self.result}\n--- signals {self.signals}, intents {self.intents}, outcomes {self.outcomes}"

    def counts(self) -> list[int]:
        """Of allocations, transfers, calls of threads and signals; at the end of blocks of memory, of those
        that are reaper's own, and of descriptors."""
        found = COUNTS.search(self.result.err)
        assert found, f"it crashed: {self}"
        return [int(number) for number in found.groups()]

    def unsynced(self) -> bool:
        """Whether a signal follows an fdatasync(2) of the audit log that failed."""
        failed = False
        for line in self.trace.splitlines():
            if "fdatasync(" in line and "audit.jsonl" in line:
                failed = "(INJECTED)" in line
            elif failed and "pidfd_send_signal(" in line:
                return True
        return False

    def said(self) -> str:
        """What reaper itself wrote to stderr."""
        return "".join(line for line in COUNTS.sub("", self.result.err).splitlines(keepends=True)
                       if not line.startswith("strace: "))


def arguments(call: str, args: str, home: pathlib.Path) -> str:
    """Those that tell where in reaper a call is: descriptor, path or kind, but no address or number."""
    args = args.replace(str(home), "HOME").replace(home.parent.name, "FOLDER").replace(*DEAD_PIDFD)
    first, _, rest = args.partition(", ")
    if call in PATHS:
        path = re.match(r'"(?:[^"\\]|\\.)*"', args if args.startswith('"') else rest)
        first = f"{first} {path.group() if path else ''}"
    elif call == "fcntl":
        first = args
    elif call in ("seccomp", "rt_sigprocmask"):
        first = ", ".join(args.rstrip(", ").split(", ")[:2])  # unfinished: what the kernel writes is missing
    elif call in ("getrandom", "sysinfo", "get_mempolicy", "uname"):
        first = ""  # what the kernel wrote
    if LIBRARY.search(first):
        return "LIBRARY"
    return re.sub(r"0x[0-9a-f]+|\b\d+\b|[0-9a-f]{16}", "N", first).replace(f"{home.name}\"", "HOME\"")


def calls(trace: str, home: pathlib.Path, also: str = "") -> Iterator[tuple[str, str]]:
    """Name and arguments of each call of the first thread whose line contains a text."""
    first = trace.split(maxsplit=1)[0] if trace else ""
    for line in trace.splitlines():
        found = CALL.match(line)
        if found and also in line and found[1] == first:
            yield found[2], arguments(found[2], found[3], home)


@dataclass
class Call:
    """One call of the first thread, its number among those of its name, and who made it."""

    call: str
    args: str
    number: int
    caller: str = LIBRARY_ALONE

    def called_by(self, function: str, within: Container[str]) -> None:
        """The next one of its callers, from the inside out."""
        if self.caller == LIBRARY_ALONE:
            self.caller = function
        if function in within and IN not in self.caller:
            self.caller += f"{IN}{function}"


def numbered(trace: str, home: pathlib.Path, within: Container[str] = ()) -> list[Call]:
    """All calls of the first thread; their callers, if the trace has them."""
    found: list[Call] = []
    counts: Counter[str] = Counter()
    first = trace.split(maxsplit=1)[0] if trace else ""
    last = None  # whose callers come next
    for line in trace.splitlines():
        caller = CALLER.match(line)
        if caller and last:
            last.called_by(caller[1], within)
        call = CALL.match(line)
        if not call:
            continue
        last = None
        if call[1] == first:
            counts[call[2]] += 1
            last = Call(call[2], arguments(call[2], call[3], home), counts[call[2]])
            found.append(last)
    return found


def in_program(binary: pathlib.Path) -> set[tuple[str, str]]:
    """Name and caller of all system calls that the program makes by itself, whatever it is run for."""
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", binary], check=True, capture_output=True,
                          text=True).stdout
    found = set()
    caller = ""
    for line in code.splitlines():
        begin = FUNCTION.match(line)
        caller = begin[1] if begin else caller
        call = CALLED.search(line)
        if call and call[1] in WRAPPERS:
            found.add((WRAPPERS[call[1]], caller))
    return found


def take_callers(made: list[Call], of: list[Call]) -> None:
    """To ask for the callers takes so long that a run makes other calls: those that both make tell them."""
    callers = {(call.call, call.args): call.caller for call in reversed(of)}
    for call in made:
        call.caller = callers.get((call.call, call.args), LIBRARY_ALONE)
    both = difflib.SequenceMatcher(None, [call.args for call in made], [call.args for call in of], False)
    for at, its, count in both.get_matching_blocks():
        for step in range(count):
            made[at + step].caller = of[its + step].caller
    for call in {(call.args, call.caller): call for call in reversed(of)}.values():
        if (call.args, call.caller) not in {(seen.args, seen.caller) for seen in made}:
            give_place(made, of, call)


def give_place(made: list[Call], of: list[Call], call: Call) -> None:
    """The call that stands where one of them that is not told yet stood among its like."""
    place = [other.caller for other in of if other.args == call.args].index(call.caller)
    like = [other for other in made if other.args == call.args]
    counts = Counter(other.caller for other in like)
    free = [other for other in like[place:] + like[place::-1] if counts[other.caller] > 1]
    if free:
        free[0].caller = call.caller


def is_within(call: Call, within: tuple[str, ...]) -> bool:
    """Whether it is one of those that are asked for; if none are named, all are."""
    return not within or IN in call.caller


def sites(calls_made: list[Call]) -> list[Site]:
    """Every place and kind of call."""
    found: dict[Key, Site] = {}
    for call in calls_made:
        site = Site(call.call, call.args, call.caller)
        found.setdefault(site.key, site).numbers.append(call.number)
    return list(found.values())


def faults(found: list[Site], only_once: Container[tuple[str, str]] = ()) -> Iterator[Fault]:
    """Each errno at each site, in turn once and from then on, in turn at its first, middle and last call;
    or all of that.

    Not EINTR for ever: that would take a signal for each call. Nor what the scene excepts: call and errno.
    """
    for row, site in enumerate(found):
        at = sorted({site.numbers[0], site.numbers[len(site.numbers) // 2], site.numbers[-1]})
        for column, name in enumerate(ERRNOS):
            once = name == "EINTR" or (site.call, name) in only_once
            for ever_after in (False, True)[:2 - once]:
                for number in at:
                    turn = once or (row + column) % 2 == ever_after
                    if ALL or (turn and number == at[(row + column // 2) % len(at)]):
                        yield Fault(site.key, number, name, ever_after)


@dataclass
class Failed:
    """What came of the faults at some sites."""

    sites: list[Site]
    count: int = 0  # runs that hit theirs, or went wrong
    wrong: list[str] = field(default_factory=list)
    missed: list[Fault] = field(default_factory=list)  # that hit another call, or none

    def tell(self, what: str, began: float, capsys: pytest.CaptureFixture[str],
             seldom: dict[str, str]) -> None:
        """Prints the figure; whatever was missed needs a reason, by its call or its caller."""
        missed = Counter(str(Site(*fault.site)) for fault in self.missed)
        with capsys.disabled():
            print(f"\n{seconds(began)}\nfigure {what}: {self.count} runs, {len(self.wrong)} wrong")
            print(f"{len(self.sites)} sites, each with {len(ERRNOS)} errnos")
            for call, why in NOT_FAILING.items():
                print(f"  never failed: {call}: {why}")
            for (call, args), why in NOT_FAILING_SITES.items():
                print(f"  never failed: {call}({args}): {why}")
            for name, count in missed.items():
                print(f"  missed with {count} errnos: {name}: {reason(name, seldom) or 'no reason'}")
        assert not self.wrong, shown(self.wrong)
        assert all(reason(name, seldom) for name in missed), missed


def shown(wrong: list[str]) -> str:
    """Some of it whole, and of all of it the first words."""
    return "\n\n".join([*wrong[:SHOWN], "\n".join(text[:WORDS] for text in wrong)])


def reason(site: str, seldom: dict[str, str]) -> str | None:
    """Why a site need not be hit."""
    return next((why for word, why in seldom.items() if word in site), None)


def seconds(began: float) -> str:
    return f"{time.monotonic() - began:.0f} s"


class Faulty:
    """Runs of one scene over one crowd, each with files of its own."""

    def __init__(self, binary: pathlib.Path, folder: pathlib.Path, shim: pathlib.Path, crowd: Crowd,
                 scene: Scene = SWEEP) -> None:
        self.crowd = crowd
        self.shim = shim
        self.scene = scene
        home = folder / "home"
        home.mkdir(mode=0o755)
        self.reaper = Reaper(binary, home)
        self.reaper.settings.update({**SETTINGS, **scene.settings})
        self.clean = [0] * 7  # Run.counts() of one in which nothing fails
        self.with_callers: list[Call] = []

    def begin(self) -> None:
        """Wait until the leak is due; then count what a run leaves when nothing fails."""
        self.fresh()
        self.reaper.wait_due(self.crowd.leak)
        runs = [self.run("-e", "trace=pidfd_send_signal", *LOST) for _ in range(3)]
        self.clean = [max(counts) for counts in zip(*(run.counts() for run in runs))]

    def fresh(self) -> Reaper:
        """A reaper with what the scene begins with: else no history and no audit log."""
        for folder in (self.reaper.state_dir, self.reaper.audit_log.parent):
            for path in folder.glob("*"):
                path.unlink()
        self.scene.prepare(self.reaper)
        return self.reaper

    def run(self, *strace: str, env: tuple[str, ...] = (), settings: dict[str, str] | None = None,
            limit_s: int = HANG_S) -> Run:
        """One run under strace with these options, with the files that are there."""
        reaper = self.reaper
        log = reaper.home / "strace"
        shim = ("-E", f"LD_PRELOAD={self.shim}", "-E", f"HASTE={HASTE}", "-E", f"KILL_AFTER={limit_s}",
                *self.scene.env, *env)
        faster = () if any(":signal=" in word for word in strace) else (FASTER,)
        argv = [*STRACE, *faster, *strace, *shim, "-o", str(log),
                *reaper.argv(self.scene.args, self.crowd.hosts, settings)]
        result = reaper.run_argv(argv, timeout_s=2 * limit_s, check=False)
        assert result.took_s < limit_s, f"it hangs: {result}"
        trace = log.read_text(errors="replace")
        signals = [(int(pid) if pid else None, name, flags)
                   for pid, name, flags in SIGNAL.findall(trace)]
        told = records(reaper.audit_log)
        return Run(result, signals, trace, {record["pid"] for record in told if record["record"] == "intent"},
                   {record["outcome"] for record in told if record["record"] == "outcome"}, reaper.home)

    def calls_of(self, *strace: str) -> list[Call]:
        """The calls of a run in which nothing fails."""
        self.fresh()
        run = self.run(*strace, *LOST, limit_s=SLOW * HANG_S)
        if "-k" not in strace:  # so slow that at its end a thread may still wait for what it reads
            self.judge(run)
        self.judge_signals(run)
        return numbered(run.trace, run.home, self.scene.within)

    def all_calls(self) -> list[Call]:
        """Those of a run that shows their callers, from main() on."""
        self.with_callers = self.with_callers or self.calls_of("-k", "-e", "trace=all")
        # the last thing that the loader does is to give back its cache
        return self.with_callers[self.begin_of_main():]

    def begin_of_main(self) -> int:
        return next(at for at, call in enumerate(self.with_callers) if call.call == "munmap")

    def reached(self) -> set[tuple[str, str]]:
        """Name and caller of each of them."""
        return {(call.call, call.caller.split(IN)[0]) for call in self.all_calls()}

    def look_for_sites(self, names: Container[str] | None = None) -> list[Site]:
        """Of calls of these names, or of all, that are made in main(). Each name is counted in a run of its
        own, since what strace(1) shows takes time, and time changes what is asked."""
        known = self.all_calls()
        loader = Counter(call.call for call in self.with_callers[:self.begin_of_main()])
        found: list[Site] = []
        for name in sorted({call.call for call in known if is_within(call, self.scene.within)} - NOT_FAILING.keys()):
            if names is None or name in names:
                made = [call for call in self.calls_of("-e", f"trace={name},pidfd_send_signal")
                        if call.call == name][loader[name]:]
                take_callers(made, [call for call in known if call.call == name])
                found += sites([call for call in made if is_within(call, self.scene.within)])
        return found

    def fail(self, fault: Fault, judge: Callable[[Fault, Run], None]) -> bool:
        """A run with this fault, which is judged whatever was hit, unless that cannot fail; was it this one?"""
        self.fresh()
        run = self.run("-e", f"trace={fault.call},pidfd_send_signal", "-e", fault.option(), *LOST)
        failed = [call for call in calls(run.trace, run.home, "(INJECTED)") if call[0] == fault.call]
        if failed[:1] and failed[0] in NOT_FAILING_SITES:
            return False
        judge(fault, run)
        # From then on: what failed before it is beside the point.
        return fault.site[:2] in (failed if fault.ever_after else failed[:1])

    def fail_each(self, chosen: Callable[[Site], bool], judge: Callable[[Fault, Run], None]) -> Failed:
        """Each fault of the chosen sites; those that did not hit theirs once more, counted anew."""
        found = [site for site in self.look_for_sites() if site.can_fail() and chosen(site)]
        done, todo = Failed(found), list(faults(found, self.scene.only_once))
        for _ in range(ATTEMPTS):
            done.missed = []
            for fault in todo:
                try:
                    if not self.fail(fault, judge):
                        done.missed.append(fault)
                        continue
                except (AssertionError, subprocess.TimeoutExpired) as error:
                    done.wrong.append(f"{fault}: {error}")
                done.count += 1
            if not done.missed:
                break
            names = {fault.call for fault in done.missed}
            now = {site.key: site.numbers for site in self.look_for_sites(names)}
            todo = [replace(fault, number=now.get(fault.site, [fault.number])[0])
                    for fault in done.missed]
        return done

    def judge(self, run: Run) -> None:
        """What holds of every run, whatever has failed in it."""
        assert run.result.rc in self.scene.statuses, f"not a documented exit status: {run}"
        for pid, name, flags in run.signals:
            assert pid in self.crowd.due, f"a signal to {pid}, which is no leak: {run}"
            assert name in ("SIGTERM", "SIGKILL") and flags == "0", run
            assert pid in run.intents, f"a signal without an intent in the audit log: {run}"
        assert not run.unsynced(), f"a signal though the intent may not be on the disk: {run}"
        assert not run.outcomes & ENDED, f"the leak is still there: {run}"
        self.judge_leaks(run)

    def judge_signals(self, run: Run) -> None:
        """What the leak gets when nothing fails."""
        names = tuple(name for pid, name, _ in run.signals if pid == self.crowd.leak.pid)
        assert names == self.scene.signals, run

    def judge_leaks(self, run: Run) -> None:
        injected = list(calls(run.trace, run.home, "(INJECTED)"))
        *_, blocks, own, descriptors = run.counts()
        *_, clean_blocks, clean_own, clean_descriptors = self.clean
        # The kernel closes what close(2) fails for; who makes it fail does not.
        kept = sum(call == "close" for call, _ in injected)
        assert descriptors <= clean_descriptors + kept, f"it leaks descriptors: {run}"
        assert own <= clean_own, f"it leaks memory of its own: {run}"
        # What setlocale(3) has read stays; when it cannot read one thing, it reads others.
        if not any(args == "LIBRARY" or call == "mmap" for call, args in injected):
            assert blocks <= clean_blocks, f"it leaks memory: {run}"


def records(log: pathlib.Path) -> list[dict[str, Any]]:
    """The whole lines of an audit log."""
    if not log.exists():
        return []
    return [json.loads(line) for line in log.read_text().splitlines(keepends=True) if line.endswith("\n")]
