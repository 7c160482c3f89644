// SPDX-License-Identifier: Apache-2.0
package reaper.pyjava;

import java.lang.ref.WeakReference;
import reaper.markers.Task;

/**
 * A task, or a job, from its begin to its end.
 *
 * When something happened is told by thread ids: the JVM gives them in rising order, and each
 * context of pyjava starts a thread. So a context lies in a bracket if its thread's id lies
 * between the two ids that were taken when the bracket began and ended, however short it was.
 */
final class Bracket {
    final String task;
    final String job;
    private final Task marker;
    private final WeakReference<Object> context;
    private final long beginId = nextThreadId();
    private volatile long endId = Long.MAX_VALUE;
    private volatile long endedNs;

    Bracket(String task, String job, Object context, Task marker) {
        this.task = task;
        this.job = job;
        this.context = new WeakReference<>(context);
        this.marker = marker;
    }

    private static long nextThreadId() {
        return new Thread(null, () -> { }, "reaper-id", 0, false).getId();
    }

    void end() {
        endedNs = System.nanoTime();
        endId = nextThreadId();
    }

    boolean isRunning() {
        return endId == Long.MAX_VALUE;
    }

    /** How long ago it ended; only of one that does not run. */
    long sinceEndNs() {
        return System.nanoTime() - endedNs;
    }

    boolean ranWhenStarted(Thread thread) {
        return beginId < thread.getId() && thread.getId() < endId;
    }

    boolean isOf(Object someContext) {
        return context.get() == someContext;
    }

    Task marker() {
        return marker;
    }
}
