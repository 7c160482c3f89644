# SPDX-License-Identifier: Apache-2.0
"""Deletes, renames, truncates and rewrites a marker log and a configuration as fast as it can.

    replace.py LOG CONFIG IDENTITY-RECORD WORKER SECONDS

Ends with one whole log in place whose last tasks are all ended, and prints how often it replaced each.
Every task has a name of its own: what is read twice, or half, shows. All are of one job, whose end the last
log tells: of a log that was replaced before its `end` was read, a task stays open for whoever reads on.
"""

import itertools
import os
import sys
import time

log, config, identity, worker, seconds = sys.argv[1:6]
end = time.monotonic() + float(seconds)
serial = itertools.count(1)
text = open(config, encoding="ascii").read()
SAFE = 0o644


def record(words):
    return f"reaper/1 {int(time.time() * 1000)} {words}\n"


def tasks(count):
    """Records of so many tasks, begun, bound and ended."""
    lines = []
    for _ in range(count):
        name = f"t{next(serial)}"
        lines += [record(f"begin job=storm task={name} worker={worker}"), record(f"end task={name}")]
    return lines


def write(path, chunks, mode=os.O_CREAT | os.O_TRUNC):
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | mode, SAFE)
    for chunk in chunks:
        os.write(fd, chunk.encode("ascii"))
    os.close(fd)


def whole(count=3):
    return [record(identity), *tasks(count)]


def renamed(*more):
    write(log + ".new", ["".join([*whole(), *more])])
    os.rename(log + ".new", log)


def deleted():
    os.unlink(log)
    write(log, whole())  # a record at a time


def truncated():
    write(log, whole(1))


def appended():
    write(log, tasks(2), 0)


def torn():
    """Half a record, then its other half: a whole one in the end."""
    line = tasks(1)
    half = len(line[0]) // 2
    write(log, [line[0][:half], line[0][half:], line[1]], 0)


def linked():
    os.unlink(log)
    os.symlink("/dev/zero", log)
    os.unlink(log)
    write(log, whole())


def reconfigured():
    write(config + ".new", [text])
    os.rename(config + ".new", config)


def broken():
    os.unlink(config)
    write(config, ["[reaper]\nno_such_key = 1\n"])
    os.unlink(config)
    write(config, [text])


write(log, whole())
done = {}
for step in itertools.cycle((renamed, deleted, appended, truncated, torn, reconfigured, linked, broken)):
    step()
    done[step.__name__] = done.get(step.__name__, 0) + 1
    if time.monotonic() > end:
        break
reconfigured()
renamed(record("end job=storm"))
print(sum(done.values()), next(serial) - 1, flush=True)
