# SPDX-License-Identifier: Apache-2.0
"""The rules of scripts/lint that need only the text of the sources.

Each rule is a generator of (path, line, sentence), listed in RULES. A line that
must break a rule has a comment with the reason: /* lint: allow RULE: reason */
"""
import ast
import os
import re

FILE_LINES = 801
FUNCTION_LINES = 60
PARAMETERS = 5

# Directories whose headers may be included, by including directory.
MAY_INCLUDE = {
    "lib": {"lib"},
    "probes": {"lib", "probes"},
    "agents": {"lib", "agents"},
    "attribution": {"lib", "attribution"},
    "controller": {"lib", "controller"},
    "cli": {"lib", "cli"},
    "plugins": {"lib", "plugins"},
    "tests": {"lib", "probes", "agents", "attribution", "controller", "cli", "plugins", "tests"},
}

# No I/O, no clock, no globals: everything comes in as a parameter.
PURE = ("lib/judge/", "lib/policy/", "lib/hang/", "lib/pairing/", "lib/remedy/", "lib/ring/", "controller/alerts/alert.", "controller/alerts/alert_book.", "controller/cluster/ledger.", "controller/actions/node_view.",
        "attribution/graph", "attribution/simulate.", "attribution/slowdown.", "attribution/cause.")
# In a pure directory, but part of the shell around it: it reads files.
NOT_PURE = ("lib/policy/judge_files.",)
IMPURE_SYSTEM = re.compile(r"(unistd|fcntl|time|dirent|poll|signal|pthread|threads|spawn|dlfcn|syslog|sys/.*|netinet/.*|systemd/.*)\.h")
IMPURE_OURS = ("lib/sys/file.", "lib/base/log.", "lib/sys/lock.", "lib/sys/paths.", "lib/sys/state.", "lib/sys/host.", "lib/net/http", "controller/store/store",
               "controller/http/api", "controller/cluster/kube/")
IMPURE_CALLS = re.compile(
    r"\b(f?open|fopen|freopen|popen|openat|read|write|printf|puts|putchar|getenv|secure_getenv|time"
    r"|clock_(?:gettime|mono_us|real_us|left_us|left_ms)|gettimeofday|rand|random|srand|fork"
    r"|log_(?:line|error|warning|info|debug)|isatty|term_(?:wants_colour|width))\s*\(|\b(stdout|stderr|stdin)\b")
GLOBAL = re.compile(r"^(?:static\s+)?(?!const\b|inline\b|extern\b|typedef\b|struct\s+\w+\s*[;{]|enum\b|union\b)"
                    r"(?!static\b|return\b|else\b)[A-Za-z_][\w \t\*]*?[\s\*](\w+)\s*(\[[^\]]*\]\s*)*(=|;)")

# The only file (or files) that wraps a library and maps its errors to errno.
ONLY_IN = (
    (r"hwloc\.h|hwloc/.*", ("lib/topology/topology_hwloc.c",)),
    (r"curl/.*", ("lib/net/http.", "lib/net/http_")),
    (r"yaml\.h", ("lib/json/yaml.c",)),
    (r"sqlite3\.h", ("controller/store/db_sqlite", "controller/store/store", "tests/fakes/crash_")),
    (r"microhttpd\.h", ("controller/http/api",)),
    (r"infiniband/.*", ("probes/rdma/", "tests/fakes/verbs_fake.c")),
    (r"cblas\.h|openblas.*", ("probes/accel/host", "tests/bench/")),
    (r"cuda.*\.h|nccl\.h|nvml\.h", ("tests/",)),
    (r"systemd/.*", ("lib/net/http_loop.c", "lib/net/http_once.c", "agents/", "controller/", "tests/", "cli/link.c")),
    (r"CUnit/.*", ("tests/",)),
)

BANNED = re.compile(
    r"\b(strcpy|stpcpy|strcat|sprintf|vsprintf|strncpy|strncat|gets|strtok|atoi|atol|atoll|atof|sscanf"
    r"|system|popen|alloca|tmpnam|mktemp|exit|quick_exit|sleep|usleep|nanosleep|goto)\b(\s*\()?")

SPDX_SUFFIXES = (".c", ".h", ".py", ".sh", ".m4", ".ac", ".am", ".mk", ".yaml", ".yml", ".sql", ".cu")
WORDS = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b|(?<![\w./~-])/(?:" + "|".join(("home", "Users", "root", "work")) + r")/\w")


def table_paths():
    """(table, prefix of its paths)."""
    yield from (("MAY_INCLUDE", top + "/") for top in MAY_INCLUDE)
    yield from (("PURE", prefix) for prefix in PURE)
    yield from (("IMPURE_OURS", prefix) for prefix in IMPURE_OURS)
    yield from (("ONLY_IN", prefix) for _, where in ONLY_IN for prefix in where)


class Source:
    """One file: its text, its lines, and for C the code without comments and strings."""

    def __init__(self, root, path):
        self.path = path
        with open(os.path.join(root, path), "rb") as f:
            self.raw = f.read()
        self.text = self.raw.decode("utf-8", "replace")
        self.lines = self.text.split("\n")
        self.is_c = path.endswith((".c", ".h"))
        self.is_script = self.raw.startswith(b"#!") or path.endswith(".sh")
        self.code = strip_c(self.text) if self.is_c else ""
        self.code_lines = self.code.split("\n")
        self._functions = None

    def allows(self, line, rule):
        return re.search(r"lint: allow %s: \w" % rule, self.lines[line - 1]) is not None

    def functions(self):
        """(name, first line of the body, last line, parameters) of each C function."""
        if self._functions is None:
            self._functions = list(c_functions(self.code_lines)) if self.is_c else []
        return self._functions

    def function_at(self, line):
        for name, first, last, _ in self.functions():
            if first <= line <= last:
                return name
        return None

    def includes(self):
        """(line, name, is_system) of each #include."""
        for i, line in enumerate(self.lines, 1):
            m = re.match(r'\s*#\s*include\s+([<"])([^>"]+)[>"]', line)
            if m:
                yield i, m.group(2), m.group(1) == "<"


def strip_c(text):
    """Blanks comments and the contents of strings, keeping every newline."""
    def blank(m):
        s = m.group(0)
        if s[0] == "/":
            return re.sub(r"[^\n]", " ", s)
        return s[0] + " " * (len(s) - 2) + s[-1]
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def c_functions(lines):
    """Functions; bodies begin with '{' and end with '}' in the first column, as laid out by clang-format."""
    first = None
    for i, line in enumerate(lines, 1):
        if line.startswith("{"):
            first = i
        elif line.startswith("}") and first:
            name, parameters = signature(lines, first)
            if name:
                yield name, first, i, parameters
            first = None


def head_of(lines, body):
    """The text before the '{' of a function on line `body`: its type, name and parameters."""
    head = ""
    for i in range(body - 1, max(body - 14, 0), -1):
        line = lines[i - 1]
        if not line.strip() or line.startswith(("}", "#")) or line.rstrip().endswith(";"):
            break
        head = line + " " + head
    return head.strip()


def signature(lines, body):
    """Name, and number of parameters without err, of the function whose '{' is on line `body`."""
    m = re.search(r"(\w+)\s*\((.*)\)\s*$", head_of(lines, body), re.S)
    if not m:
        return None, 0
    depth, count = 0, 1
    for c in m.group(2):
        depth += c in "(["
        depth -= c in ")]"
        count += c == "," and depth == 0
    return m.group(1), 0 if m.group(2).strip() in ("", "void") else count - bool(re.search(r"struct err \*err$", m.group(2)))


def file_size(tree):
    for f in tree.sources:
        if (f.is_c or f.is_script or f.path.endswith((".py", ".am", ".mk", ".ac"))) and f.text.count("\n") >= FILE_LINES:
            yield f.path, FILE_LINES, "%d lines: a file has fewer than %d" % (f.text.count("\n"), FILE_LINES)


def script_functions(f):
    """(name, line, lines) of each function of a Python or shell file."""
    if f.path.endswith(".py") or "python" in f.lines[0]:
        try:
            nodes = ast.walk(ast.parse(f.text))
        except SyntaxError:
            return
        for node in nodes:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.name, node.lineno, node.end_lineno - node.lineno + 1
    elif f.is_script:
        for m in re.finditer(r"^(\w+)\(\)\s*\{(.*?)^\}", f.text, re.S | re.M):
            yield m.group(1), f.text.count("\n", 0, m.start()) + 1, m.group(2).count("\n") + 1


def function_size(tree):
    for f in tree.sources:
        sizes = [(name, first, last - first + 1) for name, first, last, _ in f.functions()]
        for name, line, size in sizes + list(script_functions(f)):
            if size > FUNCTION_LINES and not f.allows(line, "function-size"):
                yield f.path, line, "%s() has %d lines: at most %d" % (name, size, FUNCTION_LINES)


def parameters(tree):
    for f in tree.c_sources:
        for name, line, _, count in f.functions():
            # Five, plus the object that the function works on.
            if count > PARAMETERS + 1 and not f.allows(line, "parameters"):
                yield f.path, line, "%s() has %d parameters: at most %d, its object and err" % (name, count, PARAMETERS)


def spdx(tree):
    for f in tree.sources:
        base = os.path.basename(f.path)
        if f.path.endswith(SPDX_SUFFIXES) or f.is_script or base in ("packages",):
            line = 2 if f.raw.startswith(b"#!") else 1
            text = f.lines[line - 1] if len(f.lines) >= line else ""
            if "SPDX-License-Identifier: Apache-2.0" not in text:
                yield f.path, line, "want 'SPDX-License-Identifier: Apache-2.0' here"


def include_direction(tree):
    for f in tree.c_sources:
        top = f.path.split("/")[0]
        for line, name, is_system in f.includes():
            if is_system or f.allows(line, "include-direction"):
                continue
            target = name.split("/")[0]
            if "/" not in name or not tree.has(name):
                if not name.startswith("config") and not tree.is_made(name):
                    yield f.path, line, '"%s" is no header of this tree (paths start at its top)' % name
            elif target not in MAY_INCLUDE.get(top, set()):
                yield f.path, line, '%s/ must not include "%s"' % (top, name)


def include_order(tree):
    for f in tree.c_sources:
        seen_ours = False
        own = os.path.splitext(f.path)[0] + ".h"
        entries = list(f.includes())
        if f.path.endswith(".c") and tree.has(own) and entries and entries[0][1] != own:
            yield f.path, entries[0][0], 'its own header "%s" comes first' % own
        for line, name, is_system in entries:
            if is_system and seen_ours and not f.allows(line, "include-order"):
                yield f.path, line, "<%s> comes before our own headers" % name
            seen_ours = seen_ours or (not is_system and name != own and (line != entries[0][0]))


def pure_core(tree):
    for f in tree.c_sources:
        if not f.path.startswith(PURE) or f.path.startswith(NOT_PURE):
            continue
        for line, name, _ in f.includes():
            if (IMPURE_SYSTEM.fullmatch(name) or name.startswith(IMPURE_OURS)) and not f.allows(line, "pure-core"):
                yield f.path, line, "the pure core must not include %s" % name
        for i, text in enumerate(f.code_lines, 1):
            m = IMPURE_CALLS.search(text)
            if m and not f.allows(i, "pure-core"):
                yield f.path, i, "the pure core does no I/O and reads no clock: %s" % m.group(0).strip(" (")
            g = GLOBAL.match(text)
            if g and f.path.endswith(".c") and not f.function_at(i) and not f.allows(i, "pure-core"):
                yield f.path, i, "the pure core has no globals: %s" % g.group(1)


def one_wrapper(tree):
    for f in tree.c_sources:
        for line, name, is_system in f.includes():
            for header, where in ONLY_IN if is_system else ():
                if re.fullmatch(header, name) and not f.path.startswith(where) and not f.allows(line, "one-wrapper"):
                    yield f.path, line, "<%s> belongs to %s alone" % (name, ", ".join(where))


def banned(tree):
    for f in tree.c_sources:
        for i, text in enumerate(f.code_lines, 1):
            for m in BANNED.finditer(text):
                word, call = m.group(1), m.group(2)
                if not call and word != "goto" or f.allows(i, "banned"):
                    continue
                if re.search(r"(->|\.)\s*$", text[:m.start()]):
                    continue
                if word == "exit" and f.function_at(i) == "main":
                    continue
                yield f.path, i, "%s is banned" % word


def no_ifdef(tree):
    for f in tree.c_sources:
        for i, text in enumerate(f.code_lines, 1):
            if re.match(r"\s*#\s*(if|ifdef|ifndef)\b", text) and f.function_at(i) and not f.allows(i, "no-ifdef"):
                yield f.path, i, "#if inside a function: optional features are files"


def header_guard(tree):
    for f in tree.c_sources:
        if f.path.endswith(".h") and "#pragma once" not in f.text:
            yield f.path, 1, "want #pragma once"


def words(tree):
    for f in tree.sources:
        for i, text in enumerate(f.lines, 1):
            m = WORDS.search(text)
            if m and not f.allows(i, "words"):
                yield f.path, i, "'%s' does not belong in the tree" % m.group(0)


def bytes_of_text(tree):
    for f in tree.sources:
        if b"\0" in f.raw:
            continue
        try:
            f.raw.decode("utf-8")
        except UnicodeDecodeError as e:
            yield f.path, f.raw[:e.start].count(b"\n") + 1, "not valid UTF-8"
        if f.raw and not f.raw.endswith(b"\n"):
            yield f.path, len(f.lines), "no newline at the end"
        indents = f.path.endswith((".py", ".yaml", ".yml"))
        for i, text in enumerate(f.lines, 1):
            if text.endswith("\r"):
                yield f.path, i, "a carriage return"
            elif text != text.rstrip() and not f.path.endswith((".md", ".patch")):
                yield f.path, i, "white space at the end"
            if indents and "\t" in text:
                yield f.path, i, "a tab"


RULES = (
    ("file-size", file_size),
    ("function-size", function_size),
    ("parameters", parameters),
    ("spdx", spdx),
    ("include-direction", include_direction),
    ("include-order", include_order),
    ("pure-core", pure_core),
    ("one-wrapper", one_wrapper),
    ("banned", banned),
    ("no-ifdef", no_ifdef),
    ("header-guard", header_guard),
    ("words", words),
    ("text", bytes_of_text),
)
