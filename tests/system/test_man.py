# SPDX-License-Identifier: Apache-2.0
"""The manual pages match the programs' help."""
import re
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.once

PAGES = {"assay.1": "assay", "assay-attribute.1": "assay-attribute", "assay-lateness.1": "assay-lateness", "assay-optrace.1": "assay-optrace", "assay-plan.1": "assay-plan",
         "assay-controller.8": "assay-controller", "assayd.8": "assayd"}
# For a page on a file: where the tables of its keys are.
FILES = {"assayd.yaml.5": ["agents/assayd/assayd_config.c"], "assay-controller.yaml.5": ["controller/config/settings.c", "controller/config/settings_jobs.c"],
         "assay-tokens.yaml.5": ["controller/auth/tokens.c"], "assay-policy.5": ["lib/policy/policy.c", "lib/policy/policy_jobs.c"]}
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


def pages_of(top):
    return sorted((top / "docs/man").iterdir())


def test_mandoc_has_no_complaint(top):
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is missing: apt-get install mandoc")
    out = subprocess.run(["mandoc", "-T", "lint", *pages_of(top)], capture_output=True, text=True).stdout
    # Whether the others are installed does not matter for the page.
    assert [line for line in out.splitlines() if "referenced manual not found" not in line] == []


def test_groff_has_no_warning(top):
    if not shutil.which("groff"):
        pytest.skip("groff is missing: apt-get install groff-base")
    for path in pages_of(top):
        out = subprocess.run(["groff", "-mandoc", "-Tutf8", "-K", "utf8", "-ww", "-z", str(path)], capture_output=True, text=True)
        assert (out.returncode, out.stderr) == (0, ""), path.name


def test_the_page_says_where_words_are_explained(page):
    assert "\n.Pa /usr/share/doc/assay/glossary.md .\n" in page[1].read_text()


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


def keys_of(top, sources):
    """The keys in the tables of these files."""
    return {key for path in sources for key in re.findall(r'\{ (?:\{ )?"([a-z0-9_-]+)", *J_\w+', (top / path).read_text())}


@pytest.mark.parametrize("name", FILES)
def test_the_page_of_a_file_has_its_keys_and_no_others(top, name):
    text = (top / "docs/man" / name).read_text()
    keys = keys_of(top, FILES[name])
    told = {word for line in re.findall(r"^\.It Cm (.*)", text, re.M) for word in line.split() if word != ","}
    assert len(keys) > 4 and told - keys == set()
    assert sorted(key for key in keys if not re.search(rf"(?<![\w-]){key}(?![\w-])", text)) == []


DATA = ("agents/run/profiles.c", "lib/judge/sku.c", "probes/rdma/site.c", "probes/accel/gpu_users.c", "controller/config/rail_map.c")


def test_the_page_of_data_has_the_keys_of_its_files(top):
    text = (top / "docs/man/assay-data.5").read_text()
    keys = keys_of(top, DATA)
    assert len(keys) > 30 and sorted(key for key in keys if not re.search(rf"(?<![\w-]){key}(?![\w-])", text)) == []


def test_the_page_of_data_has_each_file_that_is_shipped(top):
    text = (top / "docs/man/assay-data.5").read_text()
    names = {path.name for path in (top / "policies").glob("*.yaml")} - {"default.yaml"}
    assert len(names) > 3 and [name for name in sorted(names | {"sku/NAME.yaml"}) if f".Ss {name}\n" not in text] == []
    for name in names:
        keys = set(re.findall(r"^([a-z_]+):", (top / "policies" / name).read_text(), re.M)) - {"v", "source"}
        assert [key for key in sorted(keys) if f".It Cm {key}\n" not in text] == []


def test_each_installed_program_and_page_is_there(installed, top):
    """Programs in bin and sbin; those in libexec are started by assay, whose page documents the probes."""
    programs = {p.name for folder in ("bin", "sbin") for where in installed.rglob(folder) for p in where.iterdir()}
    found = {p.name for p in installed.rglob("man/man[158]/*")}
    assert "assay" in programs and {p.name for p in pages_of(top)} <= found
    assert [name for name in sorted(programs) if not {f"{name}.1", f"{name}.8"} & found] == []
    text = (top / "docs/man/assay.1").read_text()
    probes = {p.name for p in installed.rglob("libexec/assay/assay-probe-*")}
    assert len(probes) > 5 and [name for name in sorted(probes) if f".It Cm {name.removeprefix('assay-probe-')}\n" not in text] == []
