// SPDX-License-Identifier: Apache-2.0
package tech.mlsql.job;

/** The engine's, as its class file has it; to compile against. */
public abstract class JobListener {
    /** In Scala: a class in the companion object. */
    public static class JobStartedEvent {
        private final String groupId;

        public JobStartedEvent(String groupId) {
            this.groupId = groupId;
        }

        public String groupId() {
            return groupId;
        }
    }

    /** In Scala: a class in the companion object. */
    public static class JobFinishedEvent {
        private final String groupId;

        public JobFinishedEvent(String groupId) {
            this.groupId = groupId;
        }

        public String groupId() {
            return groupId;
        }
    }

    public abstract void onJobStarted(JobStartedEvent event);

    public abstract void onJobFinished(JobFinishedEvent event);
}
