// SPDX-License-Identifier: Apache-2.0
package reaper.markers;

import java.util.ArrayList;
import java.util.List;

/**
 * The whole pool and all leases of a class at one moment, read under the one lock that every
 * change of both takes. What a running task may still use has to be in it: a worker that two such
 * lists do not name may be ended.
 */
public final class Snapshot {
    private final List<Record> records = new ArrayList<>();

    /** Adds a worker, PID:START, that waits in the pool. */
    public Snapshot pooled(String worker) {
        records.add(new Record("pooled").with("worker", checked(worker)));
        return this;
    }

    /** Adds a worker that a task has taken; the task may be null. */
    public Snapshot leased(String worker, String task) {
        records.add(new Record("leased").with("worker", checked(worker)).name("task", task));
        return this;
    }

    /** A list that leaves one out is worse than none. */
    private static String checked(String worker) {
        if (!Record.isWorker(worker))
            throw new IllegalArgumentException("a worker that is not PID:START: " + worker);
        return worker;
    }

    List<Record> records() {
        return records;
    }
}
