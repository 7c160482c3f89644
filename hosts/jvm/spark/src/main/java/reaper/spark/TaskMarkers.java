// SPDX-License-Identifier: Apache-2.0
package reaper.spark;

import java.lang.reflect.InaccessibleObjectException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskFailedReason;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import reaper.markers.Log;
import reaper.markers.Snapshot;
import reaper.markers.Task;

/**
 * Brackets every task of an executor by `begin` and `end`, and lists its pool of Python workers.
 *
 * Spark calls onTaskStart before a task's own code, so before it can take a worker, and the two
 * others after its completion listeners, so after its workers are pooled or closed; all in the
 * task's thread. The context of the task is gone by then, so the thread remembers the task.
 *
 * A task is named by its attempt id, as the Python side names it. These ids begin at 0 again with
 * each SparkContext, but an ended id stays ended for reaper, which would then not see such a task
 * run. So the second context of a JVM no longer promises tasks=all: then no proof rests on ids.
 * What rests on lists of the pool does not need them.
 */
final class TaskMarkers implements ExecutorPlugin {
    private static final String CLASS = "pyspark";
    private static final long POOL_TIMEOUT_MS = 60_000; // IDLE_WORKER_TIMEOUT_NS, in 3.4 to 4.x

    private final ThreadLocal<Long> current = new ThreadLocal<>();
    private final Map<Long, Task> running = new ConcurrentHashMap<>();
    private volatile Log log;
    private WorkerPools pools;

    @Override
    public void init(PluginContext context, Map<String, String> extraConf) {
        try {
            log = open(context.conf());
        } catch (RuntimeException | LinkageError e) {
            say("no markers", e);
        }
    }

    private Log open(SparkConf conf) {
        Log.Builder b = Log.of(CLASS).poolTimeout(POOL_TIMEOUT_MS)
            .app(conf.get("spark.app.id", conf.get("spark.app.name", ""))); // local mode: no id yet

        if (Log.opened(CLASS) == 0)
            b.bracketsAll();
        else
            say("a second SparkContext in this JVM: no proof by `host idle` from here on", null);
        try {
            pools = new WorkerPools(running);
            b.reports(this::snapshot);
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            say("the pool of Python workers cannot be read, so only tasks are reported", e);
        }
        return b.open();
    }

    /** Called by the log's own thread. */
    private Snapshot snapshot() {
        try {
            return pools.snapshot();
        } catch (ReflectiveOperationException | ClassCastException | InaccessibleObjectException
            | LinkageError e) {
            say("the pool of Python workers can no longer be read, so only tasks are reported", e);
            log.reportNoMore();
            return null;
        }
    }

    @Override
    public void onTaskStart() {
        TaskContext context = TaskContext.get();
        Log l = log;

        if (l == null || context == null)
            return;
        long id = context.taskAttemptId();
        running.put(id, l.begin(Long.toString(id), null));
        current.set(id);
    }

    @Override
    public void onTaskSucceeded() {
        end("ok");
    }

    @Override
    public void onTaskFailed(TaskFailedReason reason) {
        end(reason.getClass().getSimpleName().startsWith("TaskKilled") ? "killed" : "failed");
    }

    /** A task that failed before it started was never begun. */
    private void end(String outcome) {
        Long id = current.get();

        if (id == null)
            return;
        current.remove();
        running.remove(id).outcome(outcome).close();
    }

    @Override
    public void shutdown() {
        Log l = log;

        log = null;
        if (l != null)
            l.close();
    }

    private static void say(String what, Throwable why) {
        System.err.println("reaper-spark: " + what + (why == null ? "" : " (" + why + ")"));
    }
}
