# SPDX-License-Identifier: Apache-2.0
"""Commands of scripts/test: what they see of this host, when they end, and the processor time they took."""
import concurrent.futures
import contextlib
import contextvars
import os
import select
import subprocess
import threading

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CACHE = os.environ.get("ASSAY_CACHE") or os.path.join(os.path.expanduser("~"), ".cache", "assay")
# Nice values of what computes beside what waits: a tenth of its share, a third of it where the longest lanes wait for it.
LAST, SOON = 10, 5


class Spent:
    """Processor seconds of commands that ran, and of all they waited for; threads may add at once."""

    def __init__(self):
        self.seconds = 0.0
        self.lock = threading.Lock()

    def add(self, usage):
        with self.lock:
            self.seconds += usage.ru_utime + usage.ru_stime


# Where run() adds what a command took: each part sets its own.
SPENT = contextvars.ContextVar("SPENT", default=Spent())


def beside(function, items, at_once):
    """[function(item) for each], so many of them at once; what they spend counts as the caller's."""
    with concurrent.futures.ThreadPoolExecutor(at_once, initializer=SPENT.set, initargs=(SPENT.get(),)) as pool:
        return list(pool.map(function, items))


def environment(build=None, full=False):
    env = dict(os.environ, CCACHE_DIR=os.path.join(CACHE, "ccache"), CCACHE_BASEDIR=TOP, CCACHE_NOHASHDIR="1",
               ASAN_OPTIONS="detect_leaks=1:detect_stack_use_after_return=1",
               UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1", PYTHONDONTWRITEBYTECODE="1")
    for name in [n for n in env if n.startswith("ASSAY_") and n not in ("ASSAY_CACHE", "ASSAY_JOBS", "ASSAY_PACKAGES", "ASSAY_TRACES")]:
        del env[name]  # a test sees this host's settings only when it sets them
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        env.pop(name, None)
    if build:
        env["ASSAY_BUILD"] = build
    if full:
        env["ASSAY_FULL"] = "1"
    return env


def step_behind(pid, nice):
    """Let others go first. Linux shares the cores between sessions, and a session is what run() makes: sched(7), The
    autogroup feature."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PGRP, pid, nice)
        with open("/proc/%d/autogroup" % pid, "w") as f:
            f.write(str(nice))


def run(command, log, limit, where, env, behind=0):
    """Exit status of a command whose words go to `log`, 124 after `limit` seconds; its whole group ends with it. `behind`
    is its nice value."""
    with open(log, "w") as out:
        child = subprocess.Popen(command, cwd=where, env=env, stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=subprocess.STDOUT, start_new_session=True)
        end = os.pidfd_open(child.pid)
        try:
            if behind:
                step_behind(child.pid, behind)
            in_time = bool(select.select([end], [], [], limit)[0])
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, 9)
            os.close(end)
            status, usage = os.wait4(child.pid, 0)[1:]
            child.returncode = os.waitstatus_to_exitcode(status)  # or subprocess would wait for it again
            SPENT.get().add(usage)
        if not in_time:
            out.write("\nended after %d s\n" % limit)
        return child.returncode if in_time else 124
