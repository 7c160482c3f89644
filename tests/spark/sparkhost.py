# SPDX-License-Identifier: Apache-2.0
"""A real Spark as a child process: start it, give it jobs, take it away without a trace."""

import json
import os
import pathlib
import select
import signal
import subprocess
import threading
import time
import uuid
from typing import Any, Dict, List, Optional, Set

import procs
from procs import Proc

HERE = pathlib.Path(__file__).resolve().parent
DAEMON_ARGS = {b"pyspark.daemon", b"reaper_pyspark"}
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
START_S = 240
ANSWER_S = 120  # the driver answers at once, but where a hundred threads want its processor
JOB_S = 120  # the first job of SQL takes 3 s on an idle machine, 40 s and more on a busy one


class SparkHang(Exception):
    """A job did not come back in time."""


def java_home() -> str:
    """A Java that both releases run on: 17 before 21."""
    if os.environ.get("REAPER_JAVA_HOME"):
        return os.environ["REAPER_JAVA_HOME"]
    for version in ("17", "21"):
        for path in sorted(pathlib.Path("/usr/lib/jvm").glob(f"java-{version}-openjdk-*")):
            if (path / "bin" / "java").exists():
                return str(path)
    raise AssertionError("no Java 17 or 21 in /usr/lib/jvm (Debian: openjdk-17-jre-headless)")


class Spark:
    """One driver and everything below it.

    `isolated` puts it into a pid namespace of its own (pids in answers are those inside), for what
    must be looked at without naming a host: nothing else on the machine is in sight there.
    `nice` is what its processes get of a busy machine.
    """

    def __init__(self, python: str, folder: pathlib.Path, master: str = "local[8]",
                 conf: Optional[Dict[str, str]] = None, isolated: bool = False,
                 env: Optional[Dict[str, str]] = None, nice: int = 0):
        self.token = f"{procs.RUN}-{uuid.uuid4().hex}"
        self.notes = folder / "notes"
        self.notes.mkdir(parents=True)
        self.log = folder / "driver.log"
        self.isolated = isolated
        self.known: Set[Proc] = set()
        self.ended: Set[Proc] = set()  # whom reaper ended, as the tests note it
        self.closed = False
        self.count = 0
        self._stopped: Set[Proc] = set()
        local = folder / "local"
        local.mkdir()
        env = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(folder), "LANG": "C.UTF-8", "JAVA_HOME": java_home(),
            "PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python,
            "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(local),
            "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1", procs.TOKEN: self.token,
            **(env or {}),
        }
        argv = ["nice", "-n", str(nice), python, str(HERE / "driver.py"), str(self.notes)]
        if isolated:
            init = '"$@"; exit $?'  # a shell as pid 1: it reaps the orphans
            argv = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child",
                    "sh", "-c", init, "sh", *argv]
        with open(self.log, "wb") as log:
            self.child = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=env,
                cwd=folder, start_new_session=True)
        self._unread = b""
        self._recorder = threading.Thread(target=self._record, daemon=True)
        self._over = threading.Event()
        self._recorder.start()
        try:
            self._answer(60)
            # Settings that only make it quick (half the CPU time) and keep it off the network.
            settings = {"spark.driver.extraJavaOptions": QUICK_JVM,
                        "spark.executor.extraJavaOptions": QUICK_JVM,
                        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
                        "spark.ui.liveUpdate.period": "0",  # whoever asks what failed asks about now
                        "spark.driver.host": "127.0.0.1",
                        "spark.driver.bindAddress": "127.0.0.1", **(conf or {})}
            self._send({"do": "start", "master": master, "conf": settings})
            began = self._answer(START_S)
            self.jvm: int = began["jvm"]
            self.version: str = began["version"]
            if not isolated:
                self.jvm_proc = procs.read_stat(self.jvm).proc
                assert procs.read_stat(self.jvm).comm == "java"
        except BaseException:
            self.close()
            raise

    # -- talking to the driver

    def _send(self, command: Dict[str, Any]) -> None:
        self.child.stdin.write(json.dumps(command).encode() + b"\n")
        self.child.stdin.flush()

    def _answer(self, seconds: float) -> Dict[str, Any]:
        end = time.monotonic() + seconds
        while b"\n" not in self._unread:
            ready, _, _ = select.select([self.child.stdout], [], [], max(0, end - time.monotonic()))
            assert ready, f"the driver is silent for {seconds} s\n{self.log_tail()}"
            more = os.read(self.child.stdout.fileno(), 65536)
            assert more, f"the driver left\n{self.log_tail()}"
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\n")
        answer = json.loads(line)
        assert "error" not in answer, answer["error"]
        return answer

    def ask(self, do: str, seconds: float = ANSWER_S, **more: Any) -> Dict[str, Any]:
        self._send({"do": do, **more})
        return self._answer(seconds)

    def log_tail(self, lines: int = 40) -> str:
        text = self.log.read_text("utf-8", "replace").splitlines()
        return "\n".join(["-- end of the driver's log --", *text[-lines:]])

    # -- jobs

    def begin(self, job: str, **more: Any) -> str:
        """Start a job; its label."""
        self.count += 1
        label = f"{job}-{self.count}"
        self.ask("begin", job=job, label=label, more=more)
        return label

    def end(self, label: str, seconds: float = JOB_S) -> Dict[str, Any]:
        """The job's {value, failed, at}; SparkHang when it does not end."""
        answer = self.ask("end", seconds + 20, label=label, wait=seconds)
        if not answer["done"]:
            raise SparkHang(f"{label} did not end within {seconds} s\n{self.log_tail()}")
        return answer

    def over(self, label: str) -> bool:
        return self.ask("end", label=label, wait=0)["done"]

    def value(self, label: str, seconds: float = JOB_S) -> Any:
        answer = self.end(label, seconds)
        assert answer["failed"] is None, f"{label}: {answer['failed']}\n{self.log_tail()}"
        return answer["value"]

    def run(self, job: str, seconds: float = JOB_S, **more: Any) -> Any:
        return self.value(self.begin(job, **more), seconds)

    def pool(self, workers: int = 1) -> List[Proc]:
        """Run so many tasks at once; the workers, all back in the pool."""
        rows = self.run("pooled", workers=workers)
        assert [row[2] for row in rows] == [0] * workers, f"a task was tried again: {rows}"
        return [Proc(row[0], row[1]) for row in rows]

    def noted(self, label: str, seconds: float = JOB_S) -> Proc:
        """The process that left its identity under this label."""
        path = self.notes / label
        procs.until(f"a note from {label}\n{self.log_tail()}", path.exists, seconds)
        return Proc(*json.loads(path.read_text("ascii"))[:2])

    def noted_at(self, label: str) -> int:
        """When it did, in milliseconds since boot."""
        return json.loads((self.notes / label).read_text("ascii"))[2]

    def enough(self, label: str) -> None:
        (self.notes / f"{label}.enough").touch()

    def open_gate(self, gate: str) -> None:
        self.ask("open", gate=gate)

    # -- processes

    def snapshot(self) -> Set[Proc]:
        """Every living process of this Spark, orphans included."""
        return procs.of_token(self.token)

    def daemons(self, host: Optional[int] = None) -> List[Proc]:
        """The JVM's children that are Python daemons."""
        found = []
        for child in procs.children(host or self.jvm):
            try:
                argv = pathlib.Path(f"/proc/{child.pid}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if DAEMON_ARGS & set(argv):
                found.append(child)
        return sorted(found)

    def enter(self) -> List[str]:
        """The command that runs another one inside the pid namespace."""
        init = min(procs.children(self.child.pid))
        return ["nsenter", "-t", str(init.pid), "-p", "-m", "-r"]

    def outer(self, inner: Proc) -> Proc:
        """The process outside of the pid namespace that has these numbers inside."""
        for proc in self.snapshot():
            if proc.start == inner.start and procs.inner_pid(proc.pid) == inner.pid:
                return proc
        raise AssertionError(f"{inner} is not there\n{self.log_tail()}")

    def freeze(self, jvm: Proc) -> None:
        """Stop one of its JVMs, and nothing else."""
        assert procs.send(jvm, signal.SIGSTOP)
        self._stopped.add(jvm)

    def thaw(self) -> None:
        for jvm in list(self._stopped):
            assert procs.send(jvm, signal.SIGCONT)
            self._stopped.discard(jvm)

    def _record(self) -> None:
        """Remember every descendant while its line to the driver still stands."""
        while not self._over.wait(0.5):
            self.known |= procs.descendants(self.child.pid)

    def close(self) -> None:
        """End everything, whatever state it is in. Raises when something survives."""
        if self.closed:
            return
        self._over.set()
        self._recorder.join(5)
        for proc in list(self._stopped):
            procs.send(proc, signal.SIGCONT)
        left = self._everything()
        for _ in range(20):
            if not left:
                break
            for proc in left:
                procs.send(proc, signal.SIGKILL)
            procs.wait_gone(left, 5)
            left = self._everything()
        for pipe in (self.child.stdin, self.child.stdout):
            try:
                pipe.close()
            except OSError:
                pass  # a command that was never taken
        if not left:
            self.child.wait(10)
            self.closed = True
        assert not left, f"still alive: {sorted(left)}"

    def _everything(self) -> Set[Proc]:
        known = {proc for proc in self.known if procs.alive(proc)}
        return known | procs.descendants(self.child.pid) | procs.of_token(self.token)
