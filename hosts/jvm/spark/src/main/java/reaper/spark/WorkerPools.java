// SPDX-License-Identifier: Apache-2.0
package reaper.spark;

import java.lang.reflect.Field;
import java.net.Socket;
import java.nio.channels.Channel;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import org.apache.spark.SparkEnv;
import reaper.markers.ByName;
import reaper.markers.Log;
import reaper.markers.Snapshot;
import reaper.markers.Task;

/**
 * Spark's pools of Python workers, read by reflection: names and rules of 3.4.4, 3.5.7, 4.0.1,
 * 4.1.1, 4.2.0 (sources) and 3.5.9, 4.3.0 (class files, and run).
 *
 * <h2>What is locked</h2>
 *
 * SparkEnv keeps a map of factories, changed under SparkEnv's monitor. Each factory has one
 * daemon and one pool; `idleWorkers` and `daemonWorkers` change under the factory's monitor, and
 * no worker moves from one factory to another. So a list is right if the factories are copied
 * under SparkEnv's monitor, and then each factory's two collections under its own. No monitor is
 * held while another is waited for, and under one only references are copied: no file is read,
 * nothing is written.
 *
 * A fork that is stuck holds both for a minute (4.x) or for ever (3.x). Then this waits too, by
 * itself: it has a thread of its own, and there is no beat.
 *
 * Who is leased: see {@link Usage}.
 */
final class WorkerPools {
    private static final String PACKAGE = "org.apache.spark.api.python.";

    /** A worker as its factory has it: a Socket, or a PythonWorker (4.x). */
    private static final class Found {
        private final Object worker;
        private final Object process;
        private final boolean idle;

        Found(Object worker, Object process, boolean idle) {
            this.worker = worker;
            this.process = process;
            this.idle = idle;
        }
    }

    private final Map<Long, Task> running;
    private final Field factories;
    private final Field idleWorkers;
    private final Field daemonWorkers;
    private final Object runner;
    // The keys are Spark's own objects, weak there too.
    private final Map<Object, Usage> usages = new WeakHashMap<>();

    /** @param running the tasks that run, by attempt id; changed by others all the time. */
    WorkerPools(Map<Long, Task> running) throws ReflectiveOperationException {
        Class<?> factory = ByName.type(PACKAGE + "PythonWorkerFactory");

        this.running = running;
        factories = ByName.field(ByName.type("org.apache.spark.SparkEnv"), "pythonWorkers");
        idleWorkers = ByName.field(factory, "idleWorkers");
        daemonWorkers = ByName.field(factory, "daemonWorkers");
        runner = ByName.type(PACKAGE + "PythonRunner$").getField("MODULE$").get(null);
        pairs(); // so that what is missing is known now
    }

    /** Lists all pools; null: there is no SparkEnv. */
    Snapshot snapshot() throws ReflectiveOperationException {
        SparkEnv env = SparkEnv.get();
        Snapshot snapshot = new Snapshot();
        List<Found> found = new ArrayList<>();

        if (env == null)
            return null;
        for (Object factory : factoriesOf(env))
            found.addAll(workersOf(factory));
        // In this order: who uses a worker that was found just now has its pair by now, and began.
        Map<Object, Set<Long>> pairs = pairs();
        Set<Long> tasks = new HashSet<>(running.keySet());
        for (Found f : found)
            if (isOpen(f.worker))
                add(snapshot, f, pairs.getOrDefault(f.worker, Set.of()), tasks);
        return snapshot;
    }

    private Collection<Object> factoriesOf(SparkEnv env) throws ReflectiveOperationException {
        synchronized (env) {
            return ByName.values(factories.get(env));
        }
    }

    private List<Found> workersOf(Object factory) throws ReflectiveOperationException {
        List<Found> found = new ArrayList<>();
        List<Object> all, idle;

        synchronized (factory) {
            all = ByName.list(daemonWorkers.get(factory));
            idle = ByName.list(idleWorkers.get(factory));
        }
        Set<Object> isIdle = new HashSet<>(idle);
        for (Object pair : all) {
            Object worker = ByName.first(pair);
            found.add(new Found(worker, ByName.second(pair), isIdle.contains(worker)));
        }
        return found;
    }

    /** The tasks of each worker that has a monitor thread. */
    private Map<Object, Set<Long>> pairs() throws ReflectiveOperationException {
        Map<Object, Set<Long>> pairs = new HashMap<>();

        for (Object pair : (Set<?>) ByName.call(runner, "runningMonitorThreads"))
            pairs.computeIfAbsent(ByName.first(pair), w -> new HashSet<>())
                .add((Long) ByName.second(pair));
        return pairs;
    }

    private static boolean isOpen(Object worker) throws ReflectiveOperationException {
        if (worker instanceof Socket)
            return !((Socket) worker).isClosed();
        return ((Channel) ByName.call(worker, "channel")).isOpen();
    }

    private static long pidOf(Object process) throws ReflectiveOperationException {
        if (process instanceof Number)
            return ((Number) process).longValue();
        if (process instanceof ProcessHandle)
            return ((ProcessHandle) process).pid();
        return ((Number) ByName.call(process, "pid")).longValue();
    }

    private void add(Snapshot to, Found f, Set<Long> pairs, Set<Long> tasks)
        throws ReflectiveOperationException {
        Usage u = usages.computeIfAbsent(f.worker, w -> new Usage());

        if (u.name == null)
            u.name = Log.worker(pidOf(f.process));
        if (u.name == null)
            return; // it has exited
        if (f.idle) {
            u.isIdle();
            to.pooled(u.name);
        } else if (u.mayBeUsed(pairs, tasks)) {
            to.leased(u.name, u.task() == null ? null : u.task().toString());
            bind(u);
        }
    }

    /** Binds a worker to a task that has it, where the Python side does not. */
    private void bind(Usage u) {
        Task task = u.task() == null || u.task().equals(u.bound) ? null : running.get(u.task());

        if (task == null)
            return;
        u.bound = u.task();
        task.bind(u.name);
    }
}
