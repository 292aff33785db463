# SPDX-License-Identifier: Apache-2.0
"""The rules of scripts/lint for the web page: banned words, the list of its files, and their sizes.

Anything a browser must never do with text from a host is banned by its name. The files loaded first, and all files
together, have a budget in bytes after gzip, as they are sent.
"""
import gzip
import os
import re
import subprocess

# The word, and its danger.
BANNED = (
    (re.compile(r"\b(?:inner|outer)HTML\b|\binsertAdjacentHTML\b|\bdangerouslySetInnerHTML\b|\bdocument\.write|\bsrcdoc\b"
                r"|\bDOMParser\b|\bcreateContextualFragment\b"), "makes markup of text"),
    (re.compile(r"\beval\b|\bnew Function\b|\bjavascript:"), "makes a program of text"),
    (re.compile(r"\sstyle=|<style\b|\bcssText\b|setAttribute\(['\"]style"), "inline style: the policy of the page lets none pass"),
    (re.compile(r"\b(?:local|session)Storage\b|\bindexedDB\b|document\.cookie"), "keeps something in the browser"),
    (re.compile(r"(?:https?:)?//(?!www\.w3\.org/)[a-z0-9-]+\.[a-z]"), "another origin"),
)
IN_HTML = ((re.compile(r"\son[a-z]+\s*="), "a script in an attribute"), (re.compile(r"<script(?![^>]*(?:src=|type=\"importmap\"))"), "a script in the page"))
IMPORT = re.compile(r"(?:^import\b[^'\"]*|\bimport\()['\"](\./[^'\"]+)['\"]", re.M)
BARE = re.compile(r"^import\b[^'\"]*['\"]([a-z][^'\"]*)['\"]", re.M)
MAPPED = re.compile(r'"([a-z][a-z/]*)": "\./@VERSION@/([^"]+)"')
STATIC = re.compile(r"^(?:import|export)\b[^'\"]*['\"](\./[^'\"]+)['\"]", re.M)

# Bytes after gzip: files needed before the fleet is shown, and all files.
FIRST_MAX, WHOLE_MAX = 60 * 1000, 130 * 1000
SERVED = (".html", ".js", ".mjs", ".css", ".svg")


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read()


def gzipped(root, path):
    with open(os.path.join(root, path), "rb") as f:
        return len(gzip.compress(f.read(), 9))


def listed(root):
    """(installed files, files only in the tarball), from page/local.mk."""
    said = {"PAGE_FILES": set(), "EXTRA_DIST": set()}
    for name, paths in re.findall(r"^(\w+) \+= ((?:.*\\\n)*.*)", read(root, "page/local.mk"), re.M):
        said.get(name, set()).update(re.findall(r"page/\S+", paths))
    return said["PAGE_FILES"], said["EXTRA_DIST"]


def first_load(root, installed):
    """The files named in index.html, and their static imports."""
    html = read(root, "page/index.html")
    mapped = dict(MAPPED.findall(html))
    todo = ["page/" + p for p in re.findall(r'(?:src|href)="@VERSION@/([^"]+)"', html)]
    seen = {"page/index.html"}
    while todo:
        path = todo.pop()
        if path in seen or path not in installed:
            continue
        seen.add(path)
        text = read(root, path) if path.endswith((".js", ".mjs")) else ""
        todo += [os.path.normpath(os.path.join(os.path.dirname(path), p)) for p in STATIC.findall(text)]
        todo += ["page/" + mapped[b] for b in BARE.findall(text) if b in mapped]
    return seen


def said_wrong(tree, path):
    rules = BANNED + (IN_HTML if path.endswith(".html") else ())
    for number, line in enumerate(read(tree.root, path).split("\n"), 1):
        for pattern, why in rules:
            found = pattern.search(line)
            if found:
                yield path, number, "'%s': %s" % (found.group().strip(), why)


def named_wrong(tree, ours):
    installed, kept = listed(tree.root)
    vendor = [os.path.relpath(os.path.join(where, n), tree.root) for where, _, names in os.walk(os.path.join(tree.root, "page/vendor")) for n in names]
    there = {p for p in tree.paths if p.startswith("page/") and p != "page/local.mk"} | set(vendor)
    for path in sorted(there - installed - kept):
        yield path, 1, "is not in page/local.mk"
    for path in sorted((installed | kept) - there):
        yield "page/local.mk", 1, "%s is not there" % path
    for path in (p for p in ours if p.endswith(".js")):
        for name in IMPORT.findall(read(tree.root, path)):
            if os.path.normpath("page/" + name) not in installed:
                yield path, 1, "imports %s, which is not in PAGE_FILES" % name


def too_large(tree):
    installed, _ = listed(tree.root)
    served = sorted(p for p in installed if p.endswith(SERVED) and tree.has(p))
    sizes = {p: gzipped(tree.root, p) for p in served}
    load, html = first_load(tree.root, set(served)), read(tree.root, "page/index.html")
    first = sum(sizes[p] for p in load)
    for path in sorted(p for p in load if p.endswith((".js", ".mjs")) and p[len("page/"):] not in html):
        yield "page/index.html", 1, "%s is loaded first, and not named for it: modulepreload" % path
    if first > FIRST_MAX:
        yield "page/index.html", 1, "the first load is %d bytes after gzip, more than %d" % (first, FIRST_MAX)
    if sum(sizes.values()) > WHOLE_MAX:
        yield "page/local.mk", 1, "the page is %d bytes after gzip, more than %d" % (sum(sizes.values()), WHOLE_MAX)


def page(tree):
    if not tree.has("page/index.html"):
        return
    ours = [p for p in tree.paths if p.startswith("page/") and not p.startswith("page/vendor/") and p.endswith(SERVED)]
    for path in ours:
        yield from said_wrong(tree, path)
        if "SPDX-License-Identifier: Apache-2.0" not in read(tree.root, path)[:200] and not path.endswith(".svg"):
            yield path, 1, "does not say its licence"
    yield from named_wrong(tree, ours)
    yield from too_large(tree)
    if not tree.has("scripts/vendor-page"):
        return
    vendored = subprocess.run([os.path.join(tree.root, "scripts/vendor-page"), "--check"], capture_output=True, text=True)
    for line in vendored.stdout.splitlines() + vendored.stderr.splitlines():
        yield line.split(": ")[0], 1, line.split(": ", 1)[-1]


RULES = (("page", page),)
