# SPDX-License-Identifier: Apache-2.0
"""The host tested by scripts/on-gpu: its libraries, how programs are run there, and the record of each."""
import glob
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time

KEPT = 1 << 20  # bytes kept of stdout and of stderr
GRACE_S = 3  # between SIGTERM and SIGKILL, and then until an unkillable process is given up
SONAMES = {"LIBCUDA": "libcuda.so.1", "LIBNVIDIA_ML": "libnvidia-ml.so.1", "LIBCUBLASLT": "libcublasLt.so.[0-9]*",
           "LIBNCCL": "libnccl.so.2"}
PLACES = ("/usr/local/nvidia/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/local/cuda*/lib64",
          "/usr/local/cuda*/targets/*/lib", "{python}/nvidia/*/lib", "{python}/torch/lib")
PYTHONS = ("/usr/lib/python3*/*-packages", "/usr/local/lib/python3*/*-packages", "/opt/*/lib/python3*/*-packages",
           "/opt/*/.venv/lib/python3*/*-packages", "/opt/*/envs/*/lib/python3*/*-packages")
FAKE_GPU = "sys/bus/pci/devices/0000:17:00.0"
KEEP = ("ASSAY_FAKE_GPUS", "ASSAY_CUDA_PATH")  # variables taken from the caller's environment
# Sizes and durations that are too large for the fakes.
SHAPE_OF_FAKES = ["--shape", "48,40,56"]


class NoTime(Exception):
    """The total time limit has expired."""


class Told(Exception):
    """We were told to stop."""


def libraries(search=PLACES):
    """{variable: path} of NVIDIA's libraries, and the set of their directories, wherever a host may have them."""
    pythons = [p for place in PYTHONS for p in glob.glob(place)]
    pythons += [p for p in sys.path if p.endswith("-packages")]
    places = [place.format(python=p) for place in search for p in (pythons if "{" in place else [""])]
    found = {}
    for variable, name in SONAMES.items():
        paths = [p for place in places for p in sorted(glob.glob(os.path.join(place, name)), key=len)]
        if paths:  # the newest version, as in the probes; of one version the first directory
            found[variable] = max(paths, key=major)
    return found


def major(path):
    """13 of libcublasLt.so.13 and libcublasLt.so.13.1.0."""
    return int(os.path.basename(path).partition(".so.")[2].partition(".")[0])


class Host:
    def __init__(self, kit, folder, limit_s, fakes=None, slowly=False):
        self.kit, self.folder, self.fakes = kit, os.path.abspath(folder), fakes and os.path.abspath(fakes)
        self.until = time.monotonic() + limit_s
        self.step, self.told = "begin", False
        self.found = libraries() if not fakes else {}
        self.work = tempfile.mkdtemp(prefix="on-gpu-")
        self.file = open(os.path.join(folder, "results.jsonl"), "w", encoding="utf-8")
        self.plain = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_") or name in KEEP}
        self.env = {**self.plain, "LD_LIBRARY_PATH": ":".join([self.path("lib"), os.environ.get("LD_LIBRARY_PATH", ""), *self.drivers()]),
                    **{"REF_" + name: path for name, path in self.found.items()},
                    **{"ASSAY_%s_DIR" % name.upper(): self.made(name) for name in ("state", "run", "conf")}, "ASSAY_NODE": "on-gpu"}
        if fakes:
            self.fake()
        if fakes and slowly:
            del self.env["LD_PRELOAD"]
        self.write(kind="begin", version=2, time=time.time(), kit=kit, fakes=bool(fakes), libraries=self.found)

    def path(self, *names):
        return os.path.join(self.kit, *names)

    def drivers(self):
        """Directories of the driver's libraries, in case the loader does not know them; not those with only cuBLASLt and NCCL."""
        return sorted({os.path.dirname(self.found[name]) for name in ("LIBCUDA", "LIBNVIDIA_ML") if name in self.found})

    def made(self, name):
        place = os.path.join(self.work, name)
        os.makedirs(place, exist_ok=True)
        return place

    def write(self, **record):
        self.file.write(json.dumps(record) + "\n")
        self.file.flush()
        os.fsync(self.file.fileno())

    # --- rehearsal

    def fake(self):
        root = self.made("root")
        for name, text in ((FAKE_GPU + "/vendor", "0x10de"), (FAKE_GPU + "/class", "0x030200"), (FAKE_GPU + "/numa_node", "0"),
                           ("dev/kmsg", "")):
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text + "\n" if text else "")
        if not os.path.exists(os.path.join(root, "sys/devices")):
            os.symlink("/sys/devices", os.path.join(root, "sys/devices"))
        tests = os.path.join(self.fakes, "tests/fakes")
        self.env["LD_LIBRARY_PATH"] = tests + "/gpu:" + self.env["LD_LIBRARY_PATH"]
        self.env["LD_PRELOAD"] = tests + "/clock_fake.so"
        self.env["ASSAY_SYSROOT"] = root
        self.env.setdefault("ASSAY_FAKE_GPUS", "count=1")

    def real_clock(self):
        """The environment with real time."""
        return {name: value for name, value in self.env.items() if not (self.fakes and name == "LD_PRELOAD")}

    def with_user(self, env, pid):
        """Sets the process that works on the GPU for the fakes; a driver knows it."""
        if not self.fakes:
            return env
        place = os.path.join(self.made("root"), "proc/%d" % pid)
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, "comm"), "w", encoding="utf-8") as f:
            f.write("ref_gemm\n")
        return {**env, "ASSAY_FAKE_GPUS": "%s busy=0 pid=%d" % (env["ASSAY_FAKE_GPUS"], pid)}

    def preloaded(self, library):
        return (self.env.get("LD_PRELOAD", "") + ":" + self.path("bin", library)).strip(":")

    def probe(self, name, *args, full=True):
        shape = SHAPE_OF_FAKES if self.fakes and name == "gemm" and full else []
        return [self.path("bin", "assay-probe-" + name), *shape, *args]

    def reference(self, name, *args):
        return [self.path("bin", name), *(SHAPE_OF_FAKES if self.fakes and name == "ref_gemm" else []), *args]

    def choose(self, real, fake):
        """Chooses between a number for a real host and one for the fakes."""
        return fake if self.fakes else real

    # --- running

    def end(self, *_):
        """Signal handler: the running program is stopped soon, and no other is started."""
        self.told = True

    def left(self):
        return self.until - time.monotonic()

    def start(self, argv, env=None):
        """Starts a program in the background; end it with stop()."""
        return subprocess.Popen(argv, env=env or self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, start_new_session=True)

    def stop(self, program):
        if not stop(program):
            self.write(kind="note", step=self.step, text="process %d does not go" % program.pid)

    def run(self, label, argv, limit_s, env=None, kill_after=None):
        """Runs a program with a time limit, and records everything; `kill_after`: sends SIGTERM then. Returns the record."""
        limit = min(limit_s, self.left())
        if limit <= 1:
            raise NoTime()
        record = {"kind": "run", "step": self.step, "label": label, "argv": argv, "start": time.time()}
        begin = time.monotonic()
        try:
            program = subprocess.Popen(argv, env=env or self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, start_new_session=True)
        except OSError as e:
            record.update(status=None, seconds=0, out="", err=str(e), timed_out=False, last_out_s=None)
            self.write(**record)
            return record
        try:
            record.update(watch(program, begin, limit, kill_after, self))
        except BaseException:
            stop(program)
            raise
        self.write(**record)
        return record

    def run_steps(self, steps):
        for step in steps:
            self.step, begin, why = step.__name__, time.monotonic(), None
            try:
                step(self)
            except NoTime:
                why = "no time was left"
            except Told:
                return
            except Exception as e:  # a failed step does not affect others
                why = "%s: %s" % (type(e).__name__, e)
            print("%6.1f s left  %-10s %s" % (self.left(), self.step, why or "done"), flush=True)
            self.write(kind="step", step=self.step, seconds=time.monotonic() - begin, error=why)
        self.write(kind="end", left_s=self.left())

    def close(self):
        self.file.close()
        shutil.rmtree(self.work, ignore_errors=True)


def stop(program):
    """Ends the process group. Returns True when it is gone."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(program.pid, number)
        except ProcessLookupError:
            pass
        try:
            program.wait(GRACE_S)
            return True
        except subprocess.TimeoutExpired:
            continue
    return False  # stuck in the driver, where signals do not reach it


def watch(program, begin, limit, kill_after, host):
    """Reads the output of a program until it ends or its time is over."""
    got, last, killed_at, timed_out = {"out": bytearray(), "err": bytearray()}, None, None, False
    with selectors.DefaultSelector() as ready:
        ready.register(program.stdout, selectors.EVENT_READ, "out")
        ready.register(program.stderr, selectors.EVENT_READ, "err")
        while ready.get_map():
            now = time.monotonic() - begin
            if host.told:
                raise Told()
            if now > limit:
                timed_out = True
                break
            if kill_after is not None and killed_at is None and now > kill_after:
                os.killpg(program.pid, signal.SIGTERM)
                killed_at = now
            for key, _ in ready.select(min(0.2, limit - now)):
                data = os.read(key.fd, 65536)
                if not data:
                    ready.unregister(key.fileobj)
                    continue
                if key.data == "out":
                    last = time.monotonic() - begin
                got[key.data] += data[:max(KEPT - len(got[key.data]), 0)]
    gone = stop(program) if timed_out else ended(program, begin + limit)
    seconds = time.monotonic() - begin
    program.stdout.close()
    program.stderr.close()
    return {"status": program.returncode, "seconds": seconds, "last_out_s": last, "killed_at": killed_at,
            "timed_out": timed_out or not gone, **{name: data.decode(errors="replace") for name, data in got.items()}}


def ended(program, until):
    try:
        program.wait(max(until - time.monotonic(), 1))
        return True
    except subprocess.TimeoutExpired:
        return stop(program)
