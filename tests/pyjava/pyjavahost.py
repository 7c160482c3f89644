# SPDX-License-Identifier: Apache-2.0
"""A JVM that runs tasks by real pyjava, as a child process: start it, and take it away."""

import os
import pathlib
import re
import signal
import subprocess
import threading
import time
import uuid
from typing import Any, Callable, Collection, Dict, List, Optional, Set, Tuple

import procs
from procs import Proc
from sparkhost import JOB_S, Spark, java_home
from tasks import task

HERE = pathlib.Path(__file__).resolve().parent
WRITE = 1  # system call numbers of x86-64
SLEEPS = {23, 230, 270}  # select, clock_nanosleep, pselect6: Python's time.sleep()
SPARK_TESTS = HERE.parent / "spark"
JAVA = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx1g",
        "-Dorg.apache.logging.log4j.level=WARN", "--add-opens=java.base/java.nio=ALL-UNNAMED"]


class Pyjava(Spark):  # pylint: disable=super-init-not-called
    """One JVM and everything below it; its task `kind` is one of tasks.TASKS."""

    def __init__(self, pyjava: Dict[str, str], folder: pathlib.Path,
                 conf: Optional[Dict[str, str]] = None, env: Optional[Dict[str, str]] = None,
                 jars: str = "", logs: Optional[pathlib.Path] = None,
                 observer: str = "reaper.pyjava.Observer"):
        """`pyjava`: its class path and the bin directory of its python; `conf` goes to every task,
        `env` and `jars` to the JVM, which tells the class `observer` of its tasks if that is there;
        `logs` is where it and its daemons write marker logs."""
        self.token = f"{procs.RUN}-{uuid.uuid4().hex}"
        self.notes = folder / "notes"
        self.notes.mkdir(parents=True)
        self.log = folder / "driver.log"
        self.logs = logs
        self.conf = {"directData": "true", **(conf or {})}
        self.isolated = self.closed = False
        self.known: Set[Proc] = set()
        self.ended: Set[Proc] = set()
        self.count = 0
        self._stopped: Set[Proc] = set()
        self._unread = b""
        home = java_home()
        env = {"PATH": f"{pyjava['bin']}:/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8",
               "JAVA_HOME": home, "OPENBLAS_NUM_THREADS": "1",
               "PYTHONDONTWRITEBYTECODE": "1", procs.TOKEN: self.token,
               **({"REAPER_MARKER_DIR": str(logs)} if logs else {}), **(env or {})}
        argv = [f"{home}/bin/java", *JAVA, f"-Dobserver={observer}",
                "-cp", f"{pyjava['classes']}:{jars}", "Driver"]
        with open(self.log, "wb") as log:
            self.child = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=env,
                cwd=folder, start_new_session=True)
        self.jvm = self.child.pid
        self._recorder = threading.Thread(target=self._record, daemon=True)
        self._over = threading.Event()
        self._recorder.start()
        try:
            self.observed: bool = self._answer(60)["observer"]
            self.jvm_proc = procs.read_stat(self.jvm).proc
        except BaseException:
            self.close()
            raise

    def begin(self, kind: str, **more: Any) -> str:
        """Start a task; its label."""
        self.count += 1
        label = f"{kind}-{self.count}"
        chosen = task(kind, str(SPARK_TESTS), str(self.notes), label)
        conf = {"groupId": f"job-{label}", **self.conf}  # as Byzer names a task's job
        self.ask("begin", label=label, more={"conf": conf, **chosen, **more})
        return label

    def failure(self, label: str, seconds: float = JOB_S) -> str:
        """Why the task failed, as the host saw it."""
        failed = self.end(label, seconds)["failed"]
        assert failed, f"{label} did not fail\n{self.log_tail()}"
        return failed

    def healthy(self) -> Proc:
        """Run one task that ends well; its worker, back in the pool."""
        job = self.begin("healthy")
        assert self.value(job) == ["xy"] * 3
        return self.noted(job)

    def pool(self, workers: int = 1) -> List[Proc]:
        """As many tasks at once; their workers, back in the pool."""
        jobs = [self.begin("serving") for _ in range(workers)]
        noted = [self.noted(job) for job in jobs]
        for job, worker in zip(jobs, noted):
            self.wake(job, worker)
        return noted

    def wake(self, job: str, worker: Proc) -> None:
        """End a task of the kind `serving`."""
        wait_asleep(worker)
        assert procs.send(worker, signal.SIGUSR1)
        assert self.value(job) == ["woken"]

    def daemons(self, host: Optional[int] = None) -> List[Proc]:
        """The JVM's children: pyjava starts no other."""
        return sorted(procs.children(host or self.jvm))

    def said(self) -> str:
        """What the JVM and its daemons have logged so far."""
        return self.log.read_text("utf-8", "replace")


def wait_asleep(who: Proc) -> None:
    """Until it is in time.sleep()."""
    procs.until(f"{who} asleep", lambda: procs.syscall(who.pid) in SLEEPS)


def environment(tool_output: str, classes: pathlib.Path) -> Dict[str, str]:
    """What tools/pyjava-env printed, as `Pyjava` wants it."""
    jars, python = tool_output.split("\n")[-3:-1]
    return {"jars": f"{jars}/*", "classes": f"{classes}:{jars}/*",
            "bin": str(pathlib.Path(python).parent)}


def bytes_of(path: str, name: str) -> int:
    """The number in this line of a file in /proc, in bytes."""
    for line in pathlib.Path(path).read_text("ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"no {name} in {path}")


def available_bytes() -> int:
    """What the machine has left. Pages that were just freed stay on lists of each CPU for some ten
    seconds, hundreds of megabytes of them, and MemAvailable does not count these."""
    zones = pathlib.Path("/proc/zoneinfo").read_text("ascii")
    pages = sum(int(count) for count in re.findall(r"^ +count: +(\d+)$", zones, re.MULTILINE))
    return bytes_of("/proc/meminfo", "MemAvailable") + pages * os.sysconf("SC_PAGESIZE")


def pss_bytes(pid: int) -> int:
    """The process's share: what is freed when it and all that share with it are gone."""
    return bytes_of(f"/proc/{pid}/smaps_rollup", "Pss")


def machine_gain(leaks: Collection[Proc], end: Callable[[], Any]) -> Tuple[Any, int]:
    """What `end` gives back, and what the machine gains while it ends all these processes: from the
    last moment when none has begun to end to the first when all have, because others, compilers say,
    take and give back hundreds of megabytes within seconds."""
    before = after = available_bytes()

    def watch() -> None:
        nonlocal before, after
        left = len(leaks)
        while left:
            now = available_bytes()
            left = sum(procs.alive(who) for who in leaks)
            if all(procs.whole(who) for who in leaks):
                before = now
            time.sleep(0.005 if left else 0)
        after = available_bytes()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    given = end()
    watcher.join(10)
    assert not watcher.is_alive(), "not all have ended"
    return given, after - before
