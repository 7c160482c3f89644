# SPDX-License-Identifier: Apache-2.0
"""The jobs that bring a worker of a real Spark into each state that the tests look at.

Each is `job(spark, where, label, **more)`: it runs until Spark says that it is over and gives back
a value that JSON can hold. `where` is the folder in which workers leave their identities, under
names that begin with `label`. A gate is a system property of the JVM (`open_gate`): SQL waits for
it row by row in the JVM itself, so a worker before or behind it waits for nothing but its socket.
"""

import os
import sys
import time

import pyarrow
from pyspark import BarrierTaskContext, TaskContext, cloudpickle
from pyspark.sql.functions import expr, udf

import blocking
import inworker
from inworker import ROW

cloudpickle.register_pickle_by_value(blocking)
cloudpickle.register_pickle_by_value(inworker)
cloudpickle.register_pickle_by_value(sys.modules[__name__])

PROPERTY = "reaper.test.gate."
WIDE = "id long, text string"


def open_gate(spark, name):
    spark.sparkContext._jvm.java.lang.System.setProperty(PROPERTY + name, "open")


def gate(name):
    """SQL, true once the gate is open; sleeps in steps of 50 ms until then, 5 minutes at most."""
    is_open = f"java_method('java.lang.System', 'getProperty', '{PROPERTY}{name}') = 'open'"
    return f"exists(sequence(1, 6000), step -> CASE WHEN {is_open} THEN true ELSE NOT {nap(50)} END)"


def nap(milliseconds):
    """SQL, true, after so long for each row. (Nothing that Spark could know without asking: it would not ask.)"""
    return f"java_method('java.lang.Thread', 'sleep', {milliseconds}L) = 'null'"


def batch(first, count=1, size=0):
    """Rows first .. first + count - 1 with `size` letters each, as one Arrow batch."""
    ids = pyarrow.array(range(first, first + count), pyarrow.int64())
    text = pyarrow.array(["x" * size] * count, pyarrow.string())
    return pyarrow.RecordBatch.from_arrays([ids, text], ["id", "text"])


def one_row(spark):
    return spark.range(0, 1, 1, 1)


def pooled(spark, where, label, workers=1):
    """Short tasks on so many workers at once; all of them go back to the pool."""

    def each(part, _):
        who = inworker.note(where, f"{label}-{part}")
        for other in range(workers):
            inworker.await_file(where, f"{label}-{other}", 60.0)
        yield [*who, TaskContext.get().attemptNumber()]

    return spark.sparkContext.parallelize(range(workers), workers).mapPartitionsWithIndex(
        each
    ).collect()


def pooled_udf(spark, where, label):
    """A SQL UDF: Spark gives SQL a daemon of its own, beside that of RDDs."""

    @udf("string")
    def who(_):
        return "%d %d" % inworker.note(where, label)

    pid, start = one_row(spark).select(who("id")).first()[0].split()
    return [int(pid), int(start)]


def busy(spark, where, label):
    def each(_):
        inworker.note(where, label)
        return [inworker.spin(where, f"{label}.enough") > 0]

    return spark.sparkContext.parallelize(range(1), 1).mapPartitions(each).collect()


def sleeping(spark, where, label):
    def each(_):
        who = inworker.note(where, label)
        inworker.long_sleep()
        return [who]

    return spark.sparkContext.parallelize(range(1), 1).mapPartitions(each).collect()


def slow_upstream(spark, where, label):
    """Four rows in, the last behind the gate: Python has had one and reads for more. The rows are
    wide because the JVM collects 64 KiB before it sends."""

    def each(batches):
        for one in batches:
            inworker.note(where, label)
            yield one

    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "1")
    try:
        rows = spark.range(0, 4, 1, 1).where(f"id < 3 OR {gate(label)}")
        rows = rows.select("id", expr("repeat('x', 200000)").alias("text"))
        return [[row.id, len(row.text)] for row in rows.mapInArrow(each, WIDE).collect()]
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


def slow_consumer(spark, where, label, rows=3, size=0, stops=(0,)):
    """All rows sent at once; the JVM stops in front of each row in `stops`, at gates of its own.

    The function reads its input to the end. One that does not makes Spark's worker leave after
    the task, even where workers are used again."""

    def each(batches):
        inworker.note(where, label)
        for _ in batches:
            pass
        for row in range(rows):
            yield batch(row, 1, size)

    stop = " ".join(f"WHEN id = {row} THEN {gate(f'{label}.{row}')}" for row in stops)
    sent = one_row(spark).mapInArrow(each, WIDE).where(f"CASE {stop} ELSE true END")
    return [[row.id, len(row.text)] for row in sent.collect()]


def deaf(spark, where, label, count=3):
    """Python takes one row of a slow input, gives its rows and stops; the JVM stops at the first
    of them. The worker has signed off, yet the JVM goes on sending it input later."""

    def each(batches):
        inworker.note(where, label)
        next(batches)
        for row in range(count):
            yield batch(row)

    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "1")
    try:
        text = "repeat('x', 200000)"
        rows = spark.range(0, 8, 1, 1).where(f"id < 3 OR {gate(f'{label}.in')}")
        rows = rows.select("id", expr(text).alias("text")).mapInArrow(each, WIDE)
        sent = rows.where(f"CASE WHEN id = 0 THEN {gate(f'{label}.out')} ELSE true END")
        return [row.id for row in sent.collect()]
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


def zipped(spark, where, label):
    """One task with two Python workers: the second is taken, and gets its first byte, if Spark
    writes only when it reads, after the first stream has given its row."""

    def left(_):
        who = inworker.note(where, f"{label}-left")
        inworker.await_file(where, f"{label}.enough")
        yield who

    def right(_):
        yield inworker.note(where, f"{label}-right")

    context = spark.sparkContext
    one = context.parallelize(range(1), 1).mapPartitions(left)
    two = context.parallelize(range(1), 1).mapPartitions(right)
    return one.zip(two).collect()


def early_arrow(spark, where, label, how="block", rows=1, size=ROW, helper=False, unread=0,
                held=False):
    """The JVM takes one row, if held behind the gate, and hangs up; Python then waits for ever, with
    so many rows of 100 kB of its input unread."""

    def each(_):
        inworker.note(where, label)
        if helper:
            inworker.start_helper(where, f"{label}-helper")
        for row in range(rows):
            yield batch(row, 1, size)
        getattr(inworker, how)()

    source = spark.range(0, 1 + unread, 1, 1)
    source = source.select("id", expr("repeat('x', 100000)").alias("text"))
    sent = source.mapInArrow(each, WIDE)
    return [row.id for row in (sent.where(gate(label)) if held else sent).limit(1).collect()]


def early_rdd(spark, where, label, how="block"):
    def each(_):
        inworker.note(where, label)
        yield "x" * ROW
        getattr(inworker, how)()

    rdd = spark.sparkContext.parallelize(range(1), 1).mapPartitions(each)
    return len(rdd._jrdd.first()) >= ROW


def half_shutdown(spark, where, label):
    """The JVM's input breaks, behind the gate, while Python is not looking: the JVM shuts its
    sending side down and goes on waiting for what Python has to say."""

    def each(_):
        inworker.note(where, label)
        inworker.block()
        yield batch(0)

    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "1")
    try:
        rows = spark.range(0, 4, 1, 1).where(f"id < 3 OR {gate(label)}")
        text = "CASE WHEN id < 3 THEN repeat('x', 40000) ELSE raise_error('upstream broke') END"
        return rows.select("id", expr(text).alias("text")).mapInArrow(each, WIDE).count()
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


def lost_helper(spark, where, label):
    """The task ends well and leaves a multiprocessing child behind."""

    def each(_):
        who = inworker.note(where, label)
        inworker.start_helper(where, f"{label}-helper")
        yield who

    return spark.sparkContext.parallelize(range(1), 1).mapPartitions(each).collect()


def mixed_load(spark, where, label, kind, seconds):
    """Jobs of one kind, one after another, until the file `enough` is there or the time is up:
    [jobs, highest attempt number]. The file `label`.done grows by one letter with each job."""
    context = spark.sparkContext
    end = time.monotonic() + seconds
    highest, turn = 0, 0

    def tasks(parts, work):
        def each(part, _):
            work(part)
            yield TaskContext.get().attemptNumber()

        got = context.parallelize(range(parts), parts).mapPartitionsWithIndex(each).collect()
        assert len(got) == parts, got
        return max(got)

    def fan_out():
        attempt = tasks(32, lambda part: time.sleep(0.3 + part % 4 * 0.1))
        time.sleep(1.5)  # all 32 pooled, silent, for longer than the timeout under test
        return attempt

    def short():
        return tasks(2, lambda _: None)

    def spin():
        def work(_):
            until = time.monotonic() + 1.5
            while time.monotonic() < until:
                pass

        return tasks(1, work)

    def sleep():
        return tasks(3, lambda part: time.sleep(2 + part))

    def upstream():
        rows = spark.range(0, 3, 1, 1).where(nap(1500)).mapInArrow(lambda batches: batches, "id long")
        assert rows.count() == 3
        return 0

    def take_slowly(each):
        assert len(one_row(spark).mapInArrow(each, WIDE).where(nap(80)).collect()) == 40
        return 0

    def barrier():
        """All but the last wait for it, in a read from the JVM."""
        parts = 4

        def each(part, _):
            task = BarrierTaskContext.get()
            time.sleep(part)
            task.barrier()
            yield task.attemptNumber()

        rdd = context.parallelize(range(parts), parts).barrier()
        got = rdd.mapPartitionsWithIndex(each).collect()
        assert len(got) == parts, got
        return max(got)

    def rows():
        for row in range(40):
            yield batch(row, 1, 2000)

    def consumer():
        def each(batches):
            for _ in batches:
                pass
            yield from rows()

        return take_slowly(each)

    def quitter():
        """Its function does not read its input to the end, so its worker signs off: it may be
        ended, and all its rows arrive."""
        name = f"{label}-{turn}"

        def each(_):
            inworker.note(where, name)
            yield from rows()

        return take_slowly(each)

    def leak():
        early_arrow(spark, where, f"{label}-{turn}")
        time.sleep(1)
        return 0

    kinds = {"barrier": barrier, "fan_out": fan_out, "short": short, "spin": spin, "sleep": sleep,
             "upstream": upstream, "consumer": consumer, "quitter": quitter, "leak": leak}
    while time.monotonic() < end and not os.path.exists(os.path.join(where, "enough")):
        highest = max(highest, kinds[kind]())
        turn += 1
        with open(os.path.join(where, f"{label}.done"), "a", encoding="ascii") as log:
            log.write("x")
    return [turn, highest]


PACED_MOST = 200  # tasks of one job


def paced(spark, where, label, tasks, seconds):
    """So many short tasks in each of so many seconds; a machine that falls behind is given what is due in jobs of
    PACED_MOST: [tasks, seconds, highest attempt number, workers that they ran on]."""
    context = spark.sparkContext
    done, highest, workers, began = 0, 0, set(), time.monotonic()

    def each(_):
        yield TaskContext.get().attemptNumber(), os.getpid()

    while done < tasks * seconds:
        second = min(int(time.monotonic() - began) + 1, seconds)
        due = min(tasks * second - done, PACED_MOST)
        if due:
            got = context.parallelize(range(due), due).mapPartitions(each).collect()
            done, highest = done + len(got), max(highest, *(attempt for attempt, _ in got))
            workers.update(pid for _, pid in got)
        else:
            time.sleep(max(0.0, began + second - time.monotonic()))
    return [done, time.monotonic() - began, highest, len(workers)]


def blocked(spark, where, label, kinds, seconds):
    """Tasks that are blocked in each of these ways, all at once, again and again until the file
    `enough` is there: [rounds, those that did not come out right, highest attempt number]."""
    context = spark.sparkContext
    rounds, wrong, highest = 0, [], 0

    def each(part, _):
        right = blocking.HEALTHY[kinds[part]](1 + (part + rounds) % seconds)
        yield [kinds[part], bool(right), TaskContext.get().attemptNumber()]

    while not os.path.exists(os.path.join(where, "enough")):
        rows = context.parallelize(range(len(kinds)), len(kinds)).mapPartitionsWithIndex(each)
        for kind, right, attempt in rows.collect():
            highest = max(highest, attempt)
            if not right:
                wrong.append(kind)
        rounds += 1
        with open(os.path.join(where, f"{label}.done"), "a", encoding="ascii") as log:
            log.write("x")
    return [rounds, wrong, highest]


def abandoned(spark, where, label, kind, life):
    """The JVM takes one row and hangs up; Python stays in that way, until the kernel ends it after so many
    seconds."""

    def each(_):
        inworker.note(where, label)
        yield batch(0, 1, ROW)
        blocking.stay(kind, life)

    return [row.id for row in one_row(spark).mapInArrow(each, WIDE).limit(1).collect()]


def battery(spark, where, label, retries=True):
    """A bit of all that Spark does with Python workers; what comes of each, to be compared."""
    context = spark.sparkContext
    cores = context.defaultParallelism

    def squares():
        def each(part, _):
            yield part * part

        return context.parallelize(range(200), 200).mapPartitionsWithIndex(each).sum()

    def udfs():
        plus = udf(lambda number: number + 1, "long")
        rows = spark.range(0, 100, 1, 8).select(plus(plus("id")).alias("n"))
        return rows.selectExpr("sum(n)").first()[0]

    def barrier():
        def each(_):
            task = BarrierTaskContext.get()
            task.barrier()
            yield task.partitionId()

        parts = min(4, cores)
        return sorted(context.parallelize(range(parts), parts).barrier().mapPartitions(each).collect())

    def zips():
        one = context.parallelize(range(40), 8).map(lambda number: number + 1)
        two = context.parallelize(range(40), 8).map(lambda number: number * 2)
        return one.zip(two).map(lambda pair: pair[0] * pair[1]).sum()

    def consumer():
        def each(batches):
            for _ in batches:
                pass
            for row in range(30):
                yield batch(row, 1, 2000)

        return len(one_row(spark).mapInArrow(each, WIDE).where(nap(60)).collect())

    def failing():
        def each(_):
            raise ValueError("meant to fail")

        try:
            context.parallelize(range(2), 2).mapPartitions(each).collect()
        except Exception as error:  # whatever class this release gives it
            return "meant to fail" in str(error)
        return False

    def retried():
        def each(part, _):
            if TaskContext.get().attemptNumber() == 0 and part % 4 == 0:
                raise ValueError("the first attempt is meant to fail")
            yield TaskContext.get().attemptNumber()

        return sum(context.parallelize(range(16), 16).mapPartitionsWithIndex(each).collect())

    parts = [squares, udfs, barrier, zips, consumer, failing] + [retried] * retries
    return {part.__name__: part() for part in parts}


def empty_tasks(spark, where, label, tasks=1000):
    """Tasks that do nothing, each on a Python worker; milliseconds that they took."""
    began = time.monotonic()
    context = spark.sparkContext
    context.parallelize(range(tasks), tasks).mapPartitions(lambda rows: rows).count()
    return int((time.monotonic() - began) * 1000)


def byzer(spark, where, label):
    """A job of this name that the stand-in for Byzer's JobManager runs: the thread has nothing to do."""
    jvm = spark.sparkContext._jvm
    jvm.tech.mlsql.job.JobManager.run(label, jvm.java.lang.Thread())


JOBS = {job.__name__: job for job in (
    pooled, pooled_udf, busy, sleeping, slow_upstream, slow_consumer, zipped, early_arrow,
    early_rdd, half_shutdown, lost_helper, mixed_load, deaf, battery, empty_tasks, blocked,
    paced, abandoned, byzer)}
