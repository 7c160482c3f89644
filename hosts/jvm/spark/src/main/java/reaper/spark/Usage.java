// SPDX-License-Identifier: Apache-2.0
package reaper.spark;

import java.util.HashSet;
import java.util.Set;

/**
 * What is remembered of a worker from one list to the next, and whether it is to be called leased.
 *
 * A worker with an open connection that is not idle is leased, unless it is certain that no
 * running task uses it. (One whose connection Spark closed is neither pooled nor leased: it can
 * serve nobody.)
 *
 * `PythonRunner.runningMonitorThreads` has a pair (worker, task) for each worker of a running
 * task. The pair comes right after the worker was taken, in the same method
 * (`BasePythonRunner.compute`), and before a byte is sent in 4.x; between the two nothing waits.
 * It goes up to 2 s after the task has completed, or when a cancelled task's worker is killed.
 * But a pair that is not there proves little: with spark.python.worker.reuse=false there are none
 * at all, planner workers have none, and a thread may be slow between taking and saying so. So a
 * worker counts as nobody's only if
 * <ul>
 * <li>a pair for it was seen since it was last idle, so that pairs are kept and it served a task;
 * <li>no pair of it names a task that runs, as onTaskStart and its counterparts tell;
 * <li>every task that ran when it was first seen so has ended. Whoever uses it at that moment is
 *     one of them; who takes it later takes it from the idle ones and gets a pair.
 * </ul>
 * and the reader wants to see that in two lists, ten seconds apart. A leak that is missed is the
 * lesser harm.
 */
final class Usage {
    String name; // null: not looked up yet
    Long bound; // the last task that it was bound to

    private boolean served; // a pair was seen since it was last idle
    private Set<Long> suspects; // tasks that may still use it; null: one does, or it is idle
    private Long task; // one that has it, as its pair says

    /** It was found in the pool. */
    void isIdle() {
        served = false;
        suspects = null;
        task = null;
    }

    /**
     * It was found outside of the pool.
     *
     * @param pairs the tasks of its monitor threads.
     * @param running the tasks that ran after it was found.
     */
    boolean mayBeUsed(Set<Long> pairs, Set<Long> running) {
        served |= !pairs.isEmpty();
        task = pairs.stream().filter(running::contains).findFirst().orElse(null);
        if (task != null)
            suspects = null;
        else if (suspects == null)
            suspects = new HashSet<>(running);
        else
            suspects.retainAll(running);
        return task != null || !served || !suspects.isEmpty();
    }

    /** The task that has it, of the last call; null: not known. */
    Long task() {
        return task;
    }
}
