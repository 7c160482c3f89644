// SPDX-License-Identifier: Apache-2.0
package tech.mlsql.arrow.python;

import java.net.Socket;
import scala.collection.mutable.Queue;
import scala.collection.mutable.WeakHashMap;

/** A stand-in with the names of pyjava 0.3.3. */
public final class PythonWorkerFactory {
    private final WeakHashMap<Socket, Object> daemonWorkers = new WeakHashMap<>();
    private final Queue<Socket> idleWorkers = new Queue<>();

    public synchronized void add(Socket socket, int pid) {
        daemonWorkers.put(socket, pid);
    }

    public synchronized void release(Socket socket) {
        idleWorkers.$plus$eq(socket);
    }

    public synchronized void take() {
        idleWorkers.dequeue();
    }
}
