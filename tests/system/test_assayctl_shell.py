# SPDX-License-Identifier: Apache-2.0
"""Completion in real shells, and the manual page."""
import os
import re
import shutil
import subprocess

import pytest

from stub_lists import stub  # noqa: F401

pytestmark = pytest.mark.once

COMMANDS = ["nodes", "node", "why", "incidents", "baselines", "drift", "actions", "cordon", "uncordon", "repair-done", "burn", "override", "silence",
            "breaker", "coverage", "evidence", "jobs", "job", "plan", "diagnose", "investigations", "investigation", "campaign", "setup", "token", "join-command", "session", "doctor", "policy", "completion"]


@pytest.fixture
def complete(build, environ, stub):
    """complete("assayctl no", ...): bash's completions of the last word, with the stub's hosts."""
    bash = shutil.which("bash") or pytest.skip("bash is not installed")

    def ask(*words):
        typed = " ".join(f"'{w}'" for w in words)
        text = f'''source <(assayctl completion bash)
COMP_WORDS=({typed}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_assayctl assayctl "${{COMP_WORDS[COMP_CWORD]}}" ""
printf '%s\\n' "${{COMPREPLY[@]}}"'''
        env = {**environ, "PATH": f"{build}:{os.environ['PATH']}", "ASSAY_CONTROLLER": stub.url}
        done = subprocess.run([bash, "--norc", "-c", text], env=env, capture_output=True, text=True, timeout=60, check=False)
        assert done.stderr == ""
        return done.stdout.split()

    return ask


def test_bash_completes_commands_options_and_values(complete):
    assert complete("assayctl", "") == COMMANDS
    assert complete("assayctl", "no") == ["nodes", "node"]
    assert complete("assayctl", "policy", "") == ["check", "replay"]
    assert complete("assayctl", "campaign", "") == ["start", "list", "show"]
    assert complete("assayctl", "campaign", "start", "--plan", "") == ["two-pass", "tournament", "bisect", "every-two"]
    assert complete("assayctl", "breaker", "") == ["reset"]
    assert complete("assayctl", "silence", "e") == ["end"] and complete("assayctl", "override", "end", "gpu-0") == ["gpu-07"]
    assert complete("assayctl", "cordon", "--ra") == ["--rack"] and complete("assayctl", "cordon", "--dr") == ["--dry-run"]
    assert complete("assayctl", "breaker", "reset", "--re") == ["--reason"]
    assert complete("assayctl", "breaker", "--w") == ["--watch"]
    assert complete("assayctl", "cordon", "gpu-17", "--b") == ["--break-glass"]
    assert complete("assayctl", "nodes", "--st") == ["--stale"]
    assert complete("assayctl", "drift", "--st") == []
    assert complete("assayctl", "nodes", "--output", "") == ["table", "wide", "json", "kv"]
    assert complete("assayctl", "nodes", "-o", "j") == ["json"]
    assert complete("assayctl", "nodes", "--verdict", "=", "in") == ["inconclusive"]
    assert complete("assayctl", "nodes", "--verdict", "=") == ["pass", "warn", "fail", "inconclusive"]
    assert complete("assayctl", "--timeout", "5s", "inc") == ["incidents"]
    assert complete("assayctl", "completion", "") == ["bash", "zsh", "fish"]


def test_bash_completes_files(complete, tmp_path):
    (tmp_path / "a-token").write_text("x")
    assert complete("assayctl", "nodes", "--token-file", str(tmp_path / "a-")) == [str(tmp_path / "a-token")]
    for words in (["policy", "check"], ["job", "submit"], ["job", "submit", "t", "--meta"]):
        assert complete("assayctl", *words, str(tmp_path / "a-")) == [str(tmp_path / "a-token")]


def test_bash_completes_hosts_and_runs_none_of_them(complete, stub, tmp_path):
    touched = tmp_path / "touched"
    stub.nodes("gpu-07", "gpu-17", "rack2-gpu-1", f"$(touch {touched})", f"`touch {touched}`", "a b", "gpu;ls", "-gpu\n-x")
    assert complete("assayctl", "why", "gpu-") == ["gpu-07", "gpu-17"]
    assert complete("assayctl", "node", "") == ["gpu-07", "gpu-17", "rack2-gpu-1"]
    assert complete("assayctl", "drift", "--node", "r") == ["rack2-gpu-1"]
    assert complete("assayctl", "cordon", "--reason", "fan 3", "gpu-0") == ["gpu-07"]
    assert not touched.exists()


def test_bash_completes_jobs_and_runs_none_of_them(complete, stub, tmp_path):
    touched = tmp_path / "touched"
    stub.list("/v1/jobs", [{"job": name} for name in ("research/llm-7", "research/moe-2", "slurm:a/12", f"$(touch {touched})", "a b",
                                                      "train/x (PyTorchJob)", "x;ls", "-y\n-z")])
    assert complete("assayctl", "job", "") == ["submit", "beat", "research/llm-7", "research/moe-2", "slurm:a/12"]
    assert complete("assayctl", "job", "research/l") == ["research/llm-7"]
    assert complete("assayctl", "job", "su") == ["submit"]
    assert complete("assayctl", "job", "submit", "t", "--job", "s") == ["slurm:a/12"]
    assert complete("assayctl", "job", "research/llm-7", "--wi") == ["--windows"]
    assert complete("assayctl", "job", "submit", "--a") == ["--ages"]
    assert complete("assayctl", "job", "submit", "--wa") == ["--wait"]
    assert not touched.exists()


def test_completion_without_a_controller_is_silent(complete, stub):
    stub.close()
    assert complete("assayctl", "why", "g") == [] and complete("assayctl", "job", "g") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_take_their_script(run, shell, tmp_path):
    path = shutil.which(shell) or pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(run("assayctl", "completion", shell).stdout)
    subprocess.run([path, "-n", str(script)], check=True, timeout=60)


def test_fish_offers_the_commands(build, environ, run, tmp_path):
    fish = shutil.which("fish") or pytest.skip("fish is not installed")
    script = tmp_path / "script"
    script.write_text(run("assayctl", "completion", "fish").stdout)
    env = {**environ, "PATH": f"{build}:{os.environ['PATH']}", "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    done = subprocess.run([fish, "-c", f"source {script}; complete -C 'assayctl '; complete -C 'assayctl nodes --verd'"], env=env,
                          capture_output=True, text=True, timeout=60, check=True)
    offered = [line.split("\t")[0] for line in done.stdout.splitlines()]
    assert set(COMMANDS) | {"--verdict"} <= set(offered)


def test_another_shell_is_refused(run):
    done = run("assayctl", "completion", "csh")
    assert (done.returncode, done.stderr) == (2, "assayctl: completion: 'csh' is not one of bash, zsh, fish\n")


def test_the_manual_tells_every_command_and_option(run, build):
    page = run("assayctl", "man").stdout
    assert page == (build / "cli" / "assayctl.1").read_text()
    both = ["override list", "override end", "silence list", "silence end", "job submit", "policy check", "policy replay", "breaker reset", "investigation cancel", "campaign start", "campaign list", "campaign show", "token create",
            "setup controller", "setup certificate", "token list", "token revoke", "token reset", "session list", "session end"]
    for command in [c for c in COMMANDS if c not in ("policy", "campaign", "setup", "token", "session")] + both:
        assert re.search(rf'^\.SS "{command}( [A-Z]+(\.\.\.)?)?"$', page, re.M)
    for option in re.findall(r"--([a-z-]+)", run("assayctl", "--help").stdout + run("assayctl", "nodes", "--help").stdout):
        assert "\\-\\-" + option.rstrip("-").replace("-", "\\-") in page
    assert "man" not in re.findall(r"^  (\w+)", run("assayctl", "--help").stdout, re.M), "what is hidden is not offered"


@pytest.mark.parametrize("checker", [["mandoc", "-T", "lint", "-W", "style"], ["groff", "-man", "-ww", "-z", "-Tutf8"]])
def test_the_manual_is_well_formed(run, checker, tmp_path):
    path = shutil.which(checker[0]) or pytest.skip(f"{checker[0]} is not installed")
    page = tmp_path / "assayctl.1"
    page.write_text(run("assayctl", "man").stdout)
    done = subprocess.run([path, *checker[1:], str(page)], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout + done.stderr == "" and done.returncode == 0


def test_the_manual_and_the_completions_are_installed(installed):
    names = {p.name for p in installed.rglob("*assayctl*") if p.is_file()}
    assert {"assayctl.1", "_assayctl", "assayctl.fish"} <= names
    assert any("bash-completion/completions/assayctl" in str(p) for p in installed.rglob("assayctl"))
