# SPDX-License-Identifier: Apache-2.0
"""scripts/same-code reports every change of code, and no mere move of its text."""
import os
import subprocess

import pytest

pytestmark = pytest.mark.once

SUM = """#include "%s/sum.h"

#include <stdio.h>

static const int weights[] = { 3, 5, 7 };

static int weigh(int i)
{
    return weights[i %% 3] * 11;
}

int sum(const char *name, int n)
{
    static int calls;
    int total = 0;
    for (int i = 0; i < n; i++)
        total += weigh(i + total);
    printf("%%s: sum %%d of call %%d in %%s\\n", name, total, calls++, __FILE__);
    return total;
}
"""
MAIN = """#include "%s/sum.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
    return sum(argv[0], argc) > 100 ? abs(argc) : 0;
}
"""
HEADER = "#pragma once\nint sum(const char *name, int n);\n"
CONFIGURE = """#!/bin/sh
set -e
here=${0%%/*}
printf 'all:\\n\\tmkdir -p flat\\n' >Makefile
for f in %s; do
    printf '\\t%%s %%s -I%%s -c %%s -o flat/%%s.o\\n' "${1#CC=}" "${2#CFLAGS=}" "$here" "$here/$f" "$(basename "$f" .c)" >>Makefile
done
"""


def program(folder):
    """The files of a program with its sources in this folder."""
    names = (f"{folder}/sum.c", f"{folder}/main.c")
    return {names[0]: SUM % folder, names[1]: MAIN % folder, f"{folder}/sum.h": HEADER,
            "autogen.sh": "#!/bin/sh\n", "configure": CONFIGURE % " ".join(names)}


@pytest.fixture
def same_code(top, tmp_path):
    """same_code(old files, new files) -> the result for a repository of two such commits."""

    def git(*args):
        author = [word for key in ("user.name=t", "user.email=t@localhost", "commit.gpgsign=false", "core.hooksPath=/dev/null") for word in ("-c", key)]
        return subprocess.run(["git", *author, *args], cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    def commit(files):
        for path in git("ls-files").split():
            os.unlink(tmp_path / path)
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
            (tmp_path / path).chmod(0o755)
        git("add", "-A")
        git("commit", "-qm", "files", "--allow-empty")
        return git("rev-parse", "HEAD")

    def run(old, new, *args):
        git("init", "-q")
        return subprocess.run([top / "scripts/same-code", commit(old), commit(new), *args], cwd=tmp_path,
                              capture_output=True, text=True, timeout=60)

    return run


RENAMES = {"scripts/renames/rooms.txt": "# old new\nlib/sum.c lib/room/sum.c\nlib/sum.h lib/room/sum.h\nlib/main.c lib/room/main.c\n"}


def test_a_move_is_the_same_code(same_code):
    out = same_code(program("lib"), {**program("lib/room"), **RENAMES})
    assert out.returncode == 0, out.stdout + out.stderr
    assert out.stdout.endswith("\n3 functions equal, 0 differ\n") or out.stdout.endswith("\n2 functions equal, 0 differ\n")


def test_a_renamed_function_is_the_same_code(same_code):
    new = {path: text.replace("weigh(", "weight_of(").replace("sum(", "sum_of(") for path, text in program("lib").items()}
    out = same_code(program("lib"), {**new, "scripts/renames/names.txt": "weigh weight_of\nsum sum_of\n"})
    assert out.returncode == 0, out.stdout + out.stderr
    assert same_code(program("lib"), new).returncode == 1


@pytest.mark.parametrize("file,old,new,says", [
    ("sum.c", "* 11", "* 13", "function "),
    ("sum.c", "3, 5, 7", "3, 5, 8", "data .rodata.weights differs"),
    ("main.c", "abs(argc)", "rand()", "function main differs"),
    ("sum.c", "of call %d", "at call %d", "function sum differs"),
    ("sum.c", "of call %d", "at call %d", "string "),
    ("sum.c", "static int calls;", "static int calls = 1;", "data .data.calls is new"),
    ("main.c", "int main(", "int main(int argc, char **argv);\nint spare(void);\n\nint spare(void)\n{\n\treturn 4;\n}\n\nint main(",
     "function spare is new"),
], ids=["constant", "table", "call", "string-of", "string", "data", "new"])
def test_a_change_is_told_among_moves(same_code, file, old, new, says):
    moved = {**program("lib/room"), **RENAMES}
    path = "lib/room/" + file
    assert old in moved[path]
    moved[path] = moved[path].replace(old, new)
    out = same_code(program("lib"), moved)
    assert out.returncode == 1, out.stdout + out.stderr
    assert any(line.startswith(says) for line in out.stdout.splitlines()), out.stdout
    if says.startswith("function"):
        assert not out.stdout.endswith(" 0 differ\n")


def test_a_lost_function_is_told(same_code):
    spare = "\nint spare(void);\n\nint spare(void)\n{\n\treturn 4;\n}\n"
    old = program("lib")
    old["lib/sum.c"] += spare
    out = same_code(old, {**program("lib/room"), **RENAMES})
    assert out.returncode == 1 and "function spare is lost\n" in out.stdout, out.stdout + out.stderr


def test_what_cannot_be_built_is_no_difference(same_code):
    out = same_code(program("lib"), {**program("lib"), "lib/main.c": "int main(\n"})
    assert out.returncode == 2 and out.stderr.endswith("cannot be built\n"), out.stdout + out.stderr
