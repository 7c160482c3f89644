# SPDX-License-Identifier: Apache-2.0
"""Marker logs: what a program tells reaper about its own work (reaper-markers(5)).

    import reaper_markers

    with reaper_markers.task("17"):
        work()
    reaper_markers.done()

Written is one line with one write(2) per record, to a file that others can read and nobody else can
write. Nothing here raises, and nothing waits: a program must not suffer because of its log. What
could not be written is counted (`failures`) and said once on stderr; a program's own log is then
emptied and begun again, for without a `begin` that is missing the others would mislead.

The directory is REAPER_MARKER_DIR; else /run/reaper/markers where that exists; else, for a user other
than root, $XDG_RUNTIME_DIR/reaper/markers or ~/.local/state/reaper/run/markers, as reaper's own
defaults are. Where it belongs to somebody else or others may write it, as in /tmp, the log goes to a
directory of this user's own in it: reaper believes no other.
"""

import contextlib
import fcntl
import functools
import hashlib
import itertools
import os
import stat
import sys
import threading
import time
import weakref

RECORD_MAX = 512  # bytes of one record; reaper skips a longer one
SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/@+-")
FD_LEAST = 64  # where the descriptors of logs begin
RETRY_S = 10  # a log that could not be opened is not tried again for so long
NAME_MAX = 64  # bytes of a name, decoded
NAMES = frozenset(("task", "job", "class", "app", "outcome"))
NAMES_KEPT = 10_000  # of tasks that this program had
SYSTEM_DIR = "/run/reaper/markers"


def encode(value):
    """A value as a record holds it: percent-encoded but for SAFE."""
    if isinstance(value, int):
        return str(value)
    return "".join(chr(byte) if byte in SAFE else "%%%02X" % byte
                   for byte in str(value).encode("utf-8", "surrogateescape"))


def fit(value):
    """A name that reaper takes in the place of one that it does not: of names that are cut, two could
    become one. reaper-markers.jar has the same."""
    raw = str(value).encode("utf-8", "surrogateescape")
    if 0 < len(raw) <= NAME_MAX and b"\0" not in raw:
        return value
    return "sha256:" + hashlib.sha256(raw).hexdigest()[:32].upper()


def _read_identity():
    with open("/proc/self/stat", "rb") as file:
        text = file.read()
    pid, fields = text.split(b" ", 1)[0], text[text.rindex(b")") + 2:].split()
    return "%d:%d" % (int(pid), int(fields[19]))


_own = (0, None)  # the process that asked, and its identity


def identity():
    """This process as records name it: PID:START, field 22 of its stat. Read once per process."""
    global _own  # pylint: disable=global-statement
    if _own[0] != os.getpid():
        _own = (os.getpid(), _read_identity())
    return _own[1]


def _forget_identity():
    global _own  # pylint: disable=global-statement
    _own = (0, None)


_forgetful = weakref.WeakSet()  # what a forked child has to forget
_has_forked = False


def _after_fork_in_child():
    # It can have the number of a process that died before it, and of which its memory still knows.
    _forget_identity()
    for one in list(_forgetful):
        one.forget()


def _after_fork_in_parent():
    global _has_forked  # pylint: disable=global-statement
    _has_forked = True


os.register_at_fork(after_in_child=_after_fork_in_child, after_in_parent=_after_fork_in_parent)


def boot_id():
    with open("/proc/sys/kernel/random/boot_id", "r", encoding="ascii") as file:
        return file.read().strip()


def pid_namespace():
    return os.stat("/proc/self/ns/pid").st_ino


def default_dir():
    """Where logs go if nobody says (see above)."""
    named = os.environ.get("REAPER_MARKER_DIR")
    if named:
        return named
    if os.geteuid() == 0 or os.path.isdir(SYSTEM_DIR):
        return SYSTEM_DIR
    run = os.environ.get("XDG_RUNTIME_DIR")
    return os.path.join(run or os.path.expanduser("~/.local/state/reaper/run"),
                        *(["reaper", "markers"] if run else ["markers"]))


def own_dir(folder):
    """The folder, or a directory of this user's own in it where others may write it."""
    os.makedirs(folder, mode=0o755, exist_ok=True)
    found = os.stat(folder)
    if found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return folder
    mine = os.path.join(folder, "user-%d" % os.geteuid())
    with contextlib.suppress(FileExistsError):
        os.mkdir(mine, 0o755)
        os.chmod(mine, 0o755)  # whatever the umask is
    return mine


class Log:
    """One log of one process and of what it forks: `kind` is `host` or `daemon`.

    `promises` are the members of its first record beside who writes (for a host: class, pool, tasks,
    pool_timeout, app). It is opened by open(), or by the first record of the process that made it; what
    that process forks writes to the same log, if it was open then. `again` gives what a log that is begun
    again has to hold: (event, fields) of each task that runs. Without it a log that lost a record goes on.
    """

    def __init__(self, kind, folder=None, again=None, **promises):
        self.kind = kind
        self.folder = folder
        self.promises = promises
        self.failures = 0
        self.continued = False  # it was there when it was opened: this process had another program
        self._again = again
        self._emptied = False
        self._fd = None
        self._maker = os.getpid()
        self._again_at = 0.0
        self.forget()
        _forgetful.add(self)

    def forget(self):
        """In a forked child: who had the lock is not there."""
        self._lock = threading.RLock()

    def open(self):
        """Open it now, before a fork, say; True if it is open."""
        try:
            with self._lock:
                if self._fd is None:
                    self._fd = self._open()
            return True
        except Exception as error:  # pylint: disable=broad-except
            self._complain(error)
            return False

    def ready(self):
        """Open it if it is not, and may be by now; True if it is open."""
        if self._fd is not None:
            return True
        if not self._may_open():
            self.failures += 1
            return False
        if not self.open():
            self._again_at = time.monotonic() + RETRY_S
            return False
        return True

    def write(self, event, **fields):
        """Append one record; True if it is written."""
        if not self.ready():
            return False
        try:
            if self._emptied:
                self._begin_again()
            self._put(self._fd, event, fields)
            return True
        except Exception as error:  # pylint: disable=broad-except
            self._complain(error)
            self._empty()
            return False

    def _empty(self):
        """What is in it misleads without the record that was lost. That takes no room on the disk."""
        if self._again is None:
            return
        try:
            with self._lock:
                self._emptied = True
                os.ftruncate(self._fd, 0)
        except Exception as error:  # pylint: disable=broad-except
            self._complain(error)

    def _begin_again(self):
        """What children had in it nobody can say again: then it stays without a beginning, and proves nothing."""
        with self._lock:
            if not self._emptied or not self.is_own() or _has_forked:
                return
            os.ftruncate(self._fd, 0)
            self._begin(self._fd)
            self._emptied = False

    def _begin(self, fd):
        """What an empty log has to hold first: all of it, or nothing."""
        first = {self.kind: identity(), "boot": boot_id(), "pidns": pid_namespace()}
        try:
            self._put(fd, self.kind, {**first, **self.promises})
            for event, fields in self._again() if self._again else ():
                self._put(fd, event, fields)
        except BaseException:
            os.ftruncate(fd, 0)
            raise

    def is_own(self):
        """Whether it is this process' log, and not that of one that forked it."""
        return os.getpid() == self._maker

    def is_open(self):
        return self._fd is not None

    def _may_open(self):
        return self.is_own() and time.monotonic() >= self._again_at

    def _open(self):
        who = identity()
        folder = own_dir(self.folder or default_dir())
        path = os.path.join(folder, "%s-%s.log" % (self.kind, who.replace(":", "-")))
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        low = os.open(path, flags, 0o644)
        try:  # out of the way: what a worker has at which descriptor stays as it was
            fd = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, FD_LEAST)
        finally:
            os.close(low)
        try:
            os.fchmod(fd, 0o644)
            self.continued = os.fstat(fd).st_size > 0
            if not self.continued:
                self._begin(fd)
            elif self._again and self._again():
                self._emptied = True  # what runs has been begun, and is not in it
        except BaseException:
            os.close(fd)
            raise
        return fd

    @staticmethod
    def _put(fd, event, fields):
        words = ["reaper/1", str(int(time.time() * 1000)), event]
        words += ["%s=%s" % (key, encode(fit(value) if key in NAMES else value))
                  for key, value in fields.items() if value is not None]
        record = (" ".join(words) + "\n").encode("ascii")
        if len(record) > RECORD_MAX:
            raise ValueError("a record of %d bytes; at most %d" % (len(record), RECORD_MAX))
        if os.write(fd, record) != len(record):
            raise OSError("a record was cut: is the disk full?")

    def _complain(self, error):
        self.failures += 1
        if self.failures == 1:
            with contextlib.suppress(Exception):
                print("reaper_markers: %s: going on without a log" % error, file=sys.stderr)

    def close(self):
        with self._lock, contextlib.suppress(OSError):
            if self._fd is not None:
                os.close(self._fd)
            self._fd = None


class Program:
    """This program as the host of itself: it has no pool, and brackets every task that it runs.

    For reaper a task that has ended stays ended, so a name that comes again is written as another. What a
    forked child begins are tasks of the child, in the log of its parent.
    """

    def __init__(self, folder=None, name="single"):
        self.log = Log("host", folder, self._running, **{"class": name, "pool": "none", "tasks": "all"})
        self._used = set()
        self._made_ms = int(time.time() * 1000)
        self.forget()
        _forgetful.add(self)

    def forget(self):
        """In a forked child: what its parent runs it does not."""
        self._lock = threading.RLock()
        self._open = {}  # by name of a task: (id, job) of each that runs
        self._ending = []  # (id, job) of which nobody knows yet that it has ended
        self._numbers = itertools.count(2)

    def begin(self, task, job=None):
        ready = self.log.ready()
        with self._lock:
            one = (_quietly(self._new_id, str(task)) or str(task), job)
            self._open.setdefault(str(task), []).append(one)
        if not ready and not self.log.is_open():
            return False
        return self.log.write("begin", task=one[0], job=job, worker=_quietly(identity))

    def end(self, task, outcome="ok"):
        with self._lock:
            running = self._open.get(str(task))
            if not running:
                return False
            one = running.pop()
            if not running:
                del self._open[str(task)]
            self._ending.append(one)
        written = self.log.write("end", task=one[0], outcome=outcome)
        with self._lock:
            self._ending.remove(one)
        return written

    def done(self, code=0):
        """All that it has to do is done: whatever it still waits for, nobody waits for it."""
        with self._lock:
            still = [task for task, running in self._open.items() for _ in running]
        for task in still:
            self.end(task)
        return self.log.write("done", worker=_quietly(identity), code=code)

    def _new_id(self, task):
        """Its name, if no task had it yet; else one that none ever had."""
        ident = fit(task)
        if self._had_others():
            return "%s/%s-%d" % (ident, self._who(), next(self._numbers))
        while ident in self._used:
            ident = "%s/%d" % (fit(task), next(self._numbers))
        self._used.add(ident)
        return ident

    def _had_others(self):
        """Whether there may have been tasks in this log of whose names nothing is known here."""
        return self.log.continued or not self.log.is_own() or len(self._used) >= NAMES_KEPT

    def _who(self):
        """Who numbers: no other process has that, and no program that this process was before."""
        return str(self._made_ms) if self.log.is_own() else identity()

    def _running(self):
        """What a log that is begun again has to say."""
        with self._lock:
            still = [*self._ending, *(one for running in self._open.values() for one in running)]
        return [("begin", {"task": ident, "job": job, "worker": _quietly(identity)})
                for ident, job in still]


def _quietly(function, *args):
    try:
        return function(*args)
    except Exception:  # pylint: disable=broad-except
        return None


_program = None


def program():
    """The Program of this process, made when it is first asked for."""
    global _program  # pylint: disable=global-statement
    if _program is None:
        _program = Program()
    return _program


@contextlib.contextmanager
def task(name, job=None):
    """Bracket one task; an exception ends it as failed and goes on its way."""
    program().begin(name, job)
    try:
        yield
    except BaseException:
        program().end(name, "failed")
        raise
    program().end(name)


def done(code=0):
    """Say that this program's work is done."""
    return program().done(code)


def name_thread(text):
    """Show a text as this thread's name, 15 bytes of it, in `ps -o comm` and `top -H`."""
    with contextlib.suppress(OSError):
        fd = os.open("/proc/self/task/%d/comm" % threading.get_native_id(), os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, text.encode("ascii", "replace")[:15])
        finally:
            os.close(fd)


def telling_when_done(log, worker):
    """A daemon's function for one task of a forked worker, which also says that this is done.

    What the function returns or raises is not changed. The code of `done` is what it returned, none
    where it raised.
    """
    @functools.wraps(worker)
    def telling(*args):
        code = None
        try:
            code = worker(*args)
            return code
        finally:
            try:
                log.write("done", worker=identity(), code=code)
                name_thread("python:idle")
            except Exception:  # pylint: disable=broad-except
                log.failures += 1

    return telling
