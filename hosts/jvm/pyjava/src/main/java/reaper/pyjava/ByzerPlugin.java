// SPDX-License-Identifier: Apache-2.0
package reaper.pyjava;

import java.util.Collections;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * Loads {@link ByzerAdapter} into an engine that runs on Spark:
 *
 * <pre>spark.plugins=reaper.spark.ReaperPlugin,reaper.pyjava.ByzerPlugin</pre>
 *
 * Spark loads a plugin where it loads the engine itself, so that the adapter finds the engine's
 * classes; an agent would be loaded above them.
 */
public final class ByzerPlugin implements SparkPlugin {
    @Override
    public DriverPlugin driverPlugin() {
        return new DriverPlugin() {
            @Override
            public Map<String, String> init(SparkContext context, PluginContext plugin) {
                ByzerAdapter.register();
                return Collections.emptyMap();
            }
        };
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return null; // there pyjava's contexts are those of Spark's tasks, which Spark closes
    }
}
