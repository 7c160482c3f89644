// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.api.python;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** A stand-in with the pairs of a worker and a task. */
public final class PythonRunner$ {
    public static final PythonRunner$ MODULE$ = new PythonRunner$();

    private final Set<Object> pairs = ConcurrentHashMap.newKeySet();

    public Set<Object> runningMonitorThreads() {
        return pairs;
    }
}
