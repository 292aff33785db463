# SPDX-License-Identifier: Apache-2.0
"""Simulated hosts on one machine: network and mount namespaces on a switch, each with its own assayd, state and boot id.

    with Hosts(["host-0", "host-1"], folder, build) as hosts:
        hosts["host-0"].preload(library)                        # into every program of that host, by ld.so.preload
        hosts.serve({"policy": ...})                            # an assay-controller on the switch, and an assayd on each host
        hosts["host-0"].start("python3", "train.py", gpu=True)  # has the host's fake GPU device open
        hosts.ctl("jobs")                                       # runs assayctl

Everything ends with the processes that hold the namespaces, which exit at the end of their stdin.
"""
import contextlib
import hashlib
import json
import os
import pathlib
import secrets
import shutil
import subprocess
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
SWITCH, NET = "10.77.0.1", "10.77.0"
CALL_S, START_S, STOP_S, POLL_S = 120, 60, 20, 0.05
HOSTS_MAX = 64
MEASURE_S = 180  # for an undisturbed run of seven seconds
# The measurement: the CPUs, with the library that the job computes with.
PROFILES = {"v": 1, "profiles": {name: {"budget": "20s", "probes": [{"name": "gemm", "budget": "10s", "active": True}]}
                                 for name in ("quick", "full")}}
ETC_IGNORED = ("ssl",)  # large, and not needed here


class Unusable(Exception):
    """The reason why it cannot run."""


def call(*words, good=(0,), env=None):
    done = subprocess.run([str(w) for w in words], text=True, capture_output=True, timeout=CALL_S, check=False, env=env)
    if done.returncode not in good:
        raise Unusable(f"{pathlib.Path(words[0]).name}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def ended(process):
    if process.poll() is None:
        process.kill()
    process.wait(STOP_S)


def until(true, seconds, words, poll_s=POLL_S):
    """Waits for the condition; `words()` describes it."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise Unusable(f"after {seconds} s: {words()}")
        time.sleep(poll_s)


class Space:
    """Network and mount namespaces held only by a process."""

    def __init__(self, stack):
        words = ["unshare", "--net", "--mount", "--propagation", "private", "sh", "-c", "echo ready && exec cat"]
        self.holder = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        stack.callback(ended, self.holder)
        if not self.holder.stdout.readline():
            raise Unusable(f"namespaces cannot be made here: {self.holder.stderr.read().strip()}")
        self.run("ip", "link", "set", "lo", "up")

    def inside(self, *words):
        return ["nsenter", "-t", str(self.holder.pid), "-n", "-m", "--", *map(str, words)]

    def run(self, *words, **more):
        return call(*self.inside(*words), **more)

    def popen(self, *words, **more):
        return subprocess.Popen(self.inside(*words), **{"stdin": subprocess.DEVNULL, **more})


class Host(Space):
    """One host: a link to the switch, a GPU device that is a plain file, a boot id, an agent."""

    def __init__(self, name, number, hosts):
        super().__init__(hosts.stack)
        self.name, self.hosts, self.folder, self.address = name, hosts, hosts.folder / name, f"{NET}.{number + 2}"
        self.log = self.folder / "assayd.log"
        self.agent = None
        for part in ("tree/dev", "tree/proc", "conf", "state", "run"):
            (self.folder / part).mkdir(parents=True)
        (self.folder / "tree/dev/nvidia0").touch()
        digits = hashlib.sha256(f"{name}/{secrets.token_hex(8)}".encode()).hexdigest()
        boot = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))
        (self.folder / "boot_id").write_text(boot + "\n")
        self.run("mount", "--rbind", "/proc", self.folder / "tree/proc")  # for the probes' look at CPU usage
        self.run("mount", "--bind", self.folder / "boot_id", self.folder / "tree/proc/sys/kernel/random/boot_id")
        port = f"port{number}"
        hosts.switch.run("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", self.holder.pid)
        hosts.switch.run("ip", "link", "set", port, "master", "switch", "up")
        self.run("ip", "address", "add", f"{self.address}/24", "dev", "eth0")
        self.run("ip", "link", "set", "eth0", "up")

    def preload(self, library):
        """Sets the library that every new program on this host preloads, in place of the previous one."""
        etc = self.folder / "etc"
        if not etc.exists():
            shutil.copytree("/etc", etc, symlinks=True, ignore=lambda _, names: [n for n in names if n in ETC_IGNORED])
            self.run("mount", "--bind", etc, "/etc")
        (etc / "ld.so.preload").write_text(f"{library}\n")

    def start(self, *words, gpu=False, env=None, **more):
        """Starts a process on this host; with `gpu` it has the GPU open."""
        held = [os.open(self.folder / "tree/dev/nvidia0", os.O_RDONLY)] if gpu else []
        try:
            process = self.popen(*words, env={**os.environ, **(env or {})}, pass_fds=held, **more)
        finally:
            for fd in held:
                os.close(fd)
        self.hosts.stack.callback(ended, process)
        return process

    def env(self):
        return {"ASSAY_SYSROOT": str(self.folder / "tree"), "ASSAY_CONF_DIR": str(self.folder / "conf"), "ASSAY_NODE": self.name,
                "ASSAY_POLICY_DIR": str(self.hosts.folder / "policies"), "ASSAY_STATE_DIR": str(self.folder / "state"), "ASSAY_RUN_DIR": str(self.folder / "run")}

    def start_agent(self):
        config = {"v": 1, "controller": self.hosts.url, "node": self.name, "token_file": str(self.folder / "conf/token"),
                  "watch": {"links": False, "kernel_log": False}, "collectives": {"enabled": False}}
        (self.folder / "conf/assayd.yaml").write_text(json.dumps(config))
        with open(self.log, "w", encoding="utf-8") as log:
            self.agent = self.start(self.hosts.build / "assayd", env=self.env(), stderr=log)
        self.wait_for("connected to the controller")

    def wait_for(self, words):
        """Waits for a message of the agent."""
        until(lambda: words in self.log.read_text() or self.agent.poll() is not None, START_S,
              lambda: f"{self.name}: assayd does not say '{words}': {self.log.read_text().strip()[-400:]}")
        if self.agent.poll() is not None:
            raise Unusable(f"{self.name}: assayd ended: {self.log.read_text().strip()[-400:]}")

    def look_for_ranks(self, count=1):
        """Reloads the agent, which otherwise looks once a minute, until the controller knows this many ranks."""
        self.agent.send_signal(1)
        until(lambda: self.ranks_told() == count or self.agent.poll() is not None, START_S,
              lambda: f"{self.name}: assayd has told of {self.ranks_told()} ranks, not {count}: {self.log.read_text().strip()[-400:]}")

    def ranks_told(self):
        told = [line.rpartition("n=")[2] for line in self.log.read_text().splitlines() if "ranks sent" in line]
        return int(told[-1]) if told else 0

    def measure(self):
        """Makes a full run as its timer does, repeats it if the host was busy, and waits until the controller has the report."""
        deadline = time.monotonic() + MEASURE_S
        while True:
            done = self.run(self.hosts.build / "assay", "run", "--profile", "full", "--report", env={**os.environ, **self.env()}, good=(0, 1, 3))
            busy = [line for line in done.splitlines() if "busy" in line]
            if not busy:
                break
            if time.monotonic() > deadline:
                raise Unusable(f"{self.name}: other work keeps the processors busy, for {MEASURE_S} s now: {busy[0].strip()}")
        until(lambda: not list((self.folder / "state/spool").glob("*.json")), START_S, lambda: f"{self.name}: the report is not sent")


class Here(Space):
    """Our own namespaces, which must be private (unshare --net --mount)."""

    def __init__(self):  # pylint: disable=super-init-not-called
        self.run("ip", "link", "set", "lo", "up")

    def inside(self, *words):
        return [str(w) for w in words]


class Hosts(dict):
    """Hosts by name. `here`: the switch, and so the controller, is in our own namespaces, which are otherwise empty."""

    def __init__(self, names, folder, build, here=False):
        super().__init__()
        self.folder, self.build, self.stack, self.url, self.controller = folder, build, contextlib.ExitStack(), None, None
        self.tokens = {}
        with contextlib.ExitStack() as stack:
            stack.callback(self.stack.close)
            if len(names) > HOSTS_MAX:
                raise Unusable(f"{len(names)} hosts are more than {HOSTS_MAX}")
            self.switch = Here() if here else Space(self.stack)
            self.switch.run("ip", "link", "add", "switch", "type", "bridge")
            self.switch.run("ip", "address", "add", f"{SWITCH}/24", "dev", "switch")
            self.switch.run("ip", "link", "set", "switch", "up")
            for number, name in enumerate(names):
                self[name] = Host(name, number, self)
            stack.pop_all()

    def token(self, **who):
        """Adds a new token to tokens.yaml. Returns the token."""
        text = secrets.token_hex(16)
        self.tokens[text] = {"sha256": hashlib.sha256(text.encode()).hexdigest(), **who}
        return text

    def serve(self, policy, config=None, words=(), env=None):
        """Starts a controller on the switch, with this policy, additional configuration, options and environment, and an agent on each host."""
        folder = self.folder / "controller"
        folder.mkdir()
        shutil.copytree(TOP / "policies", self.folder / "policies")
        (self.folder / "policies/profiles.yaml").write_text(json.dumps(PROFILES))
        for host in self.values():
            (host.folder / "conf/token").write_text(self.token(node=host.name))
            (host.folder / "conf/token").chmod(0o600)
        (folder / "token").write_text(self.token(role="operate", name="job"))
        (folder / "token").chmod(0o600)
        (folder / "tokens.yaml").write_text(json.dumps({"v": 1, "tokens": list(self.tokens.values())}))
        (folder / "policy.yaml").write_text(json.dumps(policy))
        (folder / "controller.yaml").write_text(json.dumps({
            "v": 1, "listen": f"{SWITCH}:0", "db": str(folder / "assay.db"), "tokens": str(folder / "tokens.yaml"),
            "policy": str(folder / "policy.yaml"), "insecure": True, **(config or {})}))
        log = self.stack.enter_context(open(folder / "controller.log", "w", encoding="utf-8"))
        process = self.switch.popen(self.build / "assay-controller", "--config", folder / "controller.yaml", *words, stdout=subprocess.PIPE,
                                    stderr=log, text=True, env={**os.environ, **(env or {})})
        self.controller = process
        self.stack.callback(ended, process)
        line = process.stdout.readline()  # returns at its exit
        if not line.startswith("listening on "):
            raise Unusable(f"assay-controller did not start: {(folder / 'controller.log').read_text().strip()}")
        self.url = "http://" + line.split()[-1]
        for host in self.values():
            host.start_agent()

    def ctl(self, *words, good=(0,)):
        return self.switch.run(self.build / "assayctl", *words, "--controller", self.url, "--token-file", self.folder / "controller/token",
                               good=good)

    def __enter__(self):
        return self

    def __exit__(self, kind, problem, _):
        has_ended = problem is not None and self.controller is not None and self.controller.poll() is not None
        self.stack.close()
        if has_ended:
            last = (self.folder / "controller/controller.log").read_text().strip().splitlines()[-1:]
            raise Unusable(f"assay-controller ended: {''.join(last)}") from problem
