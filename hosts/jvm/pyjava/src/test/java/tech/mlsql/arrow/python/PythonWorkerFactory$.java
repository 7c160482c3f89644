// SPDX-License-Identifier: Apache-2.0
package tech.mlsql.arrow.python;

import scala.collection.mutable.HashMap;

/** A stand-in with the names of pyjava 0.3.3. */
public final class PythonWorkerFactory$ {
    public static final PythonWorkerFactory$ MODULE$ = new PythonWorkerFactory$();

    private final HashMap<String, PythonWorkerFactory> pythonWorkers = new HashMap<>();

    private PythonWorkerFactory$() {
    }

    public synchronized PythonWorkerFactory factory(String key) {
        if (!pythonWorkers.contains(key))
            pythonWorkers.put(key, new PythonWorkerFactory());
        return pythonWorkers.apply(key);
    }
}
