// SPDX-License-Identifier: Apache-2.0
package org.apache.spark;

import java.util.function.Supplier;

/** A stand-in with the map of factories. */
public class SparkEnv {
    /** What get() does. */
    public static volatile Supplier<SparkEnv> found = () -> null;

    private final Object pythonWorkers;

    public SparkEnv(Object pythonWorkers) {
        this.pythonWorkers = pythonWorkers;
    }

    public static SparkEnv get() {
        return found.get();
    }
}
