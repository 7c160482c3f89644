// SPDX-License-Identifier: Apache-2.0
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.function.IntFunction;
import reaper.markers.Log;
import reaper.markers.Snapshot;
import reaper.markers.Task;

/**
 * MiniHost's "jar" commands: a host that tells of itself by reaper-markers.jar.
 *
 * <pre>
 * open FOLDER CLASS PROMISE             begins a log: pool=none, pool=reported, tasks=all by `all`,
 *                                       each with a pool_timeout of 1 s; tasks=all without one by
 *                                       `untimed`; no promise by `nothing`
 * begin TASK [WORKER]                   with a worker: bound by its connection
 * end TASK
 * pool WORKER, lease WORKER TASK        where the next lists show it
 * drop WORKER                           the next lists show it nowhere
 * </pre>
 *
 * The second argument of apply() gives a worker's connection and its pid.
 */
public final class JarMarkers implements BiFunction<String, IntFunction<Object[]>, String> {
    private final Map<String, Task> tasks = new HashMap<>();
    private final Map<String, String> places = new TreeMap<>(); // pid:start, its task or ""
    private Log log;

    @Override
    public String apply(String line, IntFunction<Object[]> workers) {
        String[] words = line.split(" ");

        switch (words[0]) {
            case "open" -> open(Path.of(words[1]), words[2], words[3]);
            case "begin" -> begin(words[1], words.length > 2 ? workers.apply(number(words[2])) : null);
            case "end" -> tasks.remove(words[1]).close();
            case "pool" -> place(workers.apply(number(words[1])), "");
            case "lease" -> place(workers.apply(number(words[1])), words[2]);
            case "drop" -> place(workers.apply(number(words[1])), null);
            default -> throw new IllegalArgumentException("unknown command: jar " + words[0]);
        }
        return log.path().toString();
    }

    private static int number(String word) {
        return Integer.parseInt(word);
    }

    private void open(Path folder, String className, String promise) {
        Log.Builder builder = Log.of(className).folder(folder);

        if (!promise.equals("untimed")) {
            builder.poolTimeout(1000);
        }
        switch (promise) {
            case "nothing" -> {}
            case "none" -> builder.neverReuses();
            case "reported" -> builder.reports(this::snapshot);
            case "all", "untimed" -> builder.bracketsAll();
            default -> throw new IllegalArgumentException("no such promise: " + promise);
        }
        log = builder.open();
    }

    private void begin(String name, Object[] worker) {
        Task task = log.begin(name, null);

        if (worker != null) {
            task.bind((SocketChannel) worker[0]);
        }
        tasks.put(name, task);
    }

    private synchronized void place(Object[] worker, String task) {
        String name = Log.worker(((Number) worker[1]).longValue());

        if (task == null) {
            places.remove(name);
        } else {
            places.put(name, task);
        }
    }

    private synchronized Snapshot snapshot() {
        Snapshot all = new Snapshot();

        places.forEach(
                (worker, task) -> {
                    if (task.isEmpty()) {
                        all.pooled(worker);
                    } else {
                        all.leased(worker, task);
                    }
                });
        return all;
    }
}
