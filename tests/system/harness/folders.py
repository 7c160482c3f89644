# SPDX-License-Identifier: Apache-2.0
"""Temporary folders."""

from __future__ import annotations

import pathlib
import tempfile


def public_folder(name: str) -> pathlib.Path:
    """A temporary folder that every user may enter, unlike pytest's own."""
    path = pathlib.Path(tempfile.mkdtemp(prefix=f"reaper-{name}-"))
    path.chmod(0o755)
    return path
