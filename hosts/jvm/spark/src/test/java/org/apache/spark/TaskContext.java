// SPDX-License-Identifier: Apache-2.0
package org.apache.spark;

/** A stand-in: the task of this thread. */
public class TaskContext {
    private static final ThreadLocal<TaskContext> CURRENT = new ThreadLocal<>();

    private final long id;

    public TaskContext(long id) {
        this.id = id;
    }

    public static void set(TaskContext context) {
        CURRENT.set(context);
    }

    public static TaskContext get() {
        return CURRENT.get();
    }

    public long taskAttemptId() {
        return id;
    }
}
