// SPDX-License-Identifier: Apache-2.0
package reaper.pyjava;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import reaper.markers.ByName;

/**
 * One context that pyjava opened for a task of its application (not of Spark, which closes its
 * own): what its monitor thread holds. There is no registry of them; the threads are one.
 */
final class Context {
    private static final String THREAD =
        "tech.mlsql.arrow.python.runner.BasePythonRunner$MonitorThread";
    private static final String JAVA_CONTEXT = "tech.mlsql.arrow.python.iapp.JavaContext";
    private static final List<String> GROUP = List.of("GROUP_ID", "groupId");

    private final Thread thread;
    private final Socket worker;
    private final Object context;

    private Context(Thread thread, Socket worker, Object context) {
        this.thread = thread;
        this.worker = worker;
        this.context = context;
    }

    /** All monitor threads, whatever they monitor. */
    static List<Thread> threads() {
        ThreadGroup root = Thread.currentThread().getThreadGroup();
        List<Thread> found = new ArrayList<>();

        while (root.getParent() != null)
            root = root.getParent();
        Thread[] all = new Thread[2 * root.activeCount() + 64];
        int count = root.enumerate(all);
        for (int i = 0; i < count; i++)
            if (all[i].getClass().getName().equals(THREAD))
                found.add(all[i]);
        return found;
    }

    /** What a monitor thread monitors; null: not a context of the application. */
    static Context of(Thread thread) throws ReflectiveOperationException {
        Object context = ByName.call(ByName.get(thread, "context"), "innerContext");

        if (context == null || !context.getClass().getName().equals(JAVA_CONTEXT))
            return null;
        return new Context(thread, (Socket) ByName.get(thread, "worker"), context);
    }

    Thread thread() {
        return thread;
    }

    Socket worker() {
        return worker;
    }

    Object javaContext() {
        return context;
    }

    boolean isCompleted() throws ReflectiveOperationException {
        return (Boolean) ByName.call(context, "isCompleted");
    }

    /** The job that the runner's configuration names, as an engine's does; or null. */
    String group() throws ReflectiveOperationException {
        Object conf = ByName.get(ByName.get(thread, "$outer"), "conf");

        for (Object pair : ByName.list(conf))
            if (GROUP.contains(ByName.first(pair)))
                return (String) ByName.second(pair);
        return null;
    }

    /**
     * The flag that says that this context's worker was released or closed; null: not found. Only
     * the listener that is to close the worker knows it: its function has caught the flag and the
     * socket.
     */
    AtomicBoolean releasedOrClosed() throws ReflectiveOperationException {
        for (Object listener : ByName.list(ByName.get(context, "buffer")))
            for (Object function : caught(listener)) {
                List<Object> all = caught(function);
                if (all.contains(worker))
                    for (Object o : all)
                        if (o instanceof AtomicBoolean)
                            return (AtomicBoolean) o;
            }
        return null;
    }

    private static List<Object> caught(Object object) throws ReflectiveOperationException {
        List<Object> all = new ArrayList<>();

        if (object == null || object.getClass().getName().startsWith("java."))
            return all;
        for (Field f : object.getClass().getDeclaredFields())
            if (!Modifier.isStatic(f.getModifiers()) && !f.getType().isPrimitive()) {
                f.setAccessible(true);
                Object o = f.get(object);
                if (o != null)
                    all.add(o);
            }
        return all;
    }
}
