// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.api.python;

/** A stand-in of a release that has no `idleWorkers`. */
public final class PythonWorkerFactory {
    private final Object daemonWorkers = null;
}
