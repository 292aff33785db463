# SPDX-License-Identifier: Apache-2.0
"""A small site: machines with their own systemd, host name and network, on copy-on-write views of this system.

The first one is the centre of a star: it has a veth pair to each of the others, which reach only it. The site is invisible outside
and ends with the test. With `root` they are views of a Debian system in a folder, with the packages `debs` in /root.
"""
import os
import shutil
import subprocess
from pathlib import Path

import booted
from waiting import wait_for

NETWORK = "10.77.0."
COMMAND_S, ASK_S, START_S = 120, 5, 180
TOOLS = ("unshare", "nsenter", "ip", "systemctl", "hostname", "systemd-sysusers")

# $1 OUT, $2 the installed tree or nothing, $3 the unit path, $4 the name, $5 the folder of a Debian system or /
START = r"""
set -e
hostname "$4"
mount --make-rprivate /
out=$1 tree=$2 units=$3 root=$5
if [ "$root" = / ]; then
  mount -t tmpfs tmpfs /run
  mkdir /run/out /run/view
  mount --bind "$out" /run/out
  mount -t tmpfs tmpfs /run/view
  for dir in etc usr var opt $(cd "$tree" && ls); do
    case " $seen " in *" $dir "*) continue ;; esac
    seen="$seen $dir" lower=/$dir
    [ ! -d "/$dir" ] && continue
    [ ! -d "$tree/$dir" ] || lower=$tree/$dir:/$dir
    mkdir -p "/run/view/$dir/upper" "/run/view/$dir/work"
    mount -t overlay -o "lowerdir=$lower,upperdir=/run/view/$dir/upper,workdir=/run/view/$dir/work" overlay "/$dir"
  done
  mount -t tmpfs tmpfs /etc/systemd/system
else
  mount -t tmpfs tmpfs /run
  mkdir -p /run/view/upper /run/view/work /run/root
  mount -t overlay -o "lowerdir=$root,upperdir=/run/view/upper,workdir=/run/view/work" overlay /run/root
  cd /run/root
  mkdir -p .old proc sys dev run
  mount -t proc proc proc
  mount --rbind /sys sys
  mount --rbind /dev dev
  mount -t tmpfs tmpfs run
  mkdir run/out
  mount --bind "$out" run/out
  pivot_root . .old
  umount -l /.old
  rm -f /usr/local/bin/systemctl
  cp /run/out/debs/*.deb /root/
  # What is recommended is on the net, which is not here, and apt would ask.
  echo 'APT::Install-Recommends "false";' >/etc/apt/apt.conf.d/99assay-test
fi
cat /run/out/hosts >/etc/hosts
echo "$4" >/etc/hostname
umount -R /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
[ -z "$tree" ] || systemd-sysusers $(find /usr -path '*/sysusers.d/assay-controller.conf')
if [ ! -x /usr/bin/sudo ]; then
  mkdir -p /usr/local/bin
  printf '#!/bin/sh\nexec "$@"\n' >/usr/local/bin/sudo
  chmod 755 /usr/local/bin/sudo
fi
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=other SYSTEMD_UNIT_PATH="/run/out/units:/etc/systemd/system:$units" \
  SYSTEMD_GENERATOR_PATH=/run/out SYSTEMD_ENVIRONMENT_GENERATOR_PATH=/run/out \
  %s --system --unit=up.target --log-target=console --log-level=notice --show-status=no </dev/null
""" % booted.SYSTEMD

TARGETS = (*booted.TARGETS, "multi-user", "network-online", "up")
# There is no journal.
DROP_IN = "[Service]\nStandardOutput=append:/run/out/words\nStandardError=append:/run/out/words\n"


class Machine:
    """A machine of a site; `out` is its /run/out."""

    def __init__(self, name, address, out):
        self.name, self.address, self.out = name, address, out
        self.process = self.pid = None
        self.exported = {}

    def enter(self, *more):
        return ["nsenter", "-t", str(self.pid), "--mount", "--net", "--pid", "--uts", "--ipc", *more]

    def run(self, command, timeout=COMMAND_S):
        """Runs a line of shell as root in the home directory; exports persist to the next one. Returns the CompletedProcess."""
        script = f"cd /root 2>/dev/null || cd /\n{command}\nstatus=$?\nexport -p >/run/out/exported\nexit $status\n"
        env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "COLUMNS": "100"}
        before = ". /run/out/exported\n" if (self.out / "exported").exists() else ""
        return subprocess.run([*self.enter(), "bash", "-c", before + script], env=env, capture_output=True, text=True, timeout=timeout,
                              stdin=subprocess.DEVNULL, check=False)

    def words(self):
        """Its output, for a failure message."""
        return "".join(f"--- {self.name} {p.name}\n{p.read_text(errors='replace')[-3000:]}" for p in (self.out / "console", self.out / "words") if p.exists())


class Site:
    """with Site(directory, names, tree=installed, units="/usr/lib/systemd/system") as site: site["gpu-1"].run("...")"""

    def __init__(self, directory, names, tree=None, units="/lib/systemd/system", root="/", debs=()):
        if os.geteuid() != 0:
            raise booted.CannotBoot("only root can start a systemd in its own name spaces")
        for tool in (booted.SYSTEMD, *TOOLS):
            if not shutil.which(tool):
                raise booted.CannotBoot(f"{tool} is missing: apt-get install systemd util-linux iproute2")
        self.tree, self.units, self.root, self.debs = tree, units, root, debs
        self.machines = {name: Machine(name, f"{NETWORK}{i}", Path(directory) / name) for i, name in enumerate(names, 1)}
        self.cgroup = None

    def __getitem__(self, name):
        return self.machines[name]

    def write(self, machine, domain="example.com"):
        units = machine.out / "units"
        units.mkdir(parents=True)
        for name in TARGETS:
            (units / f"{name}.target").write_text("[Unit]\nDefaultDependencies=no\n")
        for name in ("assay-.service.d", "assayd.service.d"):
            (units / name).mkdir()
            (units / name / "test.conf").write_text(DROP_IN)
        rows = ["127.0.0.1 localhost", *(f"{m.address} {m.name}.{domain} {m.name}" for m in self.machines.values())]
        (machine.out / "hosts").write_text("\n".join(rows) + "\n")
        (machine.out / "debs").mkdir()
        for deb in self.debs:
            shutil.copy(deb, machine.out / "debs")

    def start(self, machine):
        self.write(machine)
        command = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--uts", "--ipc", "--cgroup", "--mount-proc", "sh", "-c", START,
                   "sh", str(machine.out), str(self.tree or ""), self.units, machine.name, str(self.root)]

        # Its own cgroup tree: in a shared one, units of the same name share a cgroup, and one systemd would stop the others' units.
        group = self.cgroup / machine.name
        group.mkdir()

        def enter():
            (group / "cgroup.procs").write_text(str(os.getpid()))

        with open(machine.out / "console", "w") as console:
            machine.process = subprocess.Popen(command, preexec_fn=enter, stdin=subprocess.DEVNULL, stdout=console, stderr=console)

    def started(self, machine):
        """Wait until its systemd answers."""
        children = Path(f"/proc/{machine.process.pid}/task/{machine.process.pid}/children")

        def up():
            if machine.process.poll() is not None:
                raise booted.CannotBoot("systemd does not start here: " + " ".join(machine.words().split())[-300:])
            machine.pid = int((children.read_text().split() or ["0"])[0])
            try:
                # Only once it is systemd: before that it has a different /run, where nothing answers.
                is_systemd = machine.pid and Path(f"/proc/{machine.pid}/comm").read_text() == "systemd\n"
                return is_systemd and "up.target" in machine.run("systemctl is-active up.target && echo up.target", ASK_S).stdout
            except (OSError, subprocess.TimeoutExpired):
                return False

        if not wait_for(up, START_S):
            raise booted.CannotBoot("systemd does not answer: " + " ".join(machine.words().split())[-300:])

    def connect(self):
        """Connects the first machine to each other one. Done from outside, by entering only their network namespaces."""
        first, *others = self.machines.values()
        lines = [(machine, "ip link set lo up") for machine in self.machines.values()]
        for i, other in enumerate(others, 1):
            cable = f"to{i}"
            lines += [(first, f"ip link add {cable} type veth peer name eth0 netns {other.pid}"),
                      (first, f"ip addr add {first.address}/32 dev {cable}; ip link set {cable} up; ip route add {other.address} dev {cable}"),
                      (other, f"ip addr add {other.address}/32 dev eth0; ip link set eth0 up; ip route add {first.address} dev eth0")]
        for machine, line in lines:
            done = subprocess.run(["nsenter", "-t", str(machine.pid), "--net", "sh", "-ec", line], capture_output=True, text=True, timeout=COMMAND_S, check=False)
            if done.returncode:
                raise booted.CannotBoot("no network between name spaces: " + done.stderr.strip())

    def __enter__(self):
        self.cgroups = booted.cgroup()
        self.cgroup = self.cgroups.__enter__()
        try:
            for machine in self.machines.values():
                self.start(machine)
            for machine in self.machines.values():
                self.started(machine)
            self.connect()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_):
        for machine in self.machines.values():
            if machine.process:
                machine.process.kill()  # and with it its whole namespace: --kill-child
                machine.process.wait()
        wait_for(lambda: "populated 0" in (self.cgroup / "cgroup.events").read_text(), START_S)
        self.cgroups.__exit__(None, None, None)
