# SPDX-License-Identifier: Apache-2.0
"""A private systemd: process 1 of its own namespaces, on copy-on-write views of this system.

Nothing it does is visible outside, except what its script writes under OUT.
"""
import contextlib
import os
import shutil
import subprocess
from pathlib import Path

SYSTEMD = "/lib/systemd/systemd"
TIMEOUT_S = 180
TARGETS = ("sysinit", "basic", "shutdown", "umount", "timers", "network")

# $1 OUT, $2 the installed tree, $3 the unit path
START = r"""
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /run
mkdir /run/out /run/view
mount --bind "$1" /run/out
mount -t tmpfs tmpfs /run/view
for dir in dev etc usr var opt $(cd "$2" && ls); do
  case " $seen " in *" $dir "*) continue ;; esac
  seen="$seen $dir" lower=/$dir
  [ ! -d "/$dir" ] && continue
  [ ! -d "$2/$dir" ] || lower=$2/$dir:/$dir
  mkdir -p "/run/view/$dir/upper" "/run/view/$dir/work"
  mount -t overlay -o "lowerdir=$lower,upperdir=/run/view/$dir/upper,workdir=/run/view/$dir/work" overlay "/$dir"
done
umount -R /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=other SYSTEMD_UNIT_PATH="/run/out/units:$3" \
  SYSTEMD_GENERATOR_PATH=/run/out SYSTEMD_ENVIRONMENT_GENERATOR_PATH=/run/out \
  %s --system --unit=script.service --log-target=console --log-level=notice --show-status=no </dev/null
""" % SYSTEMD

SCRIPT_UNIT = """[Unit]
DefaultDependencies=no
SuccessAction=exit-force
FailureAction=exit-force
[Service]
Type=oneshot
ExecStart=/bin/sh /run/out/script
StandardOutput=file:/run/out/stdout
StandardError=file:/run/out/stderr
"""

# There is no journal, and systemd forgets units that have ended, so the unit writes its own result.
DROP_IN = """[Service]
StandardOutput=append:/run/out/words
StandardError=append:/run/out/words
ExecStopPost=+/bin/sh -c 'echo "$SERVICE_RESULT $EXIT_STATUS" >>/run/out/%N.ended'
"""


class CannotBoot(Exception):
    """The reason why a private systemd is not possible on this host."""


def _own_cgroup():
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    roots = [m[1] for m in mounts if m[2] == "cgroup2"]
    own = [line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")]
    if not roots or not own:
        raise CannotBoot("no cgroup2 here")
    return Path(roots[0] + own[0])


@contextlib.contextmanager
def cgroup():
    path = _own_cgroup() / f"assay-test-{os.getpid()}"
    try:
        path.mkdir()
    except OSError as e:
        raise CannotBoot(f"cannot make a control group: {e}") from e
    try:
        yield path
    finally:
        for where, _, _ in os.walk(path, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(where)


def _write_units(out):
    units = out / "units"
    units.mkdir(parents=True)
    for name in TARGETS:
        (units / f"{name}.target").write_text("[Unit]\nDefaultDependencies=no\n")
    (units / "script.service").write_text(SCRIPT_UNIT)
    dropin = units / "assay-.service.d"
    dropin.mkdir()
    (dropin / "test.conf").write_text(DROP_IN)


def boot(out, installed, unit_dir, script):
    """Run the shell `script` as a unit of a systemd that has `installed` mounted over this system.

    `unit_dir` is the directory of the units, as seen inside. `out` is /run/out inside.
    Raises CannotBoot if this host does not allow it.
    """
    if os.geteuid() != 0:
        raise CannotBoot("only root can start a systemd in its own name spaces")
    for tool in (SYSTEMD, "unshare", "systemctl"):
        if not shutil.which(tool):
            raise CannotBoot(f"{tool} is missing: apt-get install systemd util-linux")
    _write_units(out)
    (out / "script").write_text(script + "\necho done >/run/out/done\n")
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--uts", "--ipc", "--cgroup", "--mount-proc",
               "sh", "-c", START, "sh", str(out), str(installed), str(unit_dir)]
    with cgroup() as group, open(out / "console", "w") as console:
        def enter():
            (group / "cgroup.procs").write_text(str(os.getpid()))

        try:
            subprocess.run(command, preexec_fn=enter, stdin=subprocess.DEVNULL, stdout=console, stderr=console,
                           timeout=TIMEOUT_S, check=False)
        except subprocess.SubprocessError as e:
            raise CannotBoot(f"cannot start it: {e}") from e
    if not (out / "done").exists() and not (out / "stdout").exists():
        raise CannotBoot("systemd does not start here: " + " ".join((out / "console").read_text().split())[-300:])
