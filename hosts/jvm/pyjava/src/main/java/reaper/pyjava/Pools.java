// SPDX-License-Identifier: Apache-2.0
package reaper.pyjava;

import java.net.Socket;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import reaper.markers.ByName;
import reaper.markers.Log;

/**
 * pyjava's pools, read by reflection (names of 0.3.2 and 0.3.3).
 *
 * The object PythonWorkerFactory keeps the factories, changed under its monitor; each factory has
 * one daemon and one pool, changed under its own. As with Spark's: the factories are copied under
 * the first, then each one's collections under its own; under a monitor only references are
 * copied. All of these are held while a daemon starts or does not answer, and then this waits, on
 * a thread of its own.
 */
final class Pools {
    private static final String FACTORIES = "tech.mlsql.arrow.python.PythonWorkerFactory$";

    /** A worker as pyjava has it. */
    static final class Worker {
        final Socket socket;
        final String name;
        final boolean idle;

        private Worker(Socket socket, String name, boolean idle) {
            this.socket = socket;
            this.name = name;
            this.idle = idle;
        }
    }

    private final Set<Object> modules = Collections.newSetFromMap(new IdentityHashMap<>());
    private final Map<Socket, String> names = new WeakHashMap<>();

    /** Looks for pyjava where this thread looks for classes; there may be none (yet). */
    void find() throws ReflectiveOperationException {
        try {
            add(ByName.type(FACTORIES));
        } catch (ClassNotFoundException e) {
            // Its first context shows where it is.
        }
    }

    /** Takes pyjava as the thread of a context knows it. */
    void find(Thread monitor) throws ReflectiveOperationException {
        add(Class.forName(FACTORIES, true, monitor.getClass().getClassLoader()));
    }

    private void add(Class<?> module) throws ReflectiveOperationException {
        modules.add(module.getField("MODULE$").get(null));
    }

    boolean isEmpty() {
        return modules.isEmpty();
    }

    /** All workers whose connection is open and whose process is there. */
    List<Worker> workers() throws ReflectiveOperationException {
        List<Worker> all = new ArrayList<>();

        for (Object module : modules)
            for (Object factory : factories(module))
                addWorkers(all, factory);
        return all;
    }

    private static Collection<Object> factories(Object module) throws ReflectiveOperationException {
        synchronized (module) {
            return ByName.values(ByName.get(module, "pythonWorkers"));
        }
    }

    private void addWorkers(List<Worker> to, Object factory) throws ReflectiveOperationException {
        List<Object> all, idle;

        synchronized (factory) {
            all = ByName.list(ByName.get(factory, "daemonWorkers"));
            idle = ByName.list(ByName.get(factory, "idleWorkers"));
        }
        Set<Object> isIdle = new HashSet<>(idle);
        for (Object pair : all) {
            Socket socket = (Socket) ByName.first(pair);
            String name = socket.isClosed() ? null : name(socket, (Integer) ByName.second(pair));
            if (name != null)
                to.add(new Worker(socket, name, isIdle.contains(socket)));
        }
    }

    private String name(Socket socket, int pid) {
        String name = names.get(socket);

        if (name == null) {
            name = Log.worker(pid);
            if (name != null)
                names.put(socket, name);
        }
        return name;
    }
}
