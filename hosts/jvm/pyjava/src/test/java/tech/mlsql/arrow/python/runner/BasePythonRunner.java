// SPDX-License-Identifier: Apache-2.0
package tech.mlsql.arrow.python.runner;

import java.net.Socket;
import java.util.concurrent.atomic.AtomicBoolean;
import scala.collection.mutable.HashMap;
import tech.mlsql.arrow.python.iapp.JavaContext;

/** A stand-in with the names of pyjava 0.3.3. */
public class BasePythonRunner {
    private final HashMap<String, String> conf = new HashMap<>();

    public static final class AppContext {
        private final Object context;

        AppContext(Object context) {
            this.context = context;
        }

        public Object innerContext() {
            return context;
        }
    }

    /** Lives until its context is completed. */
    public static final class MonitorThread extends Thread {
        private final Socket worker;
        private final AppContext context;
        public final BasePythonRunner $outer;

        MonitorThread(BasePythonRunner outer, Socket worker, Object context) {
            this.$outer = outer;
            this.worker = worker;
            this.context = new AppContext(context);
            setDaemon(true);
        }

        @Override
        public void run() {
            try {
                while (!(context.context instanceof JavaContext)
                    || !((JavaContext) context.context).isCompleted())
                    Thread.sleep(20);
                worker.getClass(); // it holds it as long as it lives
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    public BasePythonRunner conf(String key, String value) {
        conf.put(key, value);
        return this;
    }

    /** Opens a context; the flag says whether its worker was released or closed. */
    public AtomicBoolean compute(Socket worker, Object context) {
        AtomicBoolean releasedOrClosed = new AtomicBoolean();

        if (context instanceof JavaContext) {
            ((JavaContext) context).add(() -> { });
            ((JavaContext) context).add(() -> {
                if (releasedOrClosed.compareAndSet(false, true))
                    worker.close();
            });
        }
        new MonitorThread(this, worker, context).start();
        return releasedOrClosed;
    }
}
