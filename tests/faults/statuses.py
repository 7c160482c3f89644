# SPDX-License-Identifier: Apache-2.0
"""What each exit status says in reaper(8), held against the calls that failed and what was done and told."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from faulty import Run, calls

CONFIG = re.compile(r"reaper\.conf|^mmap|^munmap")
LOCK = re.compile(r"^flock\(")
# What the verdict on a worker hangs on: without it nothing is due, so that nothing is left leaking.
EVIDENCE = re.compile(r"/proc|/sys|/markers|LIBRARY|socket|SOCK|AF_|NETLINK|pidfd|^(sched_|clock_|sysinfo|poll"
                      r"|recvmsg|sendto|fcntl|cap|getpid|geteuid|get_mempolicy|mmap|mprotect|prlimit)")
# What must be on the disk: without it the run could not act as asked.
KEPT = re.compile(r"^(writev|write|fdatasync|fchmod|rename|openat|pread64|ftruncate)\(.*"
                  r"(audit/audit\.jsonl|state/history\.N)")
OUTPUT = re.compile(r"^write\(N<(pipe|/.*watch)")
GONE = ("ESRCH", "ENOENT")  # so the kernel says that a process is not there
SIGNALS = re.compile(r"^read\(.*signalfd")
TOLD_TO_STOP = re.compile(r'\[signalfd\]>, "\\17\\0')  # 15, in the first bytes of signalfd_siginfo
LEFT = ("held", "refused", "unkillable")  # outcomes
LOOKS = 4  # of a watch


def injected(run: Run) -> list[str]:
    """Every call that was made to fail."""
    return [f"{call}({args})" for call, args in calls(run.trace, run.home, "(INJECTED)")
            if call != "pidfd_send_signal"]


def of_another(run: Run) -> bool:
    """Whether something failed that is read of another process."""
    own = run.trace.split(maxsplit=1)[0]
    return any(re.search(rf"/proc/(?!{own}\b)\d", line) for line in run.trace.splitlines()
               if "(INJECTED)" in line and "pidfd_send_signal" not in line)


def any_of(failed: Iterable[str], what: re.Pattern[str]) -> bool:
    return any(what.search(call) for call in failed)


def judge_refusal(run: Run, errno: str) -> None:
    """2, 3 and 4, which are the same for all commands."""
    failed = injected(run)
    rc = run.result.rc
    if rc == 2:
        assert any_of(failed, CONFIG), f"no error of configuration: {failed} {run}"
    if rc == 3 and errno != "ENOMEM":
        assert len(failed) != 1 or not of_another(run), f"what is this one process? {failed} {run}"
    if rc == 4:
        assert errno == "EAGAIN" and any_of(failed, LOCK), f"nobody else holds the lock: {failed} {run}"
    if rc in (2, 4):
        assert not (run.result.out or run.intents or run.signals), f"something was done: {run}"
    assert run.said() or any(call.startswith("write(") for call in failed), f"it says nothing: {run}"


def judge_sweep(run: Run, errno: str, leak: int) -> None:
    rc, failed = run.result.rc, injected(run)
    if rc in (2, 3, 4):
        judge_refusal(run, errno)
        return
    assert errno == "EINTR" or not any_of(failed, KEPT), f"it could not act as asked: {failed} {run}"
    doc = json.loads(run.result.out)
    worker = next((worker for worker in doc["workers"] if worker["pid"] == leak), None)
    outcomes = {action["outcome"] for action in doc["actions"] if action["pid"] == leak}
    if rc == 1:
        left = outcomes & set(LEFT) or (outcomes == {"spared"} and run.signals)
        assert worker and worker["verdict"] == "reap" and left, f"what leaks? {run}"
        return
    assert not run.signals, f"the leak is still there: {run}"
    ended = {"vanished"} if errno in GONE else set()
    assert not worker or worker["verdict"] != "reap" or outcomes <= {"spared"} | ended, f"it leaks: {run}"
    assert any_of(failed, EVIDENCE), f"nothing hides the leak: {failed} {run}"


def judge_ends(actions: list[dict[str, Any]], run: Run) -> None:
    """Who is still there is not told as gone, nor spared who got a signal."""
    sent = {pid for pid, _, _ in run.signals}
    assert sent and all(action["outcome"] in LEFT or (action["outcome"] == "spared" and not action["signal"])
                        for action in actions), f"all of them are still there: {run}"


def judge_signals_of_sweep(run: Run) -> None:
    """Whatever a signal call says, it is not made again."""
    assert run.result.rc == 1, f"the leak is still there: {run}"
    assert max(Counter(run.signals).values()) == 1, f"one signal twice: {run}"
    judge_ends(json.loads(run.result.out)["actions"], run)


def judge_signals_of_watch(run: Run) -> None:
    """The same in each look; and after one that failed, the next look tries again."""
    told = events(run)
    assert run.result.rc == 0 and (told[0]["event"], told[-1]["event"]) == ("start", "stop"), run
    assert max(Counter(run.signals).values()) <= LOOKS, f"one signal again and again: {run}"
    ends = [event for event in told if event["event"] == "action"]
    judge_ends(ends, run)
    if "EVER_AFTER=1" not in run.result.argv:
        last = {end["pid"]: end["outcome"] for end in ends if end["role"] == "worker"}
        assert set(last.values()) == {"unkillable"}, f"one failure spares it for good: {run}"


def events(run: Run) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run.result.out.splitlines()]


def heard(run: Run) -> bool:
    """SIGTERM had been read when for the first time signals could not be read."""
    for line in run.trace.splitlines():
        if TOLD_TO_STOP.search(line):
            return True
        if "[signalfd]>" in line and "(INJECTED)" in line:
            return False
    return False


def judge_watch(run: Run, errno: str) -> None:
    """Once it watches, nothing but a signal ends it, or that none can be read."""
    deaf = any_of(injected(run), SIGNALS)
    if run.result.rc:
        judge_refusal(run, errno)
        assert deaf or not run.result.out, f"it had begun to watch: {run}"
        return
    assert not deaf or errno in ("EAGAIN", "EINTR") or heard(run), f"who can stop it? {run}"
    if not any_of(injected(run), OUTPUT):
        names = [event["event"] for event in events(run)]
        assert names and names[0] == "start" and names[-1] == "stop", run
