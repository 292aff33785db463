# SPDX-License-Identifier: Apache-2.0
"""Queries about processes that are not children of the test."""


def gone(pid):
    """True if a process has ended, or is only a zombie that waits for init."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):  # it may end between open and read
        return True
