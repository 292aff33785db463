# SPDX-License-Identifier: Apache-2.0
"""The manual pages say what the programs say of themselves."""
import re
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.once

PAGES = {"assay.1": "assay", "assay-attribute.1": "assay-attribute",
         "assay-controller.8": "assay-controller", "assayd.8": "assayd"}
EVERYWHERE = {"help", "usage", "version"}


def options_of(words):
    return set(re.findall(r"^ +(?:-\w, +)?--([\w-]+)", words, re.M)) - EVERYWHERE


def options_in(text):
    return set(re.findall(r"Fl -([\w-]+)", text)) - EVERYWHERE


@pytest.fixture(params=sorted(PAGES))
def page(request, top, build):
    program = PAGES[request.param]
    if not (build / program).exists():
        pytest.skip(f"{program} is not built")
    return program, top / "docs/man" / request.param


def test_mandoc_has_no_complaint(page):
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is missing: apt-get install mandoc")
    out = subprocess.run(["mandoc", "-T", "lint", page[1]], capture_output=True, text=True).stdout
    # Whether the others are installed is no matter of the page.
    assert [line for line in out.splitlines() if "referenced manual not found" not in line] == []


def test_the_page_has_the_options_of_the_program_and_no_others(page, run, build):
    program, path = page
    text = path.read_text()
    described, _, rest = text.partition(".Sh PROBES\n")
    words = run(program, "--help").stdout
    commands = re.findall(r"^  (\w+) {2,}", words, re.M) if program == "assay" else []
    there = options_of(words)
    for command in commands:
        there |= options_of(run(program, command, "--help").stdout)
    assert options_in(described) == there
    assert [c for c in commands if f".Ss {c}\n" not in text] == []
    probe = run("assay-probe-memory", "--help")
    if rest:
        assert options_in(rest.partition(".Sh")[0]) >= {"describe", "budget", "busy", "seed"}
        assert options_of(probe.stdout) >= {"describe", "budget", "busy", "seed"}


def test_pages_are_installed(installed):
    found = {p.name for p in installed.rglob("*.[18]")}
    assert set(PAGES) <= found
