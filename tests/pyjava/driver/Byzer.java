// SPDX-License-Identifier: Apache-2.0
import reaper.pyjava.ByzerAdapter;
import tech.mlsql.job.JobListener;
import tech.mlsql.job.JobManager$;

/**
 * What the driver tells instead of the observer, to be a Byzer engine: it starts the adapter for one,
 * and each task is a job of a stand-in for the engine's JobManager, whose listeners hear of the end
 * in a `finally`, as the driver does it.
 */
public final class Byzer {
    private Byzer() {
    }

    public static void start() {
        if (!ByzerAdapter.register()) {
            throw new IllegalStateException("the adapter does not listen to the JobManager");
        }
    }

    public static void begin(String task, String job) {
        JobManager$.MODULE$.listeners.forEach(
                one -> one.onJobStarted(new JobListener.JobStartedEvent(job)));
    }

    public static void end(String task) {
        JobManager$.MODULE$.listeners.forEach(
                one -> one.onJobFinished(new JobListener.JobFinishedEvent("job-" + task)));
    }
}
