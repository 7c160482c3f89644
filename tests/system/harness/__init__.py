# SPDX-License-Identifier: Apache-2.0
"""What the system tests are built from: processes, the mini host, the binary, privileges."""
