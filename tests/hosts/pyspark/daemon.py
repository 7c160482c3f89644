# SPDX-License-Identifier: Apache-2.0
"""`python3 -m pyspark.daemon`, as the mini host starts it."""

import pooldaemon

if __name__ == "__main__":
    pooldaemon.main()
