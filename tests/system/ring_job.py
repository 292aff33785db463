# SPDX-License-Identifier: Apache-2.0
"""
A process of a job that hands over rings, correctly like the NCCL plug-in, or incorrectly as any other process could.

`python3 ring_job.py SOCKET` executes lines of JSON from stdin and answers each with a line on stdout. The layout is that of
lib/ring/ring_layout.h.
"""
import array
import fcntl
import json
import mmap
import os
import socket
import struct
import sys
import time

MAGIC = 0x01676E6972796173
HEAD_SIZE, SLOT_SIZE, SLOTS = 4096, 128, 4096
SIZE = HEAD_SIZE + SLOT_SIZE * SLOTS
CONTROL_SIZE = 4096
HEAD = struct.Struct("<QIIIIQiiiiIIQQ64sQQQQQII")
SLOT = struct.Struct("<QQQQQQQQQiHHHBBBBBB20s")
NEXT_AT = 136
SHRINK, GROW, WRITE, SEAL = fcntl.F_SEAL_SHRINK, fcntl.F_SEAL_GROW, fcntl.F_SEAL_WRITE, fcntl.F_SEAL_SEAL
SEALS = SHRINK | GROW | SEAL
DONE = 8
ALL_REDUCE = 1


def head(comm=0x0A1B2C3D4E5F6071, ranks=2, rank=0, done=0, **more):
    values = {"magic": MAGIC, "version": 1, "head_size": HEAD_SIZE, "slot_size": SLOT_SIZE, "slots": SLOTS, **more}
    now = time.monotonic_ns()
    return HEAD.pack(values["magic"], values["version"], values["head_size"], values["slot_size"], values["slots"], comm, 1, ranks, rank,
                     os.getpid(), 5, 22809, now, time.time_ns(), b"default_pg", done, 0, 0, 0, now, 70, 0)


def slot(number, ended=True, seq=None, func=ALL_REDUCE, **more):
    """An operation that began a moment ago."""
    now = more.get("now", time.monotonic_ns())
    stop, gpu = now if ended else 0, more.get("gpu", 20_000)
    return SLOT.pack(number + 1, number if seq is None else seq, more.get("count", 1 << 20), now - 300_000, gpu - 200_000 if "gpu" in more else 10_000,
                     gpu if ended else 0, now - 200_000, stop, 0,
                     more.get("peer", -1), 8, 8, 8 if ended else 0, 0, func, DONE if ended else 0, 82, 76, more.get("element", 4), b"AllReduce")


def memory(size=SIZE, seals=SEALS, **more):
    """A sealed ring with a head."""
    fd = os.memfd_create("ring", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    os.ftruncate(fd, size)
    os.pwrite(fd, head(**more)[:size], 0)
    if seals:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd


def connect(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for way in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):  # not settimeout(): that would fail when the queue is full
        s.setsockopt(socket.SOL_SOCKET, way, struct.pack("ll", 10, 0))
    folder = os.open(os.path.dirname(path), os.O_PATH)
    try:
        s.connect(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
    except OSError:
        s.close()
        raise
    finally:
        os.close(folder)
    return s


def look_at_control(fd):
    """The contents of the control page, and which operations on it succeed."""
    can = []
    for name, attempt in (("write", lambda: os.pwrite(fd, b"x", 12)), ("map", lambda: mmap.mmap(fd, CONTROL_SIZE)),
                          ("open", lambda: os.open(f"/proc/self/fd/{fd}", os.O_RDWR) and os.pwrite(fd, b"x", 12)),
                          ("cut", lambda: os.ftruncate(fd, 0)), ("grow", lambda: os.ftruncate(fd, 2 * CONTROL_SIZE)),
                          ("seal", lambda: fcntl.fcntl(fd, fcntl.F_ADD_SEALS, WRITE))):
        try:
            attempt()
            can.append(name)
        except OSError:
            pass
    magic, version, mask, until = struct.unpack_from("<QIIQ", os.pread(fd, 24, 0))
    return {"magic": magic == MAGIC, "version": version, "mask": mask, "until": until, "size": os.fstat(fd).st_size, "can": can,
            "seals": fcntl.fcntl(fd, fcntl.F_GET_SEALS)}


def offer(path, fds, message=struct.pack("<QII", MAGIC, 1, 0)):
    """Hands descriptors over. Returns the reply, and the descriptor of the control page or None."""
    try:
        with connect(path) as s:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
            s.sendmsg([message], rights)
            answer, came, _, _ = s.recvmsg(64, socket.CMSG_SPACE(16))
    except OSError as e:
        return {"error": type(e).__name__}, None
    if not answer:
        return {"closed": True}, None
    control = array.array("i")
    for _, _, data in came:
        control.frombytes(data[:len(data) - len(data) % 4])
    magic, version, taken = struct.unpack("<QII", answer)
    return {"taken": taken, "valid": magic == MAGIC and version == 1, "fds": len(control)}, control[0] if control else None


def others(kind):
    """Other descriptors to hand over instead of a ring."""
    read, _ = os.pipe()
    plain = os.open("/tmp", os.O_TMPFILE | os.O_RDWR)
    os.ftruncate(plain, SIZE)
    shm = os.open("/dev/shm", os.O_TMPFILE | os.O_RDWR)
    os.ftruncate(shm, SIZE)
    return {"pipe": read, "directory": os.open("/", os.O_RDONLY), "file": plain, "tmpfs": shm, "device": os.open("/dev/zero", os.O_RDWR),
            "socket": socket.socketpair()[0].detach(), "path": os.open("/proc/self/exe", os.O_PATH),
            "eventfd": os.eventfd(0)}[kind]


class Job:
    def __init__(self, path):
        self.path = path
        self.rings = {}      # by name: the descriptor, and that of the control page
        self.open = []

    def offer(self, name="a", other=None, size=SIZE, seals=SEALS, copies=1, message=None, **more):
        fd = others(other) if other else memory(size, seals, **more)
        answer, control = offer(self.path, [fd] * copies, *([bytes.fromhex(message)] if message is not None else []))
        self.rings[name] = fd, control
        return {**answer, "control": look_at_control(control) if control is not None else None}

    def again(self, name="a"):
        return offer(self.path, [self.rings[name][0]])[0]

    def once_more(self, name="a"):
        """Hands over like the plug-in after a restart of assayd: no page is returned."""
        return offer(self.path, [self.rings[name][0]], struct.pack("<QII", MAGIC, 1, 1))[0]

    def wants(self, name="a"):
        """The control that assayd writes to the head of the ring."""
        magic, version, mask, until = struct.unpack("<QIIQ", os.pread(self.rings[name][0], 24, HEAD.size))
        return {"magic": magic == MAGIC, "version": version, "mask": mask, "until": until}

    def offers_again(self, n):
        """Hands over rings again that assayd does not know. Returns how many were accepted, refused and not answered."""
        taken = []
        for i in range(n):
            fd = memory(comm=i)
            taken.append(offer(self.path, [fd], struct.pack("<QII", MAGIC, 1, 1))[0].get("taken"))
            os.close(fd)
        return [taken.count(1), taken.count(0), taken.count(None)]

    def many(self, n, first=0):
        """Hands over many rings. Returns how many were accepted."""
        return [offer(self.path, [memory(comm=first + i)])[0].get("taken") for i in range(n)]

    def control(self, name="a"):
        return look_at_control(self.rings[name][1])

    def give_up(self, name="a"):
        os.pwrite(self.rings[name][0], struct.pack("<I", 1), HEAD.size - 4)
        return {}

    def put(self, first, n=1, name="a", **more):
        """Writes operations like the plug-in."""
        fd = self.rings[name][0]
        for number in range(first, first + n):
            at = HEAD_SIZE + number % SLOTS * SLOT_SIZE
            data = slot(number, **more)
            os.pwrite(fd, bytes(8), at)
            os.pwrite(fd, data[8:], at + 8)
            os.pwrite(fd, data[:8], at)
            os.pwrite(fd, struct.pack("<Q", number + 1), NEXT_AT)
        return {}

    def train(self, steps, name="a", step_s=0.02):
        """Writes steps of a job whose two ranks are replicas: parameters, gradients, their norm."""
        if not hasattr(self, "number"):
            self.number, self.seqs = 0, {}
        for _ in range(steps):
            for func, size in ((2, 1 << 20), (2, 2 << 20), (3, 2 << 20), (3, 1 << 20), (1, 4)):
                seq = self.seqs[func] = self.seqs.get(func, -1) + 1
                now = time.monotonic_ns()
                self.put(self.number, name=name, func=func, seq=seq, now=now, count=size // 4, gpu=now + 5_000_000_000)
                self.number += 1
                time.sleep(step_s / 20)
            time.sleep(step_s / 2)
        return {}

    def scribble(self, name="a", seed=1):
        """Overwrites everything except the fields that identify it as a ring."""
        fd = self.rings[name][0]
        os.pwrite(fd, os.urandom(SIZE - 56), 56)
        os.pwrite(fd, struct.pack("<Q", 1 << 40), NEXT_AT)
        return {}

    def forge(self, name="a", **more):
        os.pwrite(self.rings[name][0], head(**more), 0)
        return {}

    def cut(self, name="a"):
        """Tries to truncate it, which must fail."""
        done = []
        for size in (0, 2 * SIZE):
            try:
                os.ftruncate(self.rings[name][0], size)
                done.append(size)
            except OSError:
                pass
        return {"done": done}

    def punch(self, name="a"):
        """Punches holes, which only a write seal forbids."""
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        r = libc.fallocate(self.rings[name][0], 1 | 2, ctypes.c_long(HEAD_SIZE), ctypes.c_long(SIZE - HEAD_SIZE))
        return {"punched": r == 0}

    def connect(self, n):
        """Opens silent connections. Returns how many there are."""
        for _ in range(n):
            try:
                self.open.append(connect(self.path))
            except OSError:
                break
        return len(self.open)

    def closed(self):
        """Returns how many of them the peer has closed."""
        n = 0
        for s in self.open:
            s.settimeout(0)
            try:
                n += s.recv(1) == b""
            except BlockingIOError:
                pass
            except OSError:
                n += 1
        return n

    def storm(self, n):
        """Connects and disconnects n times."""
        failed = 0
        for _ in range(n):
            try:
                connect(self.path).close()
            except OSError:
                failed += 1
        return failed


def main():
    job = Job(sys.argv[1])
    for line in sys.stdin:
        words = json.loads(line)
        print(json.dumps(getattr(job, words.pop("do"))(**words)), flush=True)


if __name__ == "__main__":
    main()
