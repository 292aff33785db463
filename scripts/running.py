# SPDX-License-Identifier: Apache-2.0
"""Commands of scripts/test: their environment, time limits, and CPU time."""
import concurrent.futures
import contextlib
import contextvars
import os
import select
import subprocess
import threading

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CACHE = os.environ.get("ASSAY_CACHE") or os.path.join(os.path.expanduser("~"), ".cache", "assay")
# Nice values of computing commands beside waiting ones: a tenth of the share, or a third if the longest lanes wait for them.
LAST, SOON = 10, 5


class Spent:
    """CPU seconds of commands and of their children; thread-safe."""

    def __init__(self):
        self.seconds = 0.0
        self.lock = threading.Lock()

    def add(self, usage):
        with self.lock:
            self.seconds += usage.ru_utime + usage.ru_stime


# Where run() adds the CPU time of a command; each part sets its own.
SPENT = contextvars.ContextVar("SPENT", default=Spent())


def beside(function, items, at_once):
    """[function(item) for each], in parallel; their CPU time counts as the caller's."""
    with concurrent.futures.ThreadPoolExecutor(at_once, initializer=SPENT.set, initargs=(SPENT.get(),)) as pool:
        return list(pool.map(function, items))


def environment(build=None, full=False):
    env = dict(os.environ, CCACHE_DIR=os.path.join(CACHE, "ccache"), CCACHE_BASEDIR=TOP, CCACHE_NOHASHDIR="1",
               ASAN_OPTIONS="detect_leaks=1:detect_stack_use_after_return=1",
               UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1", PYTHONDONTWRITEBYTECODE="1")
    for name in [n for n in env if n.startswith("ASSAY_") and n not in ("ASSAY_CACHE", "ASSAY_JOBS", "ASSAY_PACKAGES", "ASSAY_TRACES")]:
        del env[name]  # tests must not see this host's settings unless they set them
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        env.pop(name, None)
    if build:
        env["ASSAY_BUILD"] = build
    if full:
        env["ASSAY_FULL"] = "1"
    return env


def step_behind(pid, nice):
    """Lowers our priority. Linux shares the cores between sessions, and run() creates a session: sched(7), The
    autogroup feature."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PGRP, pid, nice)
        with open("/proc/%d/autogroup" % pid, "w") as f:
            f.write(str(nice))


def run(command, log, limit, where, env, behind=0):
    """Runs a command with output to `log`. Returns its exit status, 124 after `limit` seconds; kills its whole group at the end.
    `behind` is its nice value."""
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
            child.returncode = os.waitstatus_to_exitcode(status)  # otherwise subprocess would wait for it again
            SPENT.get().add(usage)
        if not in_time:
            out.write("\nended after %d s\n" % limit)
        return child.returncode if in_time else 124
