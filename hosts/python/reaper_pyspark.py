# SPDX-License-Identifier: Apache-2.0
"""Spark's own Python daemon, which also writes a marker log.

    --conf spark.python.daemon.module=reaper_pyspark

with this module where the daemon finds it: PYTHONPATH of the JVM (local mode) or
`spark.executorEnv.PYTHONPATH` (cluster). Its records say which worker has which task (`begin`) and
when that worker has sent its last byte (`done`); only the JVM can say that a task has ended. The name
of a worker, as `ps -o comm` shows it, becomes that of its task. Spark 3.4 to 4.x.
"""

import reaper_markers
from pyspark import daemon, taskcontext

LAST_FIELD = "_localProperties"  # of a task's context: Spark sets it when all others are set

_log = reaper_markers.Log("daemon")
_spark_setattr = taskcontext.TaskContext.__setattr__


def _begin(context):
    attempt = getattr(context, "_taskAttemptId", None)
    if attempt is None:
        return
    _log.write("begin", task=attempt, worker=reaper_markers.identity())
    reaper_markers.name_thread("python:t%d" % attempt)


def _setattr(context, name, value):
    _spark_setattr(context, name, value)
    if name == LAST_FIELD:
        try:
            _begin(context)
        except Exception:  # pylint: disable=broad-except
            _log.failures += 1


def main():
    _log.open()  # by the daemon, whose log it is; its workers inherit it
    taskcontext.TaskContext.__setattr__ = _setattr
    daemon.worker = reaper_markers.telling_when_done(_log, daemon.worker)
    daemon.manager()


if __name__ == "__main__":
    main()
