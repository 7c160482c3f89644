# SPDX-License-Identifier: Apache-2.0
"""Stands in for the package of the same name, so that a daemon's argv is the real one."""
