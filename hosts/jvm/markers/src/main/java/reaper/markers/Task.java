// SPDX-License-Identifier: Apache-2.0
package reaper.markers;

import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.channels.SocketChannel;

/**
 * A task that runs, from {@link Log#begin} to {@link #close}: as a resource of a try statement,
 * say.
 */
public final class Task implements AutoCloseable {
    private final Log log;
    private final String task;
    private final String job;
    private volatile String outcome = "ok";

    Task(Log log, String task, String job) {
        this.log = log;
        this.task = task;
        this.job = job;
    }

    /** Binds a worker to it, by its number in the JVM's own pid namespace. */
    public Task bind(long pid) {
        log.bind(this, pid);
        return this;
    }

    /** Binds a worker to it, as PID:START. */
    public Task bind(String worker) {
        log.bind(this, worker);
        return this;
    }

    /**
     * Binds the worker at the other end of a connection that the host made to the daemon's port.
     */
    public Task bind(Socket socket) {
        log.bind(this, socket, socket.getLocalPort(), socket.getPort());
        return this;
    }

    /** The same; a socket that has no ports binds nobody. */
    public Task bind(SocketChannel channel) {
        try {
            if (channel.getLocalAddress() instanceof InetSocketAddress)
                log.bind(this, channel,
                    ((InetSocketAddress) channel.getLocalAddress()).getPort(),
                    ((InetSocketAddress) channel.getRemoteAddress()).getPort());
        } catch (java.io.IOException e) {
            log.complain(e);
        }
        return this;
    }

    /** Remembers how it went, for people: `ok` unless this is called. */
    public Task outcome(String how) {
        outcome = how;
        return this;
    }

    /** The host has read all that it will read, and the task's workers are pooled or given up. */
    @Override
    public void close() {
        log.end(this);
    }

    String task() {
        return task;
    }

    String job() {
        return job;
    }

    String outcome() {
        return outcome;
    }

    Record beginRecord() {
        return new Record("begin").name("task", task).name("job", job);
    }
}
