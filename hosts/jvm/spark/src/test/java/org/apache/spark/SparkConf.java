// SPDX-License-Identifier: Apache-2.0
package org.apache.spark;

/** A stand-in: nothing is set. */
public class SparkConf {
    public String get(String key, String otherwise) {
        return otherwise;
    }
}
