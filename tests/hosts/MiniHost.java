// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.EOFException;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.IntFunction;

/**
 * A JVM that drives Python daemons by Spark's protocol, one command at a time.
 *
 * <p>Started by {@code java MiniHost.java [--marker-log FILE]}, with the folder of the Python
 * packages in PYTHONPATH. Every line on stdin is a command, every line on stdout the JSON answer to
 * it; {@code "ok":false} carries the reason. The end of stdin ends the JVM.
 *
 * <pre>
 * daemon MODULE tcp|tcp6|PATH   start `python3 -m MODULE`, which listens there
 * open D                        connect to daemon D: a new worker
 * task W STEPS                  give worker W a task (the steps of pooldaemon.py), take its answer
 * read W N                      take N bytes from worker W
 * write W N                     send N bytes that worker W did not ask for
 * fill W                        send until the connection takes no more
 * half-close W                  shut down the sending direction only
 * close W                       hang up; with bytes unread the kernel resets the connection
 * stop-worker D PID             have daemon D kill a worker, as Spark does for a cancelled task
 * writer                        start a thread like that by which Spark 3.5 feeds one task
 * writers-end                   end all of these
 * jar COMMAND                   as jar/JarMarkers.java says
 * marker EVENT KEY=VALUE...     append one record, with the current time, to the marker log
 * sleep-forever                 answer no more commands
 * exit                          end the JVM
 * </pre>
 */
public final class MiniHost {
    private static final long FOREVER_MS = 3_600_000L;
    private static final int MAX_FRAME = 1 << 20;
    private static final int FILL_STEP = 1 << 20;
    private static final int FULL_AFTER = 10;
    private static final long FILL_PAUSE_MS = 20;

    private record Daemon(Process process, SocketAddress address, int port) {}

    private record Worker(SocketChannel channel, int pid) {}

    private final List<Daemon> daemons = new ArrayList<>();
    private final List<Worker> workers = new ArrayList<>();
    private final List<Thread> writers = new ArrayList<>();
    private FileOutputStream markerLog;
    private BiFunction<String, IntFunction<Object[]>, String> jarMarkers;

    public static void main(String[] args) throws Exception {
        MiniHost host = new MiniHost();
        if (args.length == 2 && args[0].equals("--marker-log")) {
            host.markerLog = new FileOutputStream(args[1], true);
        } else if (args.length != 0) {
            System.err.println("usage: java MiniHost.java [--marker-log FILE]");
            System.exit(2);
        }
        host.say("\"pid\":" + ProcessHandle.current().pid());
        host.serve();
    }

    private void serve() throws IOException {
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = in.readLine()) != null) {
            try {
                obey(line.split(" ", 3), line);
            } catch (Exception error) {
                System.out.println("{\"ok\":false,\"error\":" + quote(error.toString()) + "}");
                System.out.flush();
            }
        }
        System.exit(0);
    }

    private void obey(String[] words, String line) throws Exception {
        switch (words[0]) {
            case "daemon" -> startDaemon(words[1], words[2]);
            case "open" -> open(number(words[1]));
            case "task" -> task(number(words[1]), words[2]);
            case "read" -> read(number(words[1]), number(words[2]));
            case "write" -> write(number(words[1]), number(words[2]));
            case "fill" -> fill(number(words[1]));
            case "half-close" -> {
                workers.get(number(words[1])).channel.shutdownOutput();
                say("\"worker\":" + words[1]);
            }
            case "close" -> {
                workers.get(number(words[1])).channel.close();
                say("\"worker\":" + words[1]);
            }
            case "stop-worker" -> stopWorker(number(words[1]), number(words[2]));
            case "writer" -> writer();
            case "writers-end" -> endWriters();
            case "jar" -> jar(line.substring("jar ".length()));
            case "marker" -> marker(line.substring("marker ".length()));
            case "sleep-forever" -> {
                say("\"asleep\":true");
                Thread.sleep(FOREVER_MS);
            }
            case "exit" -> {
                say("\"exit\":true");
                System.exit(0);
            }
            default -> throw new IllegalArgumentException("unknown command: " + words[0]);
        }
    }

    private void startDaemon(String module, String where) throws IOException {
        ProcessBuilder builder = new ProcessBuilder("python3", "-m", module);
        builder.environment().put("MINI_HOST_LISTEN", where);
        builder.environment().put("PYTHONUNBUFFERED", "YES");
        Process process = builder.start();
        InputStream out = process.getInputStream();
        String foundAt = firstLine(out);
        drain(out, "stdout reader for python3");
        drain(process.getErrorStream(), "stderr reader for python3");

        boolean unix = foundAt.startsWith("/");
        int port = unix ? 0 : number(foundAt);
        SocketAddress address =
                unix
                        ? UnixDomainSocketAddress.of(foundAt)
                        : new InetSocketAddress(where.equals("tcp6") ? "::1" : "127.0.0.1", port);
        daemons.add(new Daemon(process, address, port));
        say("\"daemon\":" + (daemons.size() - 1) + ",\"pid\":" + process.pid()
                + ",\"start\":" + startTicks(process.pid()) + ",\"port\":" + port);
    }

    /** Connect; the forked worker says its pid first, in four bytes. */
    private void open(int daemon) throws IOException {
        Daemon at = daemons.get(daemon);
        SocketChannel channel = SocketChannel.open(at.address);
        int pid = receive(channel, 4).getInt();
        workers.add(new Worker(channel, pid));
        int localPort =
                channel.getLocalAddress() instanceof InetSocketAddress inet ? inet.getPort() : 0;
        say("\"worker\":" + (workers.size() - 1) + ",\"pid\":" + pid
                + ",\"start\":" + startTicks(pid) + ",\"lport\":" + localPort
                + ",\"dport\":" + at.port);
    }

    private void task(int worker, String steps) throws IOException {
        SocketChannel channel = workers.get(worker).channel;
        byte[] text = steps.getBytes(StandardCharsets.UTF_8);
        ByteBuffer frame = ByteBuffer.allocate(4 + text.length);
        frame.putInt(text.length).put(text).flip();
        send(channel, frame);

        int size = receive(channel, 4).getInt();
        if (size < 0 || size > MAX_FRAME) {
            throw new IOException("frame of " + size + " bytes");
        }
        String reply = new String(receive(channel, size).array(), StandardCharsets.UTF_8);
        say("\"worker\":" + worker + ",\"reply\":" + reply);
    }

    private void read(int worker, int size) throws IOException {
        receive(workers.get(worker).channel, size);
        say("\"worker\":" + worker + ",\"read\":" + size);
    }

    private void write(int worker, int size) throws IOException {
        send(workers.get(worker).channel, ByteBuffer.allocate(size));
        say("\"worker\":" + worker + ",\"written\":" + size);
    }

    /** The connection is full when it has taken nothing for a while: buffers grow as they fill. */
    private void fill(int worker) throws IOException, InterruptedException {
        SocketChannel channel = workers.get(worker).channel;
        channel.configureBlocking(false);
        long sent = 0;
        for (int idle = 0; idle < FULL_AFTER; idle++) {
            int taken = channel.write(ByteBuffer.allocate(FILL_STEP));
            if (taken > 0) {
                sent += taken;
                idle = 0;
            } else {
                Thread.sleep(FILL_PAUSE_MS);
            }
        }
        channel.configureBlocking(true);
        say("\"worker\":" + worker + ",\"written\":" + sent);
    }

    private void stopWorker(int daemon, int pid) throws IOException {
        OutputStream stdin = daemons.get(daemon).process.getOutputStream();
        stdin.write(ByteBuffer.allocate(4).putInt(pid).array());
        stdin.flush();
        say("\"pid\":" + pid);
    }

    /** What tells of us by reaper-markers.jar is another class, on the class path only where it is. */
    @SuppressWarnings("unchecked")
    private void jar(String command) throws ReflectiveOperationException {
        if (jarMarkers == null) {
            jarMarkers =
                    (BiFunction<String, IntFunction<Object[]>, String>)
                            Class.forName("JarMarkers").getDeclaredConstructor().newInstance();
        }
        String log =
                jarMarkers.apply(
                        command,
                        i -> new Object[] {workers.get(i).channel, workers.get(i).pid});
        say("\"log\":" + quote(log));
    }

    private void marker(String record) throws IOException {
        if (markerLog == null) {
            throw new IOException("no --marker-log was given");
        }
        String line = "reaper/1 " + System.currentTimeMillis() + " " + record + "\n";
        markerLog.write(line.getBytes(StandardCharsets.US_ASCII));
        say("\"marker\":" + quote(record));
    }

    private static void send(SocketChannel channel, ByteBuffer data) throws IOException {
        while (data.hasRemaining()) {
            channel.write(data);
        }
    }

    private static ByteBuffer receive(SocketChannel channel, int size) throws IOException {
        ByteBuffer data = ByteBuffer.allocate(size);
        while (data.hasRemaining()) {
            if (channel.read(data) < 0) {
                throw new EOFException("worker hung up");
            }
        }
        return data.flip();
    }

    private static String firstLine(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        int c;
        while ((c = in.read()) != '\n') {
            if (c < 0) {
                throw new EOFException("the daemon said nothing");
            }
            line.append((char) c);
        }
        return line.toString();
    }

    /** It is named as Spark names its own, and never writes. */
    private void writer() {
        Thread thread =
                new Thread(
                        () -> {
                            try {
                                Thread.sleep(FOREVER_MS);
                            } catch (InterruptedException end) {
                                // As when all input was written.
                            }
                        },
                        "stdout writer for python3");
        thread.setDaemon(true);
        thread.start();
        writers.add(thread);
        say("\"writers\":" + writers.size());
    }

    private void endWriters() throws InterruptedException {
        for (Thread thread : writers) {
            thread.interrupt();
            thread.join();
        }
        writers.clear();
        say("\"writers\":0");
    }

    private static void drain(InputStream in, String name) {
        Thread thread =
                new Thread(
                        () -> {
                            try {
                                in.transferTo(System.err);
                            } catch (IOException gone) {
                                // The daemon has left: nothing more to pass on.
                            }
                        },
                        name);
        thread.setDaemon(true);
        thread.start();
    }

    /** Field 22 of /proc/PID/stat; the name before it may hold anything, so count from its end. */
    private static long startTicks(long pid) throws IOException {
        String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
        return Long.parseLong(stat.substring(stat.lastIndexOf(')') + 2).split(" ")[19]);
    }

    private static int number(String text) {
        return Integer.parseInt(text);
    }

    private static String quote(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        return out.append('"').toString();
    }

    private void say(String members) {
        System.out.println("{\"ok\":true," + members + "}");
        System.out.flush();
    }
}
