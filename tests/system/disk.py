# SPDX-License-Identifier: Apache-2.0
"""A disk that loses what was not synced, built from a log of tests/fakes/disk_log.c.

Only the data of a file at its fsync and the names of a directory at the directory's fsync are durable. Of later
changes a power loss keeps any subset: a name has its old or any newer target; a file has a part of its writes, its
length without the data, or sectors of zeros in between. Names and data are not ordered with each other.
"""
import os
import re
from pathlib import Path

SECTOR = 512
SEQ = re.compile(rb'"seq": ?(\d+)')


class File:
    """The synced data, and the unsynced changes: (operation, number, bytes)."""

    def __init__(self, data=b""):
        self.durable = self.data = data
        self.pending = []

    def apply(self, op, number, data):
        self.pending.append((op, number, data))
        self.data = applied(self.data, op, number, data)

    def sync(self):
        self.durable, self.pending = self.data, []

    def after_loss(self, rng):
        """A possible content after a power loss."""
        kind = rng.choice(("old", "new", "part", "torn", "zeros", "holes")) if self.pending else "old"
        if kind == "new":
            return self.data
        if kind in ("zeros", "holes"):  # the length is durable, of the data nothing or some sectors
            longer = self.durable[:len(self.data)].ljust(len(self.data), b"\0")
            return longer if kind == "zeros" else mixed(longer, self.data, rng)
        data, n = self.durable, 0 if kind == "old" else rng.randrange(len(self.pending))
        for op in self.pending[:n]:
            data = applied(data, *op)
        op, number, written = self.pending[n] if kind == "torn" else ("", 0, b"")
        return applied(data, op, number, written[:rng.randrange(len(written))]) if op == "W" and written else data


class Directory:
    """Names, and for each its targets since the last fsync (None: no such name)."""

    def __init__(self):
        self.names, self.durable, self.pending = {}, {}, {}

    def set(self, name, target):
        self.pending.setdefault(name, []).append(target)
        self.names[name] = target
        if target is None:
            del self.names[name]

    def sync(self):
        self.durable, self.pending = dict(self.names), {}

    def after_loss(self, rng):
        names = dict(self.durable)
        for name, targets in self.pending.items():
            names[name] = rng.choice([names.get(name), *targets])
        return {name: target for name, target in names.items() if target is not None}


def applied(data, op, number, written):
    if op == "T":
        return data[:number].ljust(number, b"\0")
    if op == "W":
        return data[:number].ljust(number, b"\0") + written + data[number + len(written):]
    return data


def mixed(old, new, rng):
    sectors = [(old if rng.random() < 0.5 else new)[at:at + SECTOR] for at in range(0, len(new), SECTOR)]
    return b"".join(sectors)


def read_record(path):
    """Returns [(op, n1, n2, data)] in order."""
    text, at, ops = Path(path).read_bytes(), 0, []
    while at < len(text):
        end = text.index(b"\n", at)
        op, a, b, size = text[at:end].decode().split()
        ops.append((op, int(a), int(b), text[end + 1:end + 1 + int(size)]))
        at = end + 2 + int(size)
    return ops


class Disk:
    """The tree under a directory, all of it durable, to which the operations of a log are applied."""

    def __init__(self, root):
        self.inodes = {}
        self.root = self._load(Path(root))

    def _load(self, path):
        inode = path.lstat().st_ino
        if path.is_dir():
            node = Directory()
            for child in path.iterdir():
                node.set(child.name, self._load(child))
        else:
            node = File(path.read_bytes())
        node.sync()
        self.inodes[inode] = node
        return node

    def do(self, op, a, b, data):
        if op in "CM":
            self.inodes[b] = Directory() if op == "M" else File()
            self.inodes[a].set(data.decode(), self.inodes[b])
        elif op == "R":
            old, new = data.decode().split("\0")
            target = self.inodes[a].names[old]
            self.inodes[a].set(old, None)
            self.inodes[b].set(new, target)
        elif op == "U":
            self.inodes[a].set(data.decode(), None)
        elif op == "S":
            self.inodes[a].sync()
        elif op in "WT":
            self.inodes[a].apply(op, b, data)

    def tree(self, rng=None):
        """{path: bytes, None for a directory}: the current state, or with `rng` a possible state after a power loss."""
        contents, found = {}, {}  # a file with two names has one content

        def visit(node, path):
            if isinstance(node, Directory):
                found[path] = None
                for name, child in (node.after_loss(rng) if rng else node.names).items():
                    visit(child, f"{path}/{name}" if path else name)
                return
            if node not in contents:
                contents[node] = node.after_loss(rng) if rng else node.data
            found[path] = contents[node]

        visit(self.root, "")
        return found


def used_seqs(op, data):
    """The sequence numbers that an operation exposes: in its data, or in a report's file name."""
    if op in "WO":
        return {int(n) for n in SEQ.findall(data)}
    if op == "R":
        name = data.decode().split("\0")[1]
        return {int(name[:-5])} if re.fullmatch(r"\d+\.json", name) else set()
    return set()


def read_tree(top):
    """The same for a real directory."""
    return {"": None, **{os.path.relpath(os.path.join(where, n), top): None if n in dirs else Path(where, n).read_bytes()
                         for where, dirs, names in os.walk(top) for n in dirs + names}}


def write_tree(tree, where):
    for path, data in sorted(tree.items()):
        if data is None:
            (where / path).mkdir()
        else:
            (where / path).write_bytes(data)
