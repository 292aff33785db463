# SPDX-License-Identifier: Apache-2.0
"""Consistency of the pages: links resolve, in the tree and as installed; the index lists all pages; terms are explained."""
import os
import re
import shutil
import subprocess

import pytest
import yaml

pytestmark = pytest.mark.once

OUTSIDE = ("http://", "https://", "mailto:")


def headings(text):
    """The anchors that GitHub generates for a page's headings."""
    lines = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S).splitlines()
    words = [re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()) for line in lines if re.match(r"#+ ", line)]
    return {word.replace(" ", "-") for word in words}


def dangling(root, pages):
    """(page, link) of each relative link without a target file or heading."""
    found, links = [], 0
    for page in pages:
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            if link.startswith(OUTSIDE):
                continue
            links += 1
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            lost = not target.is_file() or not target.is_relative_to(root.resolve())
            if lost or (anchor and anchor not in headings(target.read_text())):
                found.append((str(page.relative_to(root)), link))
    return found, links


def test_links_in_the_tree_lead_somewhere(top):
    found, links = dangling(top, [top / "README.md", *sorted((top / "docs").rglob("*.md"))])
    assert found == [] and links > 100


def test_links_of_the_installed_pages_lead_somewhere(top, installed):
    where = next(installed.rglob("doc/assay/index.md")).parent
    pages = sorted(where.rglob("*.md"))
    found, links = dangling(where, pages)
    assert found == [] and links > 100
    names = {p.name for p in pages} | {p.name for p in where.rglob("*.yaml")}
    assert {p.name for p in (top / "docs").rglob("*.md")} <= names
    text = {p.name: p.read_text() for p in pages}
    assert [(name, word) for name, words in text.items() for word in re.findall(r"\bdocs/[\w/-]+\.(?:md|yaml)", words)] == []
    # Files that a page mentions without a link must exist too.
    named = {(name, word) for name, words in text.items() for word in re.findall(r"(?<![\w/.-])([a-z-]+\.md)\b", words)}
    assert [(name, word) for name, word in sorted(named) if word not in names] == []


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    (tmp_path / "a.md").write_text("# A `b` c\n[x](b.md) [y](#a-b-c) [z](#a) [out](../../etc/passwd)\n```\n[no](no.md)\n```\n")
    assert dangling(tmp_path, [tmp_path / "a.md"]) == ([("a.md", "b.md"), ("a.md", "#a"), ("a.md", "../../etc/passwd")], 4)


def test_the_index_has_every_page(top):
    index = (top / "docs/README.md").read_text()
    pages = [str(p.relative_to(top / "docs")) for p in sorted((top / "docs").rglob("*.md")) if p.name != "README.md"]
    assert [page for page in pages if f"]({page})" not in index] == [] and len(pages) > 25


def test_the_first_screen_says_what_it_is_and_where_to_go(top):
    lines = (top / "README.md").read_text().splitlines()
    assert len(lines) < 90
    rows = [line for line in lines[:40] if line.startswith("| **")]
    assert len(rows) == 3 and all("](docs/" in row for row in rows)


NAMES = {"lib/policy/life.c": "life_state_names", "lib/judge/admit.c": "admit_answer_names", "lib/judge/verdict.c": "verdict_level_names",
         "lib/policy/policy_mode.c": "policy_mode_names"}


@pytest.mark.parametrize("path, table", NAMES.items())
def test_what_programs_print_as_a_state_is_in_the_glossary(top, path, table):
    body = re.search(rf"{table}\[.*?\] = \{{(.*?)\}};", (top / path).read_text(), re.S)[1]
    names = re.findall(r'"([a-z-]+)"', body)
    words = {word.strip() for row in re.findall(r"^\| ([^|]+) \|", (top / "docs/glossary.md").read_text(), re.M) for word in row.split(",")}
    assert names and [name for name in names if name not in words] == []


def test_no_word_is_explained_twice(top):
    words = [word.strip() for row in re.findall(r"^\| ([^|]+) \|", (top / "docs/glossary.md").read_text(), re.M) for word in row.split(",")]
    assert sorted(set(words) - {"word", "---"}) == sorted(w for w in words if w not in ("word", "---"))


def test_the_ansible_role_joins_as_assay_join_does(top, run, build):
    role = yaml.safe_load((top / "deploy/ansible/roles/assay/tasks/main.yaml").read_text())
    joins = [task["ansible.builtin.command"] for task in role if "assay join" in str(task.get("ansible.builtin.command"))]
    assert len(joins) == 1 and joins[0]["stdin"] == "{{ assay_join_token }}"
    if (build / "assay-join").exists():
        options = set(re.findall(r"--([\w-]+)", run("assay", "join", "--help").stdout))
        assert set(re.findall(r"--([\w-]+)", joins[0]["cmd"])) <= options
    used = set(re.findall(r"\bassay_\w+", (top / "deploy/ansible/roles/assay/tasks/main.yaml").read_text()))
    given = yaml.safe_load((top / "deploy/ansible/roles/assay/defaults/main.yaml").read_text())
    assert used == set(given)


def test_ansible_reads_the_role(top, tmp_path):
    if not shutil.which("ansible-playbook"):
        pytest.skip("ansible-playbook is missing: apt-get install ansible-core")
    (tmp_path / "inventory").write_text("[gpu]\ngpu-1 ansible_connection=local\n")
    out = subprocess.run(["ansible-playbook", "-i", tmp_path / "inventory", "--syntax-check", top / "deploy/ansible/hosts.yaml"], capture_output=True, text=True,
                         timeout=60, stdin=subprocess.DEVNULL, env={**os.environ, "HOME": str(tmp_path)}, check=False)
    assert out.returncode == 0, out.stdout + out.stderr
