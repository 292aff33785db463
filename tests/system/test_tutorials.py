# SPDX-License-Identifier: Apache-2.0
"""docs/tutorials: each command works in a fresh environment, prints what the page shows, and there are no more than claimed.

Bare metal runs here on machines with their own network and systemd, with the files of `make install`. With the packages, in clean
Debian systems: tests/packages. Kubernetes: tests/kube/test_tutorial_kube.py.
"""
import os
import re
import signal
import subprocess
from pathlib import Path

import booted
import machines
import pytest
import tutorials
from collective_fixtures import free_port
from waiting import wait_for

pytestmark = pytest.mark.once

MOST = {"bare-metal.md": 12, "kubernetes.md": 6}
END = "end of what it printed"
LAPTOP_S = 60
PORT = 9470


def page(top, name):
    return tutorials.blocks(top / "docs/tutorials" / name)


@pytest.mark.parametrize("name, most", MOST.items())
def test_there_are_no_more_commands_than_promised(top, name, most):
    counted = sum(block.counted for block in page(top, name))
    assert counted == most
    assert {12: "in twelve commands", 6: "in six commands"}[most] in (top / "docs/tutorials" / name).read_text()


@pytest.mark.parametrize("shapes, output, lacks", [
    (["a ... 7 b"], "a  x 123 b\n", None), (["a ... b"], "a b c\n", "a ... b"), (["x", "y"], "y\nx\n", "y"), (["3 hosts..."], "4 hosts: 4 pass\n", None),
    (["... (x)"], "y (x)\n", None)])
def test_shapes(shapes, output, lacks):
    assert tutorials.missing(shapes, output) == lacks


class Shell:
    """One shell for a whole page."""

    def __init__(self, env, cwd):
        self.process = subprocess.Popen(["bash", "--norc"], env=env, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, start_new_session=True)

    def __call__(self, _, command):
        self.process.stdin.write(f"{command}\necho '{END}' $?\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.startswith(END):
                return int(line.split()[-1]), "".join(lines)
            lines.append(line)
        pytest.fail(f"{command}: the shell ended\n{''.join(lines)}")

    def end(self):
        with_its_children = self.process.pid
        try:
            os.killpg(with_its_children, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def test_the_laptop(top, build, environ, configured, tmp_path):
    if any(not (build / name).exists() for name in ("assay-controller", "assayctl", "assayd")) or configured("without-cblas"):
        pytest.skip("this build leaves out programs that the page uses")
    env = {k: v for k, v in environ.items() if not k.startswith("ASSAY_") or k == "ASSAY_KMSG"}
    home = tmp_path / "home"
    home.mkdir()
    env |= {"PATH": f"{build}:{env['PATH']}", "HOME": str(home), "ASSAY_BUILD": str(build), "TMPDIR": str(tmp_path)}
    port = free_port()
    env["ASSAY_CONTROLLER"] = f"http://127.0.0.1:{port}"
    shell = Shell(env, top)
    try:
        player = tutorials.Player(shell, lambda command: command.replace(f":{PORT}", f":{port}")).play(page(top, "laptop.md"))
    finally:
        shell.end()
    assert len(player.ran) >= 12 and player.left_out == []
    assert list(home.iterdir()) == []


@pytest.fixture
def site(installed, installed_units, build, configured, tmp_path):
    if configured("enable-sanitizers") or not (build / "assay-join").exists() or not (build / "assay-controller").exists():
        pytest.skip("needs the plain build, with libcurl, libsystemd and a controller")
    try:
        with machines.Site(tmp_path / "site", ["controller", "gpu-1", "gpu-2", "gpu-3"], installed, "/" + str(installed_units.relative_to(installed))) as made:
            yield made
    except booted.CannotBoot as why:
        pytest.skip(f"no machines here: {why}")


def hosts_still_speak(site):
    assert wait_for(lambda: "3 hosts" in site["controller"].run("assayctl nodes").stdout)
    site["gpu-1"].run("systemctl start assay-passive.service")
    assert wait_for(lambda: "is connected; reports waiting: 0" in site["gpu-1"].run("systemctl show -p StatusText assayd").stdout)


def operate(top, site, player):
    """docs/operations.md on the same site: after restoring the backup, there and on another machine, the hosts are known and still report."""
    page = tutorials.blocks(top / "docs/operations.md")
    before = len(player.ran)
    player.play([block for block in page if block.where == ["controller"]])
    assert len(player.ran) - before >= 9
    hosts_still_speak(site)
    # Another machine of that name has only the archive.
    site["controller"].run("systemctl disable --now assay-controller; rm -rf /etc/assay /var/lib/assay-controller /var/lib/private/assay-controller")
    player.play([block for block in page if any("--restore" in line for line in block.lines)])
    hosts_still_speak(site)
    player.play([block for block in page if block.where == ["gpu-1"]])
    assert "inactive" in site["gpu-1"].run("systemctl is-active assayd assay-passive.timer").stdout


def test_three_hosts_on_bare_metal(top, site):
    packages = set(re.findall(r"^Package: (\S+)", (top / "debian/control").read_text(), re.M))

    def replaced(command):
        """`make install` has installed it; only checks that packages of these names would exist."""
        if not command.startswith("apt install"):
            return command
        assert {re.fullmatch(r"\./([a-z-]+)_\*\.deb", word)[1] for word in command.split()[2:]} <= packages
        return None

    def run(name, command):
        done = site[name].run(command)
        return done.returncode, done.stdout + done.stderr

    groups = {Path(f"/proc/{machine.pid}/cgroup").read_text() for machine in site.machines.values()}
    assert len(groups) == len(site.machines)  # or one systemd would stop processes of the others
    try:
        player = tutorials.Player(run, replaced).play(page(top, "bare-metal.md"))
    except AssertionError:
        print(*(m.words() for m in site.machines.values()))
        raise
    assert len(player.left_out) == 4 and len(player.ran) >= 8
    units = "assayd assay-passive.timer assay-quick.timer assay-full.timer"
    assert all(site[f"gpu-{i}"].run(f"systemctl is-enabled {units}").returncode == 0 for i in (1, 2, 3))
    operate(top, site, player)
    assert site["gpu-2"].run("stat -c '%a %U' /etc/assay/token").stdout == "600 root\n"
    assert site["controller"].run("systemctl show -p User --value assay-controller").stdout == "assay-controller\n"
    assert site["controller"].run("assayctl node gpu-3").stdout.startswith("gpu-3: ")
