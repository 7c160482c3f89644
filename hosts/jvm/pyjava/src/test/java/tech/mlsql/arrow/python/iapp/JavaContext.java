// SPDX-License-Identifier: Apache-2.0
package tech.mlsql.arrow.python.iapp;

import scala.collection.mutable.ArrayBuffer;

/** A stand-in with the names of pyjava 0.3.3. */
public final class JavaContext {
    public interface Step {
        void run() throws java.io.IOException;
    }

    static final class Listener {
        private final Step step;

        Listener(Step step) {
            this.step = step;
        }
    }

    private final ArrayBuffer<Listener> buffer = new ArrayBuffer<>();
    private volatile boolean completed;

    public void add(Step step) {
        buffer.$plus$eq(new Listener(step));
    }

    public boolean isCompleted() {
        return completed;
    }

    public void markComplete() {
        completed = true;
    }
}
