# SPDX-License-Identifier: Apache-2.0
"""A Debian system in a folder: commands in it see its files, their own loopback device, and a stub instead of systemd.

The stub of systemctl logs the requests of maintainer scripts, as if systemd were running.
"""
import hashlib
import os
import shutil
import stat
import subprocess
import time

SUITE = "bookworm"
RUN_S = 120
# Not compared: kernel file systems, state of dpkg and apt, backups of the user database.
PASSED_OVER = ("dev", "proc", "sys", "tmp", "srv", "var/lib/dpkg", "var/lib/apt", "var/cache", "var/log", "run/systemd")
BACKUPS = ("etc/passwd-", "etc/group-", "etc/shadow-", "etc/gshadow-")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
REAL_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
CALLS = "run/systemd/calls"

# $1 the root, $2 the script. Mounts and processes end with it.
ENTER = """
set -e
mount -t proc proc "$1/proc"
mount --rbind /sys "$1/sys"
ip link set lo up
exec chroot "$1" sh -ec "$2"
"""
STAND_IN = """#!/bin/sh
echo "$*" >>/%s
case " $* " in
*" preset "* | *" is-enabled "*) SYSTEMD_OFFLINE=1 exec /usr/bin/systemctl "$@" ;;
*" is-active "*) exit 3 ;;
esac
""" % CALLS


class CannotMake(Exception):
    """The reason why a Debian system is not possible here."""


def copy(source, target):
    subprocess.run(["cp", "-a", "--reflink=auto", str(source), str(target)], check=True, timeout=RUN_S)


def mirror():
    """The mirror of this suite in this host's apt configuration."""
    out = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", f"Codename: {SUITE}"],
                         capture_output=True, text=True, timeout=RUN_S, check=False)
    if not out.stdout.split():
        raise CannotMake(f"apt knows no archive of {SUITE} here (apt-get update?)")
    return out.stdout.split()[0]


def debootstrapped(cache, days, limit_s):
    """The folder of a debootstrap; renewed after some days."""
    base = cache / SUITE
    mark = cache / f"{SUITE}.made"
    if mark.exists() and time.time() - mark.stat().st_mtime < days * 86400:
        return base
    cache.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(base, ignore_errors=True)
    with open(cache / "debootstrap.log", "w") as log:
        status = subprocess.run(["debootstrap", "--variant=minbase", SUITE, str(base), mirror()], stdout=log, stderr=log,
                                stdin=subprocess.DEVNULL, timeout=limit_s, check=False).returncode
    if status:
        raise CannotMake("debootstrap: " + (cache / "debootstrap.log").read_text().strip().split("\n")[-1])
    mark.touch()
    return base


def entry(path, info):
    """The properties of a file, folder or link, without its times."""
    what = (stat.S_IFMT(info.st_mode), stat.S_IMODE(info.st_mode), info.st_uid, info.st_gid)
    if stat.S_ISLNK(info.st_mode):
        return (*what, os.readlink(path))
    if stat.S_ISREG(info.st_mode):
        with open(path, "rb") as f:
            return (*what, hashlib.sha256(f.read()).hexdigest())
    return what


class System:
    def __init__(self, root):
        self.root = root

    def run(self, script, path=PATH, net=True, timeout=RUN_S):
        """Runs a shell script in it; with REAL_PATH without the stub. Returns the CompletedProcess."""
        spaces = ["--mount", "--propagation=private", "--pid", "--fork", "--kill-child", *(["--net"] if net else [])]
        enter = ENTER if net else ENTER.replace("ip link set lo up\n", "")
        return subprocess.run(["unshare", *spaces, "sh", "-c", enter, "sh", str(self.root), script], capture_output=True, text=True,
                              timeout=timeout, stdin=subprocess.DEVNULL, check=False,
                              env={"PATH": path, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "HOME": "/"})

    def do(self, script, **more):
        """Runs it, which must succeed. Returns its output."""
        out = self.run(script, **more)
        assert out.returncode == 0, f"{script}\n{out.stdout}{out.stderr}"
        return out.stdout + out.stderr

    def install_dependencies(self, debs, limit_s):
        """Installs systemd and the dependencies of these packages. From then on it has the stub."""
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        self.take(debs)
        names = {deb.name.split("_")[0] for deb in debs}
        plan = self.do("apt-get -q update >&2; apt-get -s install --no-install-recommends /srv/debs/*.deb systemd", net=False, timeout=limit_s)
        wanted = [line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")]
        wanted = [name for name in wanted if name not in names]
        self.do(f"apt-get -q -y install --no-install-recommends {' '.join(wanted)}", net=False, timeout=limit_s)
        stand_in = self.root / "usr/local/bin/systemctl"
        stand_in.write_text(STAND_IN)
        stand_in.chmod(0o755)
        (self.root / "run/systemd/system").mkdir(parents=True)

    def take(self, debs):
        """Copies only these packages to /srv/debs."""
        folder = self.root / "srv/debs"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for deb in debs:
            shutil.copy(deb, folder)

    def install(self, debs):
        """Installs these. Returns the output of dpkg, and the requests to systemd."""
        self.take(debs)
        return self.asking("dpkg -i /srv/debs/*.deb")

    def asking(self, script):
        """(output of a script, its requests to systemctl)"""
        calls = self.root / CALLS
        calls.unlink(missing_ok=True)
        words = self.do(script)
        return words, calls.read_text().splitlines() if calls.exists() else []

    def tree(self, *folders):
        """{path: entry} of the system, or of some of its folders."""
        found = {}
        for folder in folders or ("",):
            for where, dirs, names in os.walk(self.root / folder):
                base = os.path.relpath(where, self.root)
                for name in [*dirs, *names]:
                    path = os.path.normpath(os.path.join(base, name))
                    if path not in PASSED_OVER and path not in BACKUPS:
                        full = os.path.join(where, name)
                        found[path] = entry(full, os.lstat(full))
                dirs[:] = [d for d in dirs if os.path.normpath(os.path.join(base, d)) not in PASSED_OVER]
        return found
