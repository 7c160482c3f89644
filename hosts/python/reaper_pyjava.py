# SPDX-License-Identifier: Apache-2.0
"""pyjava's own Python daemon (Byzer's), which also writes a marker log.

    python.daemon.module=reaper_pyjava    in the conf of the first task of an environment

with this module on the PYTHONPATH of the JVM. Its records say which worker has which task of which
job (`begin`) and when that worker has sent its last byte (`done`, with a code that is not 0 where
it will serve no other task); only the JVM can say that a task has ended. The name of a worker, as
`ps -o comm` shows it, becomes that of its task. pyjava 0.6.
"""

import reaper_markers
from pyjava import daemon
from pyjava import worker as protocol

JOB_KEYS = ("groupId", "GROUP_ID")  # of a task's conf: the job of Byzer that it belongs to

_log = reaper_markers.Log("daemon")
_pyjava_context = protocol.PythonContext


def _begin(task, _rows, conf):
    job = next((conf[key] for key in JOB_KEYS if conf.get(key)), None)
    _log.write("begin", task=task, job=job, worker=reaper_markers.identity())
    reaper_markers.name_thread("python:t%s" % task)


def _context(*args, **more):
    """A task's context: pyjava makes it when it has the conf, and then runs the user's code."""
    try:
        _begin(*args, **more)
    except Exception:  # pylint: disable=broad-except
        _log.failures += 1
    return _pyjava_context(*args, **more)


def main():
    _log.open()  # by the daemon, whose log it is; its workers inherit it
    protocol.PythonContext = _context
    daemon.worker = reaper_markers.telling_when_done(_log, daemon.worker)
    daemon.manager()


if __name__ == "__main__":
    main()
