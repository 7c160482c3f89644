// SPDX-License-Identifier: Apache-2.0
package reaper.spark;

import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * Lets a Spark executor (in local mode: the driver) tell reaper which tasks run and which Python
 * workers are pooled.
 *
 * <pre>spark.plugins=reaper.spark.ReaperPlugin</pre>
 */
public final class ReaperPlugin implements SparkPlugin {
    @Override
    public DriverPlugin driverPlugin() {
        return null; // a driver runs no tasks
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return new TaskMarkers();
    }
}
