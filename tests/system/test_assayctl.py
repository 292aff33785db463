# SPDX-License-Identifier: Apache-2.0
"""assayctl, as far as it needs no controller."""
import pytest


def test_the_shipped_policy_is_good(run, top):
    done = run("assayctl", "policy", "check", top / "policies" / "default.yaml")
    assert done.returncode == 0 and done.stdout.startswith(f"{top}/policies/default.yaml: good\n") and done.stderr == ""
    assert "mode     observe" in done.stdout


@pytest.mark.parametrize("text, message", [
    ("v: 1\nmode: on\n", "mode: 'on' is none of observe, dry-run, enforce"),
    ("v: 1\nbudget: {total: {percent: -4}}\n", "budget.total.percent: -4 is outside 0 to 100"),
    ("v: 1\nrules: [{name: a, match: {}, action: alert, colour: red}]\n", "rules[0].colour: unknown key"),
    ("", "empty"),
    ("v: [", "line 2 column 1: "),
])
def test_a_bad_policy_is_one_line_that_names_the_place(run, tmp_path, text, message):
    file = tmp_path / "p.yaml"
    file.write_text(text)
    for done in (run("assayctl", "policy", "check", file), run("assay", "run", "--policy", file)):
        assert done.returncode == 2 and done.stdout == ""
        assert done.stderr.startswith(f"{file}: ") and message in done.stderr and done.stderr.count("\n") == 1


def test_a_policy_that_is_no_file_or_huge_is_refused(run, tmp_path):
    huge = tmp_path / "huge.yaml"
    with open(huge, "wb") as f:
        f.truncate(100 << 20)
    for path in (tmp_path, huge, tmp_path / "nothing"):
        done = run("assayctl", "policy", "check", path)
        assert done.returncode == 2 and str(path) in done.stderr and done.stderr.count("\n") == 1


def test_what_is_not_built_yet_says_so(run):
    done = run("assayctl", "nodes")
    assert done.returncode == 2 and "not built yet" in done.stderr
    assert run("assayctl", "dance").returncode == 2
    assert run("assayctl").returncode == 2
    assert run("assayctl", "--help").returncode == 0
