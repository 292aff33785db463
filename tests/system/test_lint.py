# SPDX-License-Identifier: Apache-2.0
"""scripts/lint detects what it claims: each rule gets a violation and must report it."""
import subprocess

import pytest

pytestmark = pytest.mark.once

SPDX = "/* SPDX-License-Identifier: Apache-2.0 */\n"
HEADER = SPDX + "#pragma once\n"
BODY = "int f(void)\n{\n%s}\n"
CALLS = SPDX + '#include "lib/%s.h"\n#include "lib/%s.h"\n\nint %s_go(void)\n{\n\treturn %s_go();\n}\n'


def ring(*names):
    """Files that each call the next, and the last the first."""
    files = {f"lib/{name}.c": CALLS % (name, there, name, there) for name, there in zip(names, names[1:] + names[:1], strict=True)}
    return {**files, **{f"lib/{name}.h": HEADER + f"int {name}_go(void);\n" for name in names}}


LICENCE = "SPDX-License-Identifier: Apache-2.0"
PAGE = {"page/index.html": f"<!-- {LICENCE} -->\n", "page/local.mk": "PAGE_FILES += page/index.html page/a.js\n", "page/a.js": f"// {LICENCE}\n"}
BREACHES = [
    # rule, path, its text (or texts by path), part of the sentence
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
    ("pure-core", "lib/judge/a.c", SPDX + '#include "lib/sys/file.h"\n', "lib/sys/file.h"),
    ("pure-core", "lib/judge/a.c", SPDX + BODY % "\treturn clock_mono_us();\n", "clock_mono_us"),
    ("pure-core", "lib/judge/a.c", SPDX + BODY % "\tfprintf(stderr, x);\n", "stderr"),
    ("pure-core", "lib/judge/a.c", SPDX + "static int count;\n", "globals: count"),
    ("pure-core", "lib/judge/a.c", SPDX + "static struct x *table[4] = { 0 };\n", "globals: table"),
    ("pure-core", "lib/policy/a.c", SPDX + "#include <unistd.h>\n", "unistd"),
    ("include-direction", "attribution/a.c", SPDX + '#include "probes/p.h"\n', "must not include"),
    ("one-wrapper", "lib/a.c", SPDX + "#include <hwloc.h>\n", "topology_hwloc.c"),
    ("one-wrapper", "agents/a.c", SPDX + "#include <curl/curl.h>\n", "belongs to lib/net/http"),
    ("one-wrapper", "controller/a.c", SPDX + "#include <sqlite3.h>\n", "belongs to controller/store"),
    ("one-wrapper", "controller/a.c", SPDX + "#include <microhttpd.h>\n", "belongs to controller/http/api"),
    ("banned", "lib/a.c", SPDX + BODY % "\tstrcpy(a, b);\n", "strcpy"),
    ("banned", "lib/a.c", SPDX + BODY % "\tgoto out;\n", "goto"),
    ("banned", "lib/a.c", SPDX + BODY % "\texit(1);\n", "exit"),
    ("banned", "lib/a.c", SPDX + BODY % "\tusleep (1);\n", "usleep"),
    ("no-ifdef", "lib/a.c", SPDX + BODY % "#ifdef HAVE_X\n#endif\n", "optional features are files"),
    ("own-header", "lib/a.c", SPDX + "int a;\n", "a header of its own"),
    ("one-tag", "probes/a.h", HEADER + "struct c {\n\tint a;\n};\n", "'c' is defined in lib/c.h too"),
    ("prefix", "lib/a.h", {"lib/a.h": HEADER + "int b_go(void);\n", "lib/a.c": SPDX + "int b_go(void)\n{\n}\n"}, "b_go; 0 may be"),
    ("call-cycle", "lib/x.c", ring("x", "y"), "lib/x.c -> y_go() of lib/y.c -> x_go() of lib/x.c"),
    ("page", "page/a.js", PAGE | {"page/a.js": f"// {LICENCE}\nnode.innerHTML = text;\n"}, "'innerHTML': makes markup of text"),
    ("page", "page/a.js", PAGE | {"page/a.js": f"// {LICENCE}\nfetch(\"https://cdn.example.com/x\");\n"}, "another origin"),
    ("page", "page/index.html", PAGE | {"page/index.html": f"<!-- {LICENCE} -->\n<p style=\"color: red\">\n"}, "inline style"),
    ("page", "page/b.js", PAGE | {"page/b.js": f"// {LICENCE}\n"}, "is not in page/local.mk"),
    ("page", "page/a.js", PAGE | {"page/a.js": "let a;\n"}, "does not say its licence"),
    ("lint-tables", "scripts/lint_source.py", "# SPDX\n", "PURE: no file begins with 'lib/judge/'"),
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
        given = {"lib/own.h": HEADER, "lib/b.h": HEADER, "lib/c.h": HEADER + "struct c {\n\tint a;\n};\n", "lib/sys/file.h": HEADER, "probes/p.h": HEADER,
                 ".clang-format": (top / ".clang-format").read_text(), **files}
        for path, text in given.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_bytes(text.encode())
        return subprocess.run([top / "scripts/lint", "--root", tree, *args], capture_output=True, text=True, timeout=60)

    return check


@pytest.mark.parametrize("rule,path,text,sentence", BREACHES, ids=[f"{b[0]}-{i}" for i, b in enumerate(BREACHES)])
def test_a_breach_is_named(lint, rule, path, text, sentence):
    out = lint(text if isinstance(text, dict) else {path: text}, "--rule", rule)
    assert out.returncode == 1, out.stdout + out.stderr
    assert out.stdout.endswith("0 passed, 1 failed, 0 skipped\n")
    complaints = [line for line in out.stdout.splitlines() if line.startswith(path + ":")]
    assert complaints and any(sentence in line for line in complaints), out.stdout


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


@pytest.mark.parametrize("path, text", [
    ("lib/a_none.c", SPDX + "int a;\n"), ("cli/view_a.c", SPDX + "int a;\n"), ("probes/a.c", SPDX + "int main(void)\n{\n}\n"),
    ("lib/own.c", SPDX + "int a;\n"), ("tests/unit/test_a.c", SPDX + "int a;\n")])
def test_some_files_need_no_header_of_their_own(lint, path, text):
    assert lint({path: text}, "--rule", "own-header").returncode == 0


@pytest.mark.parametrize("header, name, passes", [
    ("lib/trace.h", "trace_go", True),
    ("lib/trace.h", "trace", True),
    ("lib/trace.h", "traces_go", True),
    ("lib/own_trace.h", "own_go", True),     # beside own.h, to whose module it belongs
    ("lib/b/b.h", "b_go", True),
    ("lib/b/trace.h", "b_go", False),        # a folder without a header of its name is not a module
    ("lib/trace_own.h", "own_go", False),
    ("lib/trace.h", "tracer_go", False),
])
def test_a_function_has_the_name_of_its_file_or_module(lint, header, name, passes):
    files = {header: HEADER + f"int {name}(int a,\n\t\tint b);\n", header[:-2] + ".c": SPDX + f"int {name}(int a, int b)\n{{\n}}\n"}
    assert (lint(files, "--rule", "prefix").returncode == 0) is passes


def test_calls_one_way_and_names_that_are_static_are_no_circle(lint):
    files = ring("x", "y")
    one_way = {**files, "lib/y.c": files["lib/y.c"].replace("return x_go()", "return 0")}
    assert lint(one_way, "--rule", "call-cycle").returncode == 0
    static = {**files, "lib/y.c": files["lib/y.c"].replace("int y_go", "static int x_go(void)\n{\n}\n\nint y_go")}
    assert lint(static, "--rule", "call-cycle").returncode == 0
    unseen = {**files, "lib/y.c": files["lib/y.c"].replace('#include "lib/x.h"\n', "")}
    assert lint(unseen, "--rule", "call-cycle").returncode == 0


OWING = {"lib/a.c": SPDX + "int b_go(void)\n{\n}\n\nint c_go(void)\n{\n}\n", "lib/own.h": HEADER + "int b_go(void);\nint c_go(void);\n",
         "probes/a.h": HEADER + "struct c {\n\tint a;\n};\n", **ring("x", "y")}
DEBT = "# Lines go.\ncall-cycle lib/x.c lib/y.c\none-tag c\nown-header lib/a.c\nprefix lib/own.h 2\n"
MODULES = [word for rule in ("own-header", "one-tag", "prefix", "call-cycle") for word in ("--rule", rule)]


def test_what_is_on_the_list_passes(lint):
    assert lint({**OWING, "scripts/lint-debt": DEBT}, *MODULES).returncode == 0
    out = lint(OWING, "--print-debt").stdout
    assert out == DEBT.partition("\n")[2]


@pytest.mark.parametrize("more, line", [
    ({"lib/a.h": HEADER}, 4), ({"probes/a.h": HEADER}, 3), ({"lib/y.c": SPDX + "int y_go(void)\n{\n}\n"}, 2),
    ({"lib/own.h": HEADER + "int b_go(void);\n"}, 5)])
def test_what_breaks_nothing_any_more_must_go_from_the_list(lint, tmp_path, more, line):
    files = {**OWING, "scripts/lint-debt": DEBT, **more}
    out = lint(files, *MODULES)
    complaints = [text for text in out.stdout.splitlines() if ":" in text]
    assert out.returncode == 1 and len(complaints) == 1 and complaints[0].startswith(f"scripts/lint-debt:{line}: "), out.stdout
    lint(files, "--shrink-debt")
    shrunk = (tmp_path / "tree/scripts/lint-debt").read_text()
    assert shrunk != DEBT and shrunk.startswith("# Lines go.\n")
    assert lint({**files, "scripts/lint-debt": shrunk}, *MODULES).returncode == 0


@pytest.mark.parametrize("more, sentence", [
    (ring("x", "z", "y"), "calls in a circle"),                                # one more in the circle
    ({"lib/own.h": OWING["lib/own.h"] + "int d_go(void);\n", "lib/own.c": SPDX + "int d_go(void)\n{\n}\n"}, "b_go c_go d_go; 2 may be"),
    ({"lib/d.c": SPDX}, "lib/d.c:1: own-header"),
])
def test_the_list_never_grows(lint, tmp_path, more, sentence):
    files = {**OWING, "scripts/lint-debt": DEBT, **more}
    out = lint(files, *MODULES)
    assert out.returncode == 1 and sentence in out.stdout
    lint(files, "--shrink-debt")
    assert set((tmp_path / "tree/scripts/lint-debt").read_text().splitlines()) <= set(DEBT.splitlines())


def test_a_circle_that_became_smaller_is_said_once(lint, tmp_path):
    files = {**ring("x", "y"), "scripts/lint-debt": "call-cycle lib/x.c lib/y.c lib/z.c\n"}
    out = lint(files, "--rule", "call-cycle").stdout
    assert out.startswith("scripts/lint-debt:1: ") and "lib/x.c:1" not in out
    lint(files, "--shrink-debt")
    assert (tmp_path / "tree/scripts/lint-debt").read_text() == "call-cycle lib/x.c lib/y.c\n"
