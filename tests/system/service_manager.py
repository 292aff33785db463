# SPDX-License-Identifier: Apache-2.0
"""
systemd's file descriptor store: keeps descriptors sent to NOTIFY_SOCKET (FDSTORE=1), drops them on request (FDSTOREREMOVE=1), and
passes the rest to the next process it starts (LISTEN_FDS, LISTEN_FDNAMES).
"""
import array
import os
import socket
import sys
import threading

FIRST_FD = 3
HIGH = 500
FDS_MAX = 16

# Moves the descriptors to 3, 4, ... and executes the service.
START = """
import fcntl, os, sys
fds = [fcntl.fcntl(int(n), fcntl.F_DUPFD, %d) for n in sys.argv[1].split(",") if n]
for i, fd in enumerate(fds):
    os.dup2(fd, %d + i)
os.closerange(%d + len(fds), 4096)
os.environ.update({"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": str(len(fds)), "LISTEN_FDNAMES": sys.argv[2]})
os.execv(sys.argv[3], sys.argv[3:])
""" % (HIGH, FIRST_FD, FIRST_FD)


class ServiceManager:
    def __init__(self, most=640):
        self.most = most
        self.kept = []          # (name, descriptor), in order of arrival
        self.lock = threading.Lock()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(b"")   # an abstract address chosen by the kernel
        self.address = "@" + self.socket.getsockname()[1:].decode()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            text, came, _, _ = self.socket.recvmsg(8192, socket.CMSG_SPACE(4 * FDS_MAX))
            if text == b"end":
                return
            fds = array.array("i")
            for _, _, data in came:
                fds.frombytes(data[:len(data) - len(data) % fds.itemsize])
            words = dict(line.split("=", 1) for line in text.decode().splitlines() if "=" in line)
            with self.lock:
                self.obey(words, list(fds))

    def obey(self, words, fds):
        name = words.get("FDNAME", "stored")
        if words.get("FDSTOREREMOVE") == "1":
            for one in [k for k in self.kept if k[0] == name]:
                self.kept.remove(one)
                os.close(one[1])
        for fd in fds:
            if words.get("FDSTORE") == "1" and len(self.kept) < self.most:
                self.kept.append((name, fd))
            else:
                os.close(fd)

    def names(self, kind=""):
        with self.lock:
            return sorted(name for name, _ in self.kept if name.startswith(kind))

    def put(self, name, fd):
        """Adds a descriptor that assayd did not send."""
        with self.lock:
            self.kept.append((name, fd))

    def get(self, kind):
        """The first descriptor whose name starts with the prefix."""
        with self.lock:
            return next(fd for name, fd in self.kept if name.startswith(kind))

    def start(self):
        """`prefix`, `pass_fds` and `env` for a process that gets the stored descriptors."""
        with self.lock:
            fds, names = [fd for _, fd in self.kept], ":".join(name for name, _ in self.kept)
        return {"prefix": [sys.executable, "-c", START, ",".join(map(str, fds)), names], "pass_fds": fds, "env": {"NOTIFY_SOCKET": self.address}}

    def stop(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.sendto(b"end", self.socket.getsockname())
        self.thread.join()
        self.socket.close()
        for _, fd in self.kept:
            os.close(fd)
