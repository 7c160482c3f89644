// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.api.python;

/** A stand-in with a daemon's workers, and those of them that are idle. */
public final class PythonWorkerFactory {
    private final Object idleWorkers;
    private final Object daemonWorkers;

    public PythonWorkerFactory(Object idleWorkers, Object daemonWorkers) {
        this.idleWorkers = idleWorkers;
        this.daemonWorkers = daemonWorkers;
    }
}
