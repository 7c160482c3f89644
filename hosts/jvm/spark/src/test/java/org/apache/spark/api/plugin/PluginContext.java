// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.api.plugin;

import org.apache.spark.SparkConf;

/** A stand-in: what of it is asked for. */
public interface PluginContext {
    SparkConf conf();
}
