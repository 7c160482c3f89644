// SPDX-License-Identifier: Apache-2.0
package reaper.pyjava;

import java.lang.reflect.InaccessibleObjectException;
import reaper.markers.Log;
import reaper.markers.Snapshot;

/**
 * Lets a host that runs tasks by pyjava 0.3 tell reaper about them, without a change to pyjava.
 *
 * <pre>
 * Observer.start();
 * ...
 * Observer.begin("17", "job3", javaContext);  // before compute()
 * try {
 *     ...
 * } finally {
 *     Observer.end("17");
 * }
 * </pre>
 *
 * Where it is started it has to be told of every task that uses pyjava, before its compute(): a
 * context is taken for one of the tasks that ran when it was opened, and as given up when they
 * are over. (An engine whose jobs are told by {@link ByzerAdapter} need not: its contexts name
 * their jobs.) With the context of a task its worker is bound to it; without, only where no other
 * task ran just then.
 *
 * begin() and end() take no lock of pyjava, which may be held for long.
 */
public final class Observer {
    private static final String CLASS = "pyjava";

    private static Log log; // guarded by the class
    private static Watch watch;
    private static final Brackets BRACKETS = new Brackets();

    private Observer() {
    }

    /** Opens the log and begins to look at pyjava's pools every two seconds; once. */
    public static synchronized void start() {
        if (log != null)
            return;
        watch = new Watch(BRACKETS);
        log = Log.of(CLASS).reports(Observer::look).open();
    }

    /** Says that a task runs, before it opens contexts. The job may be null. */
    public static void begin(String task, String job) {
        begin(task, job, null);
    }

    /** Says that a task runs, and which JavaContext is to be its own. */
    public static void begin(String task, String job, Object javaContext) {
        String id = id(task);

        BRACKETS.add(new Bracket(id, job, javaContext, log().begin(id, job)));
    }

    /** Says that a task is over: whatever is read of its results has been read. */
    public static void end(String task) {
        Bracket b = BRACKETS.end(id(task), null);

        if (b != null)
            b.marker().close();
    }

    /** Says that a job runs: every context whose runner names it as GROUP_ID or groupId is its. */
    public static void beginJob(String job) {
        BRACKETS.add(new Bracket(null, job, null, log().begin(null, job)));
    }

    /** Says that a job is over, and every task that was begun with it. */
    public static void endJob(String job) {
        BRACKETS.endJob(job);
        log().endJob(job, "ok");
    }

    /** Ids are the JVM's, and Spark numbers its tasks. */
    private static String id(String task) {
        return task.chars().allMatch(Character::isDigit) ? "pyjava-" + task : task;
    }

    static synchronized void bracketsSome() {
        start();
        watch.bracketsSome();
    }

    private static synchronized Log log() {
        start();
        return log;
    }

    /** Called by the log's own thread. */
    private static Snapshot look() {
        Log l = log();

        try {
            return watch.look(l::retired);
        } catch (ReflectiveOperationException | ClassCastException | InaccessibleObjectException
            | LinkageError e) {
            System.err.println("reaper-pyjava: the workers of this pyjava cannot be read, so only"
                + " tasks are reported (" + e + ")");
            l.reportNoMore();
            return null;
        }
    }
}
