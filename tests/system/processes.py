# SPDX-License-Identifier: Apache-2.0
"""What tests ask about processes that are not their own children."""


def gone(pid):
    """True when a process is no more, or only a zombie that waits for init."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):  # it may end between the open and the read
        return True
