# SPDX-License-Identifier: Apache-2.0
"""Boots guests and collects the output of their scenario."""
import contextlib
import itertools
import re
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import image

BOOT_S = 120  # mostly for emulation on a loaded machine
MEMORY_MIB = 1024
PROCESSORS = 2


@dataclass
class Result:
    status: int | None  # of the scenario; None if it did not end
    output: str
    console: str  # of the kernel, for failures
    seconds: float


def command(kernel, initrd, directory, extra):
    # no_timer_check: on a busy machine the timer may not tick during the kernel's check, which then panics.
    return [image.tool("qemu-system-x86_64"), "-accel", "tcg,thread=multi", "-cpu", "max", "-m", str(MEMORY_MIB),
            "-smp", str(PROCESSORS), "-nodefaults", "-display", "none", "-no-reboot", "-kernel", str(kernel),
            "-initrd", str(initrd), "-append", "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check",
            "-serial", f"file:{directory}/console", "-serial", f"file:{directory}/output", *extra]


def read(path):
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        return ""


class Guest:
    """One booted guest, in a directory of its own."""

    def __init__(self, directory, kernel, scenario, build, environ, extra=(), pass_fds=()):
        self.directory = Path(directory)
        image.write(self.directory / "initrd", kernel, scenario, build, environ)
        self.begin = time.monotonic()
        self.process = subprocess.Popen(command(kernel, self.directory / "initrd", self.directory, extra),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        pass_fds=pass_fds)

    def stop(self):
        """Kills the guest, so that none outlives its parent."""
        self.process.kill()
        self.process.wait()

    def end(self, timeout_s):
        """Waits at most `timeout_s` for its end. Returns its Result."""
        try:
            self.process.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self.stop()
        output, console = read(self.directory / "output"), read(self.directory / "console")
        with self.process.stderr as words:
            console += words.read().decode(errors="replace")
        found = re.search(r"^guest: status (\d+)$", output, re.MULTILINE)
        return Result(int(found[1]) if found else None, output[:found.start()] if found else output, console,
                      time.monotonic() - self.begin)


def run(scenario, build=None, timeout_s=120, environ=None, extra=()):
    """Runs one scenario in one guest; always ends within BOOT_S + timeout_s."""
    kernel = image.fetch_kernel()
    with tempfile.TemporaryDirectory(prefix="assay-guest.") as name, contextlib.ExitStack() as stack:
        guest = Guest(name, kernel, scenario, build, environ or {}, extra)
        stack.callback(guest.stop)
        return guest.end(BOOT_S + timeout_s)


def wires(count):
    """QEMU network options for each of `count` guests, and the sockets they refer to: (options, sockets).

    Two guests are connected directly. With more, the first has a hub, so that any other may exit without disconnecting the rest.
    """
    pairs = [socket.socketpair() for _ in range(count - 1)]

    def port(end):
        return ["-netdev", f"socket,id=wire{end.fileno()},fd={end.fileno()}"]

    def device(index, netdev):
        return ["-device", f"e1000,netdev={netdev},mac=52:54:00:00:00:{index + 10:02x}"]

    first = [pair[0] for pair in pairs]
    if count == 2:
        options = [port(first[0]) + device(0, f"wire{first[0].fileno()}")]
    else:
        hub = ["-netdev", "hubport,id=hub,hubid=0", *device(0, "hub")]
        for end in first:
            hub += port(end) + ["-netdev", f"hubport,id=hub{end.fileno()},hubid=0,netdev=wire{end.fileno()}"]
        options = [hub]
    options += [port(end) + device(i + 1, f"wire{end.fileno()}") for i, (_, end) in enumerate(pairs)]
    return options, [first] + [[end] for _, end in pairs]


def run_many(scenario, letters, build=None, timeout_s=120, environ=None):
    """Runs the same scenario in guests on one network, with GUEST=a, b... Returns all Results."""
    kernel = image.fetch_kernel()
    options, ends = wires(len(letters))
    with tempfile.TemporaryDirectory(prefix="assay-guest.") as name, contextlib.ExitStack() as stack:
        for end in itertools.chain(*ends):
            stack.enter_context(end)
        guests = []
        for letter, words, mine in zip(letters, options, ends):
            directory = Path(name, letter)
            directory.mkdir()
            guests.append(Guest(directory, kernel, scenario, build, (environ or {}) | {"GUEST": letter, "GUESTS": " ".join(letters)}, words,
                                [end.fileno() for end in mine]))
            stack.callback(guests[-1].stop)
        deadline = time.monotonic() + BOOT_S + timeout_s
        return [guest.end(max(0, deadline - time.monotonic())) for guest in guests]
