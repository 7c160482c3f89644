// SPDX-License-Identifier: Apache-2.0
package reaper.pyjava;

import java.lang.reflect.Method;
import reaper.markers.ByName;
import tech.mlsql.job.JobListener;

/**
 * Tells of Byzer's jobs: its JobManager calls its listeners in a `finally` of each job.
 *
 * Not every context of such an engine belongs to a job (predict UDFs and Python controllers do
 * not), so only one that names its job is ever taken as given up.
 */
public final class ByzerAdapter {
    private static final String MANAGER = "tech.mlsql.job.JobManager$";
    private static final String SCRIPTS = "streaming.dsl.ScriptSQLExec$";

    private static boolean registered; // guarded by the class

    /** Byzer's class is abstract, not an interface, so this is a class of its own. */
    private static final class Listener extends JobListener {
        @Override
        public void onJobStarted(JobStartedEvent event) {
            quietly(() -> Observer.beginJob(event.groupId()));
        }

        @Override
        public void onJobFinished(JobFinishedEvent event) {
            quietly(() -> {
                // What started a stream returns at once, and the stream runs on.
                if (!startedStream())
                    Observer.endJob(event.groupId());
            });
        }
    }

    private ByzerAdapter() {
    }

    /**
     * Starts the observer and listens to the JobManager; once.
     *
     * @return true: it listens; false: there is no JobManager where this thread looks for classes.
     */
    public static synchronized boolean register() {
        if (registered)
            return true;
        try {
            Object manager = ByName.type(MANAGER).getField("MODULE$").get(null);
            Observer.bracketsSome();
            // What it returns is Scala's, so it has to be found by name.
            for (Method m : manager.getClass().getMethods())
                if (m.getName().equals("addJobListener") && m.getParameterCount() == 1) {
                    m.invoke(manager, new Listener());
                    registered = true;
                }
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            System.err.println("reaper-pyjava: Byzer's jobs are not reported (" + e + ")");
        }
        return registered;
    }

    /**
     * The question that Byzer's own CleanCacheListener asks. Where it has no answer a job has no
     * end.
     */
    private static boolean startedStream() throws ReflectiveOperationException {
        Class<?> scripts;

        try {
            scripts = ByName.type(SCRIPTS);
        } catch (ClassNotFoundException e) {
            return false; // an engine without scripts has no streams
        }
        Object exec = ByName.call(scripts.getField("MODULE$").get(null), "contextGetOrForTest");
        Object env = ByName.call(ByName.call(exec, "execListener"), "env");
        for (Object pair : ByName.list(env))
            if ("stream".equals(ByName.first(pair)))
                return true;
        return false;
    }

    private interface Step {
        void run() throws ReflectiveOperationException;
    }

    /** A job must not fail because of a marker. */
    private static void quietly(Step step) {
        try {
            step.run();
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            System.err.println("reaper-pyjava: a job is not reported (" + e + ")");
        }
    }
}
