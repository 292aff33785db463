# SPDX-License-Identifier: Apache-2.0
"""assay doctor: each broken setup gets one line that says what to do."""
import hashlib
import os
import subprocess
import time

import pytest
from clock_fixtures import clock, clock_shift  # noqa: F401
from controller_stub import Stub, server_tls
from fixtures_controller import controller  # noqa: F401
from test_controller_access import certificates  # noqa: F401

NODE = "gpu-7"


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


class Host:
    """A host with a good setup, until a test breaks it."""

    def __init__(self, run, build, directory, c, ca):
        self.run, self.build, self.dir = run, build, directory
        for name in ("etc", "state", "run", "sys", "bin"):
            (directory / name).mkdir()
        self.token = directory / "etc" / "token"
        self.token.write_text("secret")
        self.token.chmod(0o600)
        self.config = directory / "etc" / "assayd.yaml"
        self.settings = {"v": 1, "controller": f"https://127.0.0.1:{c.port}", "node": NODE, "token_file": self.token, "ca": ca}
        (directory / "state" / "verdict.json").write_text("{}")
        self.env = {"ASSAY_CONF_DIR": str(directory / "etc"), "ASSAY_STATE_DIR": str(directory / "state"), "ASSAY_RUN_DIR": str(directory / "run"),
                    "ASSAY_SYSROOT": str(directory / "sys"), "PATH": f"{directory / 'bin'}:{os.environ['PATH']}"}
        self.write()

    def write(self, **other):
        self.settings.update(other)
        self.config.write_text("".join(f"{k}: {v}\n" for k, v in self.settings.items() if v is not None))

    def systemd(self, script):
        """The host runs systemd; the script answers for systemctl."""
        (self.dir / "sys" / "run" / "systemd" / "system").mkdir(parents=True)
        program = self.dir / "bin" / "systemctl"
        program.write_text("#!/bin/sh\n" + script)
        program.chmod(0o755)

    def pci(self, vendor, kind):
        device = self.dir / "sys" / "sys" / "bus" / "pci" / "devices" / "0000:01:00.0"
        device.mkdir(parents=True)
        (device / "vendor").write_text(vendor)
        (device / "class").write_text(kind)
        (device / "device").write_text("0x2330")

    def doctor(self, *args, **env):
        return self.run("assay", "doctor", *args, env={**self.env, **env})


@pytest.fixture
def host(controller, certificates, run, build, tmp_path):  # noqa: F811
    if not (build / "assay-doctor").exists():
        pytest.skip("assay-doctor is not built: libcurl or libsystemd is missing")
    (tmp_path / "tokens.yaml").write_text(f"v: 1\ntokens:\n  - {{sha256: {sha('secret')}, node: {NODE}}}\n  - {{sha256: {sha('other')}, node: gpu-8}}\n")
    c = controller("--tokens", tmp_path / "tokens.yaml", "--tls-cert", certificates / "server.pem", "--tls-key", certificates / "server.key",
                   tls=str(certificates / "ca.pem"))
    (tmp_path / "host").mkdir()
    h = Host(run, build, tmp_path / "host", c, certificates / "ca.pem")
    h.controller, h.certificates, h.mounted, h.stub = c, certificates, None, None
    yield h
    if h.mounted:
        subprocess.run(["umount", str(h.mounted)], check=True)
    if h.stub:
        h.stub.stop()


def test_a_host_that_is_set_up_well_has_nothing_bad(host):
    host.systemd("exit 0\n")
    done = host.doctor()
    assert done.returncode == 0 and "0 bad, 0 to look at" in done.stdout, done.stdout + done.stderr
    assert f"accepts reports from {NODE}" in done.stdout and "as the controller's" in done.stdout and "timers are active" in done.stdout


def no_config(h):
    h.config.unlink()


def disabled(h):
    (h.dir / "etc" / "disabled").touch()


def no_token(h):
    h.token.unlink()


def two_lines(h):
    h.token.write_text("a\nb\n")


def open_token(h):
    h.token.chmod(0o644)


def old_run(h):
    os.utime(h.dir / "state" / "verdict.json", (time.time() - 3 * 86400,) * 2)


def no_run(h):
    (h.dir / "state" / "verdict.json").unlink()


def many_wait(h):
    (h.dir / "state" / "spool").mkdir()
    for i in range(120):
        (h.dir / "state" / "spool" / f"{i}.json").write_text("{}")


def refused(h):
    (h.dir / "state" / "spool" / "bad").mkdir(parents=True)
    (h.dir / "state" / "spool" / "bad" / "1.json").write_text("{}")


def no_directory(h):
    h.env["ASSAY_STATE_DIR"] = str(h.config)


def small_disk(h, options):
    """The state directory is a separate file system, unmounted after the test."""
    state = h.dir / "state"
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(state)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {done.stderr.strip()}")
    h.mounted = state
    (state / "verdict.json").write_text("{}")
    if options:
        subprocess.run(["mount", "-o", f"remount,{options}", str(state)], check=True)


def expired(h):
    """The controller's certificate expired yesterday."""
    h.stub = Stub(server_tls(h.certificates / "expired.pem", h.certificates / "expired.key"))
    h.write(controller=h.stub.url)


def no_probe(h):
    for program in h.build.glob("assay-*"):
        if program.name != "assay-probe-gemm":
            (h.dir / "bin" / program.name).symlink_to(program)
    h.env["ASSAY_PROBE_DIR"] = str(h.dir / "bin")


# The fault, the item of its line, and words of the advice.
BROKEN = {
    "no-config": (no_config, "bad", "config", "assayctl join-command"),
    "unknown-key": (lambda h: h.write(colour="x"), "bad", "config", "colour"),
    "no-such-ca": (lambda h: h.write(ca="/nonexistent"), "bad", "config", "/nonexistent"),
    "localhost": (lambda h: h.write(node="localhost"), "bad", "name", "set node"),
    "disabled": (disabled, "bad", "switch", "rm "),
    "no-token": (no_token, "bad", "config", "token_file"),
    "two-lines": (two_lines, "bad", "token", "token"),
    "open-token": (open_token, "warn", "token", "chmod 600"),
    "unknown-token": (lambda h: h.token.write_text("wrong"), "bad", "controller", "token reset"),
    "token-of-another": (lambda h: h.token.write_text("other"), "bad", "controller", "node in assayd.yaml"),
    "wrong-name": (lambda h: h.write(node="gpu-9"), "bad", "controller", "does not accept reports from gpu-9"),
    "wrong-ca": (lambda h: h.write(ca=h.certificates / "stranger.pem"), "bad", "controller", "ca in assayd.yaml"),
    "wrong-host": (lambda h: h.write(controller=f"https://localhost:{h.controller.port}"), "bad", "controller", "certificate"),
    "wrong-port": (lambda h: h.write(controller="https://127.0.0.1:9"), "bad", "controller", "port in assayd.yaml"),
    "no-such-host": (lambda h: h.write(controller="https://no-such-host.invalid:9470"), "bad", "controller", "DNS"),
    "no-controller": (lambda h: h.controller.kill(), "bad", "controller", "start assay-controller"),
    "units-off": (lambda h: h.systemd("exit 3\n"), "bad", "units", "systemctl enable --now"),
    "not-at-boot": (lambda h: h.systemd('[ "$2" = is-active ]\n'), "warn", "units", "enabled at boot"),
    "no-driver": (lambda h: h.pci("0x10de", "0x030200"), "bad", "gpus", "install the NVIDIA driver"),
    "old-run": (old_run, "warn", "runs", "assay run"),
    "no-run": (no_run, "warn", "runs", "assay run"),
    "many-wait": (many_wait, "warn", "reports", "120 wait"),
    "refused": (refused, "warn", "reports", "set aside"),
    "no-probe": (no_probe, "bad", "probes", "install the whole suite"),
    "disk-full": (lambda h: small_disk(h, None), "bad", "state", "free some space"),
    "read-only": (lambda h: small_disk(h, "ro"), "bad", "state", "remount it read-write"),
    "expired": (expired, "bad", "controller", "renew that"),
    "no-directory": (no_directory, "bad", "state", "not a directory"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_each_broken_set_up_is_one_line_that_says_what_to_do(host, what):
    spoil, state, item, words = BROKEN[what]
    spoil(host)
    done = host.doctor()
    told = [line for line in done.stdout.splitlines() if line.startswith(("bad", "warn"))]
    assert len(told) == 1 and told[0].split()[:2] == [state, item] and words in told[0], done.stdout + done.stderr
    assert done.returncode == (state == "bad")


@pytest.mark.parametrize("off, state, words", [(0, "ok", "as the controller's"), (30, "warn", "ahead of"), (600, "bad", "ahead of")])
def test_a_clock_that_is_off_is_told_by_the_controllers(host, clock, off, state, words):  # noqa: F811
    os.utime(host.dir / "state" / "verdict.json", (time.time() + off,) * 2)
    clock.set(wall=off)
    done = host.doctor(**clock.env())
    told = next(line for line in done.stdout.splitlines() if line.split()[1] == "clock")
    assert told.startswith(state) and words in told, done.stdout + done.stderr


def test_what_the_doctor_does_not_know(host):
    done = host.doctor("--nonsense")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
