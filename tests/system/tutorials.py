# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of docs/tutorials and compares their output.

A block that begins with ```sh on=NAME[,NAME...] is run on those machines, line by line. Further words:
  extra          not counted among the commands that the tutorial claims are enough
  status=any     any exit status is accepted
  until=WORD     repeated until it prints that word
  needs=kubelet  not run, because no kubelet runs pods here
A command line with ... in it stands for the latest printed line of that shape. A block ```text shape has lines that the
block before must print in this order, with any lines between: ... and numbers match anything.
"""
import re
from dataclasses import dataclass, field

from waiting import wait_for

ANYTHING = r".*"
UNTIL_S = 60


@dataclass
class Block:
    where: list
    lines: list
    words: dict
    shapes: list = field(default_factory=list)

    @property
    def counted(self):
        return 0 if "extra" in self.words else len(self.lines) * len(self.where)


def blocks(path):
    """The Blocks of a page, in order."""
    found = []
    for head, body in re.findall(r"^```(\S+ \S.*)\n((?:.*\n)*?)```$", path.read_text(), re.M):
        kind, *words = head.split()
        lines = [line for line in body.replace("\\\n", "").split("\n") if line]
        if kind == "sh":
            said = dict(word.partition("=")[::2] for word in words)
            found.append(Block(said.pop("on").split(","), lines, said))
        elif words == ["shape"]:
            found[-1].shapes += lines
        else:
            raise ValueError(f"{path}: ```{head}: neither a command nor the shape of its output")
    return found


def shape_of(line):
    """A pattern for whole lines of that shape."""
    parts = []
    for part in " ".join(line.split()).split("..."):
        part = re.escape(part).replace(r"\ ", r" *")
        parts.append(re.sub(r"\d+", r"\\d+", part))
    return ANYTHING.join(parts)


def missing(shapes, output):
    """The first shape without a matching line after those of the previous shapes; None if all match."""
    lines = iter([" ".join(line.split()) for line in output.splitlines()])
    for shape in shapes:
        if not any(re.fullmatch(shape_of(shape), line) for line in lines):
            return shape
    return None


class Player:
    """Runs the blocks of a page: `run(where, command)` returns (status, output); `replaced` maps a command to another, or to None to skip it."""

    def __init__(self, run, replaced=lambda command: command):
        self.run, self.replaced, self.printed, self.ran, self.left_out = run, replaced, [], [], []

    def line(self, where, line, block):
        if "..." in line:
            fitting = [p for p in self.printed if re.fullmatch(shape_of(line), " ".join(p.split()))]
            assert fitting, f"nothing was printed that could be: {line}"
            line = fitting[-1]
        command = self.replaced(line)
        if command is None or "needs" in block.words:
            self.left_out.append((where, line))
            return ""
        said = []

        def once():
            said[:] = self.run(where, command)
            shown = "until" not in block.words or "needs" in block.words or missing(block.shapes, said[1]) is None
            return shown and block.words.get("until", "") in said[1]

        assert wait_for(once, UNTIL_S), f"{where}: {line}\nit does not print {block.words['until']}:\n{said[1]}"
        assert said[0] == 0 or block.words.get("status") == "any", f"{where}: {line}\nits status is {said[0]}\n{said[1]}"
        self.ran.append((where, line))
        self.printed += said[1].splitlines()
        return said[1]

    def play(self, page):
        for block in page:
            outputs = ["".join(self.line(where, line, block) for line in block.lines) for where in block.where]
            if block.shapes and "needs" not in block.words:
                assert missing(block.shapes, outputs[0]) is None, f"{block.lines}: no line is {missing(block.shapes, outputs[0])!r} in\n{outputs[0]}"
        return self
