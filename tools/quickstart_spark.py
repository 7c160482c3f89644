# SPDX-License-Identifier: Apache-2.0
"""The Spark of tools/quickstart: a driver that brings its workers into three states.

Takes a word per line on standard input, answers with a line of JSON on standard output:

    start    a local Spark          -> {"jvm": pid, "version": "4.3.0"}
    leak     an early stop          -> {"worker": pid}   it sits in poll(-1), the JVM has hung up
    slow     a task that goes on    -> {"worker": pid}   until `finish`
    pool     a short job            -> {"worker": pid}   back in the pool when this is said
    finish   let the slow task end  -> {"rows": n}
"""

import json
import os
import pathlib
import sys
import threading
import time

WORK = pathlib.Path(sys.argv[1])
ROW_BYTES = 300_000  # more than Python keeps in its buffer: the JVM must see the row
SLOW_ROWS = 3
PATIENCE_S = 60


class Driver:
    def start(self):
        from pyspark import SparkConf, SparkContext

        conf = (SparkConf().setMaster("local[4]").setAppName("reaper-quickstart")
                .set("spark.ui.enabled", "false").set("spark.ui.showConsoleProgress", "false")
                .set("spark.driver.bindAddress", "127.0.0.1").set("spark.driver.memory", "512m"))
        self.context = SparkContext(conf=conf)
        self.context.setLogLevel("WARN")
        jvm = self.context._jvm.java.lang.ProcessHandle.current().pid()
        return {"jvm": jvm, "version": self.context.version}

    def leak(self):
        """The JVM takes one row and stops; the worker is in poll(-1) for the next."""
        note = str(WORK / "leaked")
        size = ROW_BYTES

        def early_stop(_rows):
            import os
            import select

            with open(note + ".new", "w") as file:
                file.write(str(os.getpid()))
            os.rename(note + ".new", note)
            yield b"x" * size
            select.poll().poll(-1)

        self.context.parallelize([0], 1).mapPartitions(early_stop)._jrdd.first()
        return {"worker": noted(note)}

    def slow(self):
        note, gate, rows, patience = str(WORK / "slow"), str(WORK / "gate"), SLOW_ROWS, 10 * PATIENCE_S

        def wait(row):
            import os
            import time

            with open(note + ".new", "w") as file:
                file.write(str(os.getpid()))
            os.rename(note + ".new", note)
            end = time.monotonic() + patience
            while not os.path.exists(gate) and time.monotonic() < end:
                time.sleep(0.1)
            return row

        def job():
            self.rows = self.context.parallelize(range(rows), 1).map(wait).count()

        self.rows = None
        self.thread = threading.Thread(target=job, daemon=True)
        self.thread.start()
        return {"worker": noted(note)}

    def pool(self):
        def who(_row):
            import os

            return os.getpid()

        return {"worker": self.context.parallelize([0], 1).map(who).collect()[0]}

    def finish(self):
        (WORK / "gate").touch()
        self.thread.join(PATIENCE_S)
        if self.rows is None:
            raise RuntimeError("the slow task did not end")
        return {"rows": self.rows}


def noted(path):
    """The pid that a worker wrote down."""
    end = time.monotonic() + PATIENCE_S
    while not os.path.exists(path):
        if time.monotonic() > end:
            raise RuntimeError(f"no worker wrote {path}")
        time.sleep(0.05)
    return int(pathlib.Path(path).read_text())


def main():
    # Spark and its children get another standard output: this one is for the answers alone.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    driver = Driver()
    for line in sys.stdin:
        try:
            answer = getattr(driver, line.strip())()
        except Exception as error:  # whoever asked must hear of it
            answer = {"error": f"{type(error).__name__}: {error}"[:2000]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
