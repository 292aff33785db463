# SPDX-License-Identifier: Apache-2.0
"""Initramfs archives (Documentation/driver-api/early-userspace/buffer-format.rst)."""
import stat


class Archive:
    """Collects directories, files and links; bytes() is an archive in the newc format."""

    def __init__(self):
        self.parts, self.names = [], set()

    def _put(self, name, mode, data=b""):
        name = name.strip("/")
        if name in self.names:
            return
        self.names.add(name)
        encoded = name.encode() + b"\0"
        fields = [len(self.names), mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0]
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
        self.parts += [head, b"\0" * (-len(head) % 4), data, b"\0" * (-len(data) % 4)]

    def _parents(self, name):
        parts = name.strip("/").split("/")[:-1]
        for i in range(1, len(parts) + 1):
            self._put("/".join(parts[:i]), stat.S_IFDIR | 0o755)

    def directory(self, name):
        self._parents(name)
        self._put(name, stat.S_IFDIR | 0o755)

    def file(self, name, data, mode=0o644):
        self._parents(name)
        self._put(name, stat.S_IFREG | mode, data)

    def link(self, name, target):
        self._parents(name)
        self._put(name, stat.S_IFLNK | 0o777, target.encode())

    def bytes(self):
        trailer = b"070701" + b"00000000" * 4 + b"00000001" + b"00000000" * 6 + b"0000000B" + b"00000000" + b"TRAILER!!!\0"
        data = b"".join(self.parts) + trailer
        return data + b"\0" * (-len(data) % 512)
