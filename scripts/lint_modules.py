# SPDX-License-Identifier: Apache-2.0
"""The rules of scripts/lint about modules: headers, name prefixes, and calls between files.

Violations that are older than the rules are listed in scripts/lint-debt, one per line: "RULE KEY..." or "prefix HEADER
COUNT". The list may only shrink. A violation that is not on it fails, and so does an entry without a violation:
`scripts/lint --shrink-debt` removes those, and adds none.
"""
import collections
import os
import re

import lint_source

DEBT = "scripts/lint-debt"
PRODUCT = ("lib/", "probes/", "agents/", "attribution/", "controller/", "cli/", "plugins/")
# Files that are a row of a table (commands.h, view.h, routes.h, forms.h) or replace one that is not built.
ROWS = re.compile(r"(^|/)((cmd|view|routes|form)_\w+|\w+_none)\.c$")
TAG = re.compile(r"^(?:struct|union|enum)\s+(\w+)\s*\{", re.M)
DECLARED = re.compile(r"^(?!static\b|typedef\b|extern\b|return\b)[A-Za-z_][\w \t\*]*?\b(\w+)\([^;{}]*?\)[^;{}()]*;", re.M)
CALL = re.compile(r"(?<![\w.>])(\w+)\s*\(")


def read_debt(tree):
    """{rule: {key: line number}} of this tree's list; empty if there is none."""
    debt = collections.defaultdict(dict)
    for f in tree.sources:
        for i, text in enumerate(f.lines if f.path == DEBT else (), 1):
            rule, _, key = text.partition(" ")
            if key and not rule.startswith("#"):
                debt[rule][key] = i
    return debt


def beyond_debt(tree, rule, found):
    """The violations {key: (path, line, sentence)} that are not on the list, and entries of the list without a violation."""
    listed = read_debt(tree)[rule]
    for key in found:
        if not any(set(key.split()) <= set(then.split()) for then in listed):
            yield found[key]
    for key in listed.keys() - found.keys():
        yield DEBT, listed[key], "'%s %s' breaks the rule no more: scripts/lint --shrink-debt" % (rule, key)


def product(tree, suffix):
    return [f for f in tree.c_sources if f.path.startswith(PRODUCT) and f.path.endswith(suffix)]


def stem(path):
    return os.path.splitext(os.path.basename(path))[0]


def own_header_breaches(tree):
    return {f.path: (f.path, 1, "want a header of its own, or a row of a table")
            for f in product(tree, ".c")
            if not tree.has(f.path[:-2] + ".h") and not ROWS.search(f.path) and "main" not in [name for name, *_ in f.functions()]}


def own_header(tree):
    yield from beyond_debt(tree, "own-header", own_header_breaches(tree))


def one_tag_breaches(tree):
    places = collections.defaultdict(list)
    for f in product(tree, ".h"):
        for m in TAG.finditer(f.code):
            places[m.group(1)].append((f.path, f.code.count("\n", 0, m.start()) + 1))
    return {tag: (*where[1], "'%s' is defined in %s too" % (tag, where[0][0])) for tag, where in places.items() if len(where) > 1}


def one_tag(tree):
    yield from beyond_debt(tree, "one-tag", one_tag_breaches(tree))


class Functions:
    """The definitions, declarations and callers of non-static functions."""

    def __init__(self, tree):
        self.tree = tree
        self.files = product(tree, ".c")
        self.defined, self.declared = collections.defaultdict(list), collections.defaultdict(list)
        self.static = {}
        for f in self.files:
            names = {name for name, first, _, _ in f.functions() if lint_source.head_of(f.code_lines, first).startswith("static ")}
            self.static[f.path] = names
            for name in {name for name, *_ in f.functions()} - names - {"main"}:
                self.defined[name].append(f.path)
        for f in product(tree, ".h"):
            for m in DECLARED.finditer(f.code):
                self.declared[m.group(1)].append((f.path, f.code.count("\n", 0, m.start(1)) + 1))
        self.included = {f.path: [name for _, name, is_system in f.includes() if not is_system] for f in tree.c_sources}

    def headers_of(self, path):
        """The files that a file includes, directly or not."""
        seen, todo = set(), [path]
        while todo:
            for name in self.included.get(todo.pop(), ()):
                if name not in seen:
                    seen.add(name)
                    todo.append(name)
        return seen

    def calls(self):
        """{file: {file of the same top folder: name of a function of it that is called}}. If two functions have the same
        name, it is the one whose header is included."""
        graph = collections.defaultdict(dict)
        for f in self.files:
            seen = self.headers_of(f.path)
            bodies = "\n".join("\n".join(f.code_lines[first - 1:last]) for _, first, last, _ in f.functions())
            for name in sorted(set(CALL.findall(bodies)) - self.static[f.path]):
                if not seen.isdisjoint(path for path, _ in self.declared.get(name, ())):
                    for path in self.defined.get(name, ()):
                        if path != f.path and path.split("/")[0] == f.path.split("/")[0]:
                            graph[f.path].setdefault(path, name)
        return graph


def prefixes(tree, path):
    """The allowed prefixes of a file's names: its own name, or that of its module, which is a header beside it whose name is
    a prefix of its own, or that of the folder."""
    where, words = os.path.dirname(path), stem(path).split("_")
    modules = ["_".join(words[:i]) for i in range(1, len(words))] + [os.path.basename(where)]
    return {stem(path)} | {name for name in modules if tree.has(os.path.join(where, name + ".h"))}


def prefix_breaches(tree):
    """{header: [(line, function)]}. Singular and plural are one module: orders.h may have order_release()."""
    functions = Functions(tree)
    found = collections.defaultdict(list)
    for name, files in functions.defined.items():
        for header, line in functions.declared.get(name, ()):
            allowed = {p for path in (header, *files) for p in prefixes(tree, path)}
            if not any(re.match(r"%ss?(_|$)" % re.escape(re.sub("(?<!s)s$", "", p)), name) for p in allowed):
                found[header].append((line, name))
    return found


def prefix(tree):
    found = prefix_breaches(tree)
    listed = {key.split()[0]: (int(key.split()[1]), line) for key, line in read_debt(tree)["prefix"].items()}
    for header, names in found.items():
        if len(names) > listed.get(header, (0, 0))[0]:
            yield header, min(names)[0], "functions without the name of their file or module: %s; %d may be" % (
                " ".join(name for _, name in sorted(names)), listed.get(header, (0, 0))[0])
    for header, (count, line) in listed.items():
        if len(found.get(header, ())) < count:
            yield DEBT, line, "'prefix %s' is %d by now: scripts/lint --shrink-debt" % (header, len(found.get(header, ())))


def reached(graph, start):
    """{file: its predecessor on a shortest path from `start`}; includes `start` if a path leads back."""
    before, todo = {}, collections.deque([start])
    while todo:
        here = todo.popleft()
        for there in sorted(graph.get(here, ())):
            if there not in before:
                before[there] = here
                todo.append(there)
    return before


def round_trip(graph, start):
    """A shortest cycle through a file, as text."""
    before, words, here = reached(graph, start), "", start
    while not words or here != start:
        words = " -> %s()%s%s" % (graph[before[here]][here], " of " + here, words)
        here = before[here]
    return start + words


def cycle_breaches(tree):
    """{files that reach each other by calls, in order: (path, 1, a cycle)}"""
    graph = Functions(tree).calls()
    reach = {path: set(reached(graph, path)) for path in list(graph)}
    found = {}
    for path in sorted(reach):
        ring = [path] + sorted(other for other in reach[path] - {path} if path in reach.get(other, ()))
        if len(ring) > 1 and path == min(ring):
            found[" ".join(ring)] = (path, 1, "calls in a circle: " + round_trip(graph, path))
    return found


def call_cycle(tree):
    yield from beyond_debt(tree, "call-cycle", cycle_breaches(tree))


def lint_tables(tree):
    """The tables of lint name only existing files. Checked only in a tree that has them."""
    for name, prefix in lint_source.table_paths():
        if tree.has("scripts/lint_source.py") and not any(path.startswith(prefix) for path in tree.paths):
            yield "scripts/lint_source.py", 1, "%s: no file begins with '%s'" % (name, prefix)


RULES = (
    ("own-header", own_header),
    ("one-tag", one_tag),
    ("prefix", prefix),
    ("call-cycle", call_cycle),
    ("lint-tables", lint_tables),
)


def all_breaches(tree):
    """Every line that the list would need."""
    yield from ("own-header " + key for key in own_header_breaches(tree))
    yield from ("one-tag " + key for key in one_tag_breaches(tree))
    yield from ("prefix %s %d" % (key, len(names)) for key, names in prefix_breaches(tree).items())
    yield from ("call-cycle " + key for key in cycle_breaches(tree))


def is_within(now, listed):
    """Is a violation on the list, perhaps as a part of an entry?"""
    (rule, *words), (rule_then, *words_then) = now.split(), listed.split()
    if rule != rule_then:
        return False
    if rule == "prefix":
        return words[0] == words_then[0] and int(words[1]) <= int(words_then[1])
    return set(words) <= set(words_then)


def shrink_debt(tree):
    """Writes the list without entries that are no longer violations. Returns how many lines were removed."""
    path = os.path.join(tree.root, DEBT)
    with open(path, encoding="utf-8") as f:
        lines = f.read().splitlines()
    head = [line for line in lines if line.startswith("#")]
    listed = [line for line in lines if line and not line.startswith("#")]
    kept = sorted(now for now in all_breaches(tree) if any(is_within(now, then) for then in listed))
    with open(path, "w", encoding="utf-8") as f:
        f.write("".join(line + "\n" for line in head + kept))
    return len(listed) - len(kept)
