// SPDX-License-Identifier: Apache-2.0
package tech.mlsql.job;

/** A stand-in for the forwarder class of the engine's object JobManager. */
public final class JobManager {
    private JobManager() {
    }

    /** Runs a job as the engine does: its listeners hear of the end in a finally. */
    public static void run(String groupId, Runnable job) {
        JobManager$.MODULE$.run(groupId, job);
    }
}
