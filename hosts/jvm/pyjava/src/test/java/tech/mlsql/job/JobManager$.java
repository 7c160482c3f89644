// SPDX-License-Identifier: Apache-2.0
package tech.mlsql.job;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * A stand-in for the engine's object JobManager, which returns a Scala type where this has a
 * List.
 */
public final class JobManager$ {
    public static final JobManager$ MODULE$ = new JobManager$();

    public final List<JobListener> listeners = new CopyOnWriteArrayList<>();

    private JobManager$() {
    }

    public List<JobListener> addJobListener(JobListener listener) {
        listeners.add(listener);
        return listeners;
    }

    void run(String groupId, Runnable job) {
        try {
            listeners.forEach(l -> l.onJobStarted(new JobListener.JobStartedEvent(groupId)));
            job.run();
        } finally {
            listeners.forEach(l -> l.onJobFinished(new JobListener.JobFinishedEvent(groupId)));
        }
    }
}
