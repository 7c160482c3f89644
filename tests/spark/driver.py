# SPDX-License-Identifier: Apache-2.0
"""A Spark driver that takes commands on standard input and answers on standard output.

One JSON object per line each way, one answer per command, {"error": ...} when it fails:

    {"do": "start", "master": "local[4]", "conf": {...}}   -> {"jvm": pid, "version": "4.3.0"}
    {"do": "begin", "job": NAME, "label": L, "more": {}}   -> {}          runs in a thread
    {"do": "end", "label": L, "wait": 30}   -> {"done": true, "value": ..., "failed": null,
                                                   "at": milliseconds since boot}
    {"do": "open", "gate": NAME}                           -> {}
    {"do": "cancel", "label": L}                           -> {}
    {"do": "failed-tasks"}                                 -> {"failed": n, ...}
    {"do": "signal", "pid": n, "start": ticks, "signal": 9} -> {}   (for a pid namespace)
    {"do": "stop"}                                         -> {}

End of file on standard input ends the driver and its JVM.
"""

import json
import os
import signal
import sys
import threading
import time

import inworker

FOLDER = sys.argv[1]


class Task(threading.Thread):
    """One job under a job group of its own name."""

    def __init__(self, spark, job, label, more):
        super().__init__(name=label, daemon=True)
        self.spark, self.job, self.label, self.more = spark, job, label, more
        self.value = self.failed = self.at = None

    def run(self):
        try:
            self.spark.sparkContext.setJobGroup(self.label, self.label, False)
            self.value = self.job(self.spark, FOLDER, self.label, **self.more)
        except BaseException as error:  # the test judges it
            self.failed = f"{type(error).__name__}: {error}"[:8000]
        self.at = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


class Driver:
    def __init__(self):
        self.spark = self.jvm = None
        self.tasks = {}

    def start(self, master, conf):
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(master).appName("reaper-test")
        for key, value in conf.items():
            builder = builder.config(key, value)
        self.spark = builder.getOrCreate()
        self.spark.sparkContext.setLogLevel("WARN")
        jvm = self.spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
        self.jvm = os.pidfd_open(jvm)
        return {"jvm": jvm, "version": self.spark.version}

    def begin(self, job, label, more):
        import jobs

        if label in self.tasks:
            raise ValueError(f"label {label} was used before")
        task = self.tasks[label] = Task(self.spark, jobs.JOBS[job], label, more)
        task.start()
        return {}

    def end(self, label, wait):
        task = self.tasks[label]
        task.join(wait)
        return {"done": not task.is_alive(), "value": task.value, "failed": task.failed,
                "at": task.at}

    def open(self, gate):
        import jobs

        jobs.open_gate(self.spark, gate)
        return {}

    def cancel(self, label):
        self.spark.sparkContext.cancelJobGroup(label)
        return {}

    def failed_tasks(self):
        """How many task attempts failed, and how many were completed, of all jobs so far: as the JVM counts
        them for each executor, for to ask about each of ten thousand stages takes minutes."""
        store = self.spark.sparkContext._jsc.sc().statusStore()
        executors = store.executorList(False)
        counted = [executors.apply(i) for i in range(executors.size())]
        return {"stages": store.appSummary().numCompletedStages(),
                "failed": sum(one.failedTasks() for one in counted),
                "completed": sum(one.completedTasks() for one in counted)}

    def signal(self, pid, start, signo):
        pin = os.pidfd_open(pid)
        try:
            with open(f"/proc/{pid}/stat", "rb") as stat:
                ticks = int(stat.read().rpartition(b")")[2].split()[19])
            if ticks != start:
                raise ProcessLookupError(f"{pid} is another process now")
            signal.pidfd_send_signal(pin, signo)
        finally:
            os.close(pin)
        return {}

    def stop(self):
        self.spark.stop()
        return {}

    def leave(self):
        """End the JVM, which may be stopped, and with it its daemons; wait for no job thread."""
        if self.jvm is not None:
            try:
                signal.pidfd_send_signal(self.jvm, signal.SIGKILL)
            except ProcessLookupError:
                pass
        os._exit(0)

    def answer(self, command):
        do = command.pop("do")
        if do == "signal":
            return self.signal(command["pid"], command["start"], command["signal"])
        return getattr(self, do.replace("-", "_"))(**command)


def main():
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever Spark prints goes to the log
    driver = Driver()
    answers.write(json.dumps({"driver": inworker.identity()}) + "\n")
    answers.flush()
    for line in iter(sys.stdin.readline, ""):
        try:
            answer = driver.answer(json.loads(line))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:8000]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    driver.leave()


if __name__ == "__main__":
    main()
