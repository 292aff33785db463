# SPDX-License-Identifier: Apache-2.0
"""scripts/lint finds what it says it finds: each rule is fed one breach and must name it."""
import subprocess

import pytest

pytestmark = pytest.mark.once

SPDX = "/* SPDX-License-Identifier: Apache-2.0 */\n"
HEADER = SPDX + "#pragma once\n"
BODY = "int f(void)\n{\n%s}\n"

BREACHES = [
    # rule, path, text, part of the sentence
    ("file-size", "lib/a.c", SPDX + "int a;\n" * 801, "fewer than 801"),
    ("function-size", "lib/a.c", SPDX + BODY % ("\tf();\n" * 59), "61 lines"),
    ("function-size", "tests/a.py", "# SPDX\ndef f():\n" + "    f()\n" * 60, "f() has 61 lines"),
    ("parameters", "lib/a.c", SPDX + "int f(int a, int b, int c, int d, int e, int g, int h)\n{\n}\n", "7 parameters"),
    ("spdx", "lib/a.c", "int a;\n", "SPDX"),
    ("spdx", "scripts/a", "#!/bin/sh\ntrue\n", "SPDX"),
    ("include-direction", "lib/a.c", SPDX + '#include "probes/p.h"\n', "must not include"),
    ("include-direction", "agents/a.c", SPDX + '#include "probes/p.h"\n', "must not include"),
    ("include-direction", "lib/a.c", SPDX + '#include "err.h"\n', "no header of this tree"),
    ("include-order", "lib/a.c", SPDX + '#include "lib/b.h"\n#include "lib/c.h"\n#include <stdio.h>\n', "comes before"),
    ("include-order", "lib/own.c", SPDX + '#include <stdio.h>\n#include "lib/own.h"\n', "comes first"),
    ("pure-core", "lib/judge/a.c", SPDX + "#include <unistd.h>\n", "unistd"),
    ("pure-core", "lib/judge/a.c", SPDX + '#include "lib/file.h"\n', "lib/file.h"),
    ("pure-core", "lib/judge/a.c", SPDX + BODY % "\treturn clock_mono_us();\n", "clock_mono_us"),
    ("pure-core", "lib/judge/a.c", SPDX + BODY % "\tfprintf(stderr, x);\n", "stderr"),
    ("pure-core", "lib/judge/a.c", SPDX + "static int count;\n", "globals: count"),
    ("pure-core", "lib/judge/a.c", SPDX + "static struct x *table[4] = { 0 };\n", "globals: table"),
    ("one-wrapper", "lib/a.c", SPDX + "#include <hwloc.h>\n", "topology_hwloc.c"),
    ("one-wrapper", "agents/a.c", SPDX + "#include <curl/curl.h>\n", "belongs to lib/http"),
    ("one-wrapper", "controller/a.c", SPDX + "#include <sqlite3.h>\n", "belongs to controller/store"),
    ("one-wrapper", "controller/a.c", SPDX + "#include <microhttpd.h>\n", "belongs to controller/api"),
    ("banned", "lib/a.c", SPDX + BODY % "\tstrcpy(a, b);\n", "strcpy"),
    ("banned", "lib/a.c", SPDX + BODY % "\tgoto out;\n", "goto"),
    ("banned", "lib/a.c", SPDX + BODY % "\texit(1);\n", "exit"),
    ("banned", "lib/a.c", SPDX + BODY % "\tusleep (1);\n", "usleep"),
    ("no-ifdef", "lib/a.c", SPDX + BODY % "#ifdef HAVE_X\n#endif\n", "optional features are files"),
    ("header-guard", "lib/a.h", SPDX + "int a(void);\n", "#pragma once"),
    ("words", "lib/a.c", SPDX + "/* TO" "DO: more */\n", "TO" "DO"),
    ("words", "README.md", "see /ho" "me/me/x\n", "/ho" "me/m"),
    ("text", "lib/a.c", SPDX + "int a;\r\n", "carriage return"),
    ("text", "lib/a.c", SPDX + "int a; \n", "white space at the end"),
    ("text", "lib/a.c", SPDX + "int a;", "no newline"),
    ("text", "a.yaml", "a:\n\t- 1\n", "a tab"),
    ("headers-alone", "lib/a.h", HEADER + "size_t a(void);\n", "does not compile alone"),
    ("clang-format", "lib/a.c", SPDX + "int   a;\n", "clang-format"),
    ("codespell", "README.md", "It is recie" "ved.\n", "received"),
    ("shell", "scripts/a.sh", "#!/bin/sh\ncd $1\nfor i in 1; do\n", "error"),
    ("python", "tests/a.py", "def f(:\n", "not Python"),
    ("python", "tests/a.py", "def f(kube):\n    return [wait(kube, i) for i in 'ab']\n", "'wait' is defined nowhere"),
    ("yaml", "a.yaml", "a: [\n", "not YAML"),
]


@pytest.fixture
def lint(top, tmp_path):
    """lint({path: text}, "--rule", ...) -> the run over a tree of these files."""

    def check(files, *args):
        tree = tmp_path / "tree"
        given = {"lib/own.h": HEADER, "lib/b.h": HEADER, "lib/c.h": HEADER, "lib/file.h": HEADER, "probes/p.h": HEADER,
                 ".clang-format": (top / ".clang-format").read_text(), **files}
        for path, text in given.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_bytes(text.encode())
        return subprocess.run([top / "scripts/lint", "--root", tree, *args], capture_output=True, text=True, timeout=60)

    return check


@pytest.mark.parametrize("rule,path,text,sentence", BREACHES, ids=[f"{b[0]}-{i}" for i, b in enumerate(BREACHES)])
def test_a_breach_is_named(lint, rule, path, text, sentence):
    out = lint({path: text}, "--rule", rule)
    assert out.returncode == 1, out.stdout + out.stderr
    assert out.stdout.endswith("0 passed, 1 failed, 0 skipped\n")
    complaints = [line for line in out.stdout.splitlines() if line.startswith(path + ":")]
    assert complaints and sentence in complaints[0], out.stdout


def test_every_rule_is_fed_a_breach(top):
    names = subprocess.run([top / "scripts/lint", "--list"], capture_output=True, text=True, check=True).stdout.split()
    assert set(names) == {b[0] for b in BREACHES}


def test_a_tree_that_keeps_the_rules_passes(lint):
    good = SPDX + '#include "lib/own.h"\n\n#include <stdio.h>\n\n#include "lib/b.h"\n\nint main(void)\n{\n\texit(0);\n}\n'
    out = lint({"lib/own.c": good})
    assert out.returncode == 0, out.stdout
    assert out.stdout.rstrip().endswith("0 failed, 0 skipped")


def test_words_in_comments_and_strings_are_not_code(lint):
    text = SPDX + "/* strcpy(a, b) is banned; goto too */\n" + BODY % '\treturn g("exit(1)");\n'
    out = lint({"lib/a.c": text}, "--rule", "banned")
    assert out.returncode == 0, out.stdout


def test_a_suppression_needs_its_reason_on_the_line(lint):
    line = "\tstrcpy(a, b); /* lint: allow banned:%s */\n"
    assert lint({"lib/a.c": SPDX + BODY % (line % " both are ours")}, "--rule", "banned").returncode == 0
    assert lint({"lib/a.c": SPDX + BODY % (line % "")}, "--rule", "banned").returncode == 1
