# SPDX-License-Identifier: Apache-2.0
"""The first contact with a host's programs: help, lists, completion, names and mistakes."""
import json
import re
import subprocess

import pytest
from conftest import sample


def test_the_options_of_our_own_programs_are_in_no_help(run):
    words = run("assay", "run", "--help").stdout + run("assay", "--help").stdout + run("assay-attribute", "--help").stdout
    for private in ("--order", "--order-kind", "--decline", "  keep "):
        assert private not in words
    assert run("assay", "run", "--decline", "x").returncode == 2, "still there"
    attribute = run("assay-attribute", "--help").stdout
    assert "(default json)" in attribute and "--remedies" in attribute


@pytest.mark.parametrize("words", [["help", "run"], ["run", "--help"]])
def test_help_of_a_command_is_that_of_the_command(run, words):
    assert run("assay", *words).stdout.startswith("Usage: assay run ")


def test_the_completion_offers_commands_and_their_options(run, build):
    script = run("assay", "completion", "bash").stdout
    assert run("assay", "completion", "tcsh").returncode == 2 and run("assay", "completion").returncode == 2

    def complete(*words):
        asked = " ".join(f"'{w}'" for w in words)
        code = (f"{script}\nPATH={build}:$PATH\nCOMP_WORDS=({asked}); COMP_CWORD={len(words) - 1}\n_assay\n"
                "printf '%s\\n' \"${COMPREPLY[@]}\"")
        return subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert {"run", "admit", "list", "help"} <= set(complete("assay", "")) and "keep" not in complete("assay", "")
    assert complete("assay", "ru") == ["run"]
    assert {"--profile", "--sku"} <= set(complete("assay", "run", "--")) and "--order" not in complete("assay", "run", "--")
    assert complete("assay", "run", "--profile", "q") == ["quick"] == complete("assay", "run", "--profile", "=", "q")
    assert "gemm" in complete("assay", "run", "--probe", "ge")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completions_are_installed(run, installed, shell):
    name = {"bash": "bash-completion/completions/assay", "zsh": "zsh/site-functions/_assay", "fish": "fish/vendor_completions.d/assay.fish"}[shell]
    found = [p for p in installed.rglob("*assay*") if str(p).endswith(name)]
    assert len(found) == 1 and found[0].read_text() == run("assay", "completion", shell).stdout


def test_list_takes_names_of_probes_and_parts_of_checks(run):
    def checks(*words):
        return {c["check"] for p in json.loads(run("assay", "list", "-o", "json", *words).stdout)["probes"] for c in p["checks"]}

    assert all(c.startswith("gemm.") for c in checks("gemm")) and len(checks("gemm")) > 3
    assert checks("smt") == {"host.smt"}
    assert {"host.smt", "gemm.rate"} <= checks("host-state", "gemm")
    done = run("assay", "list", "gemn")
    assert done.returncode == 2 and done.stderr == "assay list: 'gemn': no probe or check has this in its name\n"


def test_skus_are_listed_and_taken_by_name(run):
    names = run("assay", "list", "--skus").stdout.splitlines()
    assert "hgx-h100" in names and names == sorted(names, key=lambda n: n + ".yaml")
    assert json.loads(run("assay", "list", "--skus", "-o", "json").stdout)["skus"] == names
    done = run("assay", "run", "--profile", "passive", "--sku", "hgx-h100", "-o", "json")
    assert json.loads(done.stdout)["report"]["sku"] == "hgx-h100"
    done = run("assay", "run", "--sku", "hgx-h10")
    assert done.returncode == 2 and done.stderr == "hgx-h10: neither a file nor the name of a SKU (--sku); did you mean hgx-h100?\n"
    assert "`assay list --skus` prints the names" in run("assay", "run", "--sku", "quetzalcoatl").stderr


@pytest.mark.parametrize("option", ["--policy", "--profiles", "--sku"])
def test_a_file_that_is_not_there_is_told_with_its_option(run, option):
    done = run("assay", "run", option, "/nonexist/f.yaml")
    assert done.returncode == 2 and done.stderr == f"/nonexist/f.yaml: No such file or directory ({option})\n"


def test_a_bad_option_is_told_with_the_command(run):
    assert run("assay", "run", "--profile", "quik").stderr.startswith("assay run: --profile: no profile 'quik'")
    assert run("assay", "run", "surplus").stderr.startswith("assay run: 'surplus'")


def test_an_unknown_key_names_the_one_that_was_meant(run, tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text("v: 1\nmod: observe\n")
    assert run("assay", "run", "--policy", file).stderr == f"{file}: mod: unknown key; did you mean mode?\n"
    file.write_text("v: 1\nzebra: 1\n")
    assert run("assay", "run", "--policy", file).stderr == f"{file}: zebra: unknown key\n"


def test_tables_keep_to_columns_also_in_a_pipe(run):
    for words in (["run", "--profile", "passive"], ["list"], ["list", "--sensitivity"]):
        narrow = run("assay", *words, env={"COLUMNS": "72"}).stdout
        assert max(map(len, narrow.splitlines())) <= 72, narrow
        assert not re.search(r"[0-9]{10}", narrow.partition("\n")[2]), "bytes are told in GiB"


def test_why_there_is_no_value_is_said_once(run, script, profiles):
    probe = script("gpu", "echo 'assay-probe-gpu: no GPU driver' >&2; exit 77\n")
    other = script("x", f"echo '{sample()}'\n")
    done = run("assay", "run", "--profiles", profiles(quick=[{"name": "gpu", "exec": probe}, {"name": "x", "exec": other}]))
    assert "\nnot measured\n  gpu: nothing to measure: no GPU driver\n\n" in done.stdout
    assert done.stdout.startswith("MEASURED  ") and "pass: 1 check measured, not judged: nothing to compare with" in done.stdout


def test_checks_that_nobody_measured_are_one_row_of_a_reason(run, script):
    run("assay", "run", "--profile", "passive")
    rows = run("assay", "list", "--sensitivity").stdout.splitlines()
    assert len(rows) < 80
    ring = next(r for r in rows if r.startswith("all_reduce."))
    assert "11 not measured here yet" in ring and "other hosts: the controller orders such a test" in ring


def test_the_check_of_assayd_says_what_the_environment_says(run, tmp_path):
    token = tmp_path / "token"
    token.write_text("t")
    token.chmod(0o600)
    conf = tmp_path / "assayd.yaml"
    conf.write_text("v: 1\ncontroller: https://127.0.0.1:1\n")
    done = run("assayd", "--config", conf, "--check", env={"ASSAY_TOKEN_FILE": str(token), "ASSAY_CONTROLLER": "https://other:1"})
    assert f"token_file: {token}, from the environment (ASSAY_TOKEN_FILE)\n" in done.stderr
    assert "ASSAY_CONTROLLER" not in done.stderr, "the file has its own"
    conf.write_text(f"v: 1\ncontroller: https://127.0.0.1:1\ntoken_file: {token}\n")
    done = run("assayd", "--config", conf, "--check", env={"ASSAY_TOKEN_FILE": "/nowhere"})
    assert "environment" not in done.stderr
