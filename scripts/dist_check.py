# SPDX-License-Identifier: Apache-2.0
"""dist_check.py SRCDIR DISTDIR: checks that every file tracked by git is in the tarball's directory.

Run by `make dist`; prints the files to add to EXTRA_DIST or a _SOURCES. Outside
a git checkout (when testing a tarball) there is nothing to compare.
"""
import os
import subprocess
import sys

NOT_SHIPPED = (".gitignore", "build-aux/.gitkeep")


def main(srcdir, distdir):
    top = subprocess.run(["git", "-C", srcdir, "rev-parse", "--show-toplevel"], capture_output=True, text=True)
    if top.returncode or os.path.realpath(top.stdout.strip()) != os.path.realpath(srcdir):
        return 0
    out = subprocess.run(["git", "-C", srcdir, "ls-files", "-z"], capture_output=True, text=True, check=True)
    tracked = [p for p in out.stdout.split("\0") if p and p not in NOT_SHIPPED]
    lost = [p for p in tracked if os.path.lexists(os.path.join(srcdir, p)) and not os.path.lexists(os.path.join(distdir, p))]
    for path in lost:
        print("%s is tracked by git and not in the tarball: add it to Makefile.am" % path, file=sys.stderr)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
