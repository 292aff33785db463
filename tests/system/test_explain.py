# SPDX-License-Identifier: Apache-2.0
"""assay explain: the matrix as a heat map, the slow link by name, and one line for each other check."""
import json
import os
import pty
import random
import re
import sys
from pathlib import Path

import pytest
from conftest import sample
from test_localise import UPLINK, matrix

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fleet"))
import faults  # noqa: E402
import hosts  # noqa: E402

FORMATS = Path(__file__).resolve().parents[2] / "docs" / "formats.md"
NAME = "PCIe switch 0000:46:00.0 uplink"


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def changed(text, **of):
    """The lines with changed cells: subject=(state, value)."""
    out = []
    for s in lines(text):
        if s["subject"] in of:
            s["state"], s["value"] = of[s["subject"]]
        out.append(json.dumps(s))
    return "\n".join(out) + "\n"


def rows_of(out, check="loopback.write_bw"):
    """{row: [cells]} of the map of a check."""
    text = re.search(rf"^{re.escape(check)}.*\n((?:.+\n)+)", out, re.M)[1]
    return {words[0]: words[1:] for words in (line.split() for line in text.splitlines()) if ":" in words[0]}


@pytest.fixture
def explain(run, tmp_path):
    def call(text, *words, reference=None, env=None):
        path = tmp_path / "input"
        path.write_text(text)
        if reference is not None:
            (tmp_path / "good").write_text(reference)
            words = (*words, "--reference", str(tmp_path / "good"))
        return run("assay", "explain", str(path), *words, env=env)

    return call


def on_terminal(build, environ, path, **env):
    """Its output on a terminal of 100 columns."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(build / "assay", ["assay", "explain", str(path)], {**environ, "TERM": "xterm-256color", **env})
    out = b""
    try:
        while chunk := os.read(fd, 65536):
            out += chunk
    except OSError:
        pass  # the peer has closed
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), out.decode().replace("\r\n", "\n")


# --- the link ---

def test_the_uplink_at_half_is_shown_and_named(explain):
    done = explain(matrix(1, UPLINK), reference=matrix(2))
    assert done.returncode == 1, done.stderr
    assert re.search(r"^PCIe switch 1 uplink: 2\d\.\d of \d\d\.\d GB/s, seen on 28 paths, contradicted by none$", done.stdout, re.M)
    assert "  usual cause: about half: half of its lanes, or one PCIe generation down\n" in done.stdout
    assert f"  link: {UPLINK}\n" in done.stdout and "  against: none\n" in done.stdout
    assert re.search(r" for: 28 cells: mlx5_0:1>gpu:2, .* and 22 more against: none$", " ".join(done.stdout.split()))
    cells = rows_of(done.stdout)
    assert list(cells) == [f"mlx5_{i}:1" for i in range(8)] and {len(row) for row in cells.values()} == {10}
    slow = {(i, j) for i, row in enumerate(cells.values()) for j, cell in enumerate(row) if cell[-1] in "-=#@"}
    over = {(i, j) for i in range(8) for j in range(10) if (i // 2 == 1) != (j in (2, 3))}
    assert slow == over
    assert "loopback.write_bw, GB/s: 28 of 80 cells below 93 %\n" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_clean_matrix_names_nothing(explain):
    done = explain(matrix(3), reference=matrix(4))
    assert done.returncode == 0
    assert "no slow link: 80 cells with a path compared" in done.stdout and "and besides" not in done.stdout
    assert not any(cell[-1] in "-=#@?" for row in rows_of(done.stdout).values() for cell in row)


def test_links_that_cannot_be_told_apart_are_named_together(explain):
    """All traffic between the sockets also crosses another link."""
    def longer(text):
        return text.replace('"numa:0^numa:1"', '"numa:0^numa:1", "numa:1^numa:fabric"')
    done = explain(longer(matrix(1, "numa:0^numa:1")), reference=longer(matrix(2)))
    assert done.returncode == 1
    named = "interconnect of NUMA nodes 0 and 1", "interconnect of NUMA nodes 1 and fabric"
    words = " ".join(done.stdout.split())
    assert any(re.search(rf"{a}: [\d.]+ of [\d.]+ GB/s, [^;]*; {b} would explain it as well", words) and
               f"cannot be distinguished from: {b}" in words for a, b in (named, named[::-1])), words


def host_report(**more):
    host = hosts.Host("gpu-11", faults=[faults.SlowLink(hosts.uplink(1)), *more.pop("faults", [])], **more)
    return host, host.report("full", at=1.8e9)


def topology(**uplink):
    """A topology with the trained speed of the uplink."""
    link = hosts.uplink(1)
    a, b = link.split("^")
    return {"v": 1, "kind": "topology", "digest": "0" * 64,
            "nodes": [{"id": a, "type": "switch", "name": None, "pci": a.partition(":")[2]},
                      {"id": b, "type": "root", "name": None, "pci": b.partition(":")[2]}],
            "links": [{"id": link, "a": a, "b": b, "gts": 32, "width": 16, "max_gts": 32, "max_width": 16, **uplink}]}


def test_a_run_is_explained_with_its_verdict_and_its_topology(explain):
    host, report = host_report(faults=[faults.SlowGpu(3)])
    run = {"v": 1, "kind": "run", "report": report, "topology": topology(width=8)}
    done = explain(json.dumps(run))
    assert done.returncode == 1, done.stderr
    assert re.search(rf"^{NAME}: 2\d\.\d of (49|50)\.\d GB/s, seen on 28 paths, contradicted by none$", done.stdout, re.M)
    assert "  trained at: x8 at 32 GT/s, of x16 at 32 GT/s\n" in done.stdout
    besides = " ".join(done.stdout.partition("\nand besides\n")[2].split())
    assert "gpu 3 runs" in besides and "gemm.rate" in besides
    assert "loopback." not in besides, "cells of the named link are no findings beside it"
    assert "mlx5_0:1 > gpu 2" in done.stdout and "GPU-" not in done.stdout


def test_lines_a_report_and_a_run_say_the_same_of_the_links(explain):
    _, report = host_report()
    as_lines = "".join(json.dumps(s) + "\n" for s in report["samples"])
    said = [json.loads(explain(text, "-o", "json").stdout) for text in
            (as_lines, json.dumps(report), json.dumps({"v": 1, "kind": "run", "report": report}))]
    assert said[0]["links"] == said[1]["links"] == said[2]["links"]
    assert [s["node"] for s in said] == [None, "gpu-11", "gpu-11"]
    assert [link["link"] for link in said[0]["links"]] == [hosts.uplink(1)]
    assert said[0]["links"][0]["name"] == NAME


@pytest.mark.parametrize("link", [hosts.path_to_gpu(5, 5)[0][1], hosts.path_to_gpu(2, 2)[0][0], "numa:0^numa:1"])
def test_another_host_of_the_model_is_a_reference(explain, link):
    """Its GPUs have other UUIDs, so they are compared by slot."""
    sick = hosts.Host("gpu-03", faults=[faults.SlowLink(link)]).report("full")
    value = json.loads(explain(json.dumps(sick), "-o", "json", reference=json.dumps(hosts.Host("gpu-04").report("full"))).stdout)
    assert [found["link"] for found in value["links"]] == [link] and value["without_reference"] == 0


def test_what_it_says_is_documented(explain):
    _, report = host_report()
    value = json.loads(explain(json.dumps({"report": report, "topology": topology(width=8)}), "-o", "json").stdout)
    text = FORMATS.read_text().partition("\n## explain\n")[2].partition("\n## ")[0]
    localise = FORMATS.read_text().partition("\n## localise\n")[2].partition("\n## ")[0]

    def keys(of):
        return set(re.findall(r"`(\w+)(?:\[\])?`", " ".join(line.rpartition(" | ")[0] for line in of.splitlines()
                                                             if line.startswith("| "))))
    assert set(value) <= keys(text) | keys(localise)
    assert set(value["links"][0]) <= keys(text) | keys(localise)
    assert set(value["matrices"][0]) | set(value["matrices"][0]["cells"][0]) <= keys(text)
    assert value["kind"] == "explain" and value["links"][0]["pcie"]["width"] == 8
    cell = next(c for m in value["matrices"] if m["check"] == "loopback.write_bw" for c in m["cells"] if c["subject"].startswith("mlx5_2:1>numa:0"))
    assert cell["state"] == "measured" and cell["ratio"] == pytest.approx(cell["value"] / cell["expected"])


def test_key_and_value(explain):
    done = explain(matrix(1, UPLINK), "-o", "kv")
    assert done.returncode == 1 and f"links.0.link={UPLINK}\n" in done.stdout and "kind=explain\n" in done.stdout


# --- the map ---

def test_what_was_not_measured_has_a_word_of_its_own(explain):
    states = {"busy": "busy", "foreign-traffic": "traff", "set-up": "setup", "timeout": "time", "aborted": "abort"}
    text = changed(matrix(3), **{f"mlx5_0:1>gpu:{i}": (state, None) for i, state in enumerate(states)})
    text = "".join(line + "\n" for line in text.splitlines() if '"mlx5_0:1>gpu:7"' not in line)
    done = explain(text)
    row = rows_of(done.stdout)["mlx5_0:1"]
    assert row[:5] == list(states.values()) and row[7] == "."
    legend = " ".join(done.stdout.split())
    for word in ("busy: in use by others", "traff: others' traffic", "setup: could not be set up", "time: did not end in time",
                 "abort: gave way to a job", ".: not measured"):
        assert word in legend
    assert done.returncode == 0, "what was not measured is not slow"


@pytest.mark.parametrize("value, mark", [(1.0, ""), (0.9, "-"), (0.7, "="), (0.5, "#"), (0.1, "@")])
def test_the_mark_says_how_slow(explain, value, mark):
    good = [dict(s, value=50e9) for s in lines(matrix(3))]
    cells = [dict(s, value=50e9 * value) if s["subject"] == "mlx5_4:1>gpu:4" else s for s in good]
    text, reference = ("".join(json.dumps(s) + "\n" for s in of) for of in (cells, good))
    row = rows_of(explain(text, reference=reference).stdout)["mlx5_4:1"]
    assert row == ["50.0"] * 4 + [f"{50 * value:.1f}{mark}"] + ["50.0"] * 5


def test_a_cell_measured_beside_others_is_not_the_cell(explain):
    """Four RNICs at once share the memory: the map shows the rate of each alone, in any order of samples."""
    alone = matrix(3)
    at_once = [f"mlx5_{i}:1>numa:0" for i in range(4)]
    together = "".join(json.dumps(dict(s, value=28e9, params={"at_once": 4}, **{"with": at_once})) + "\n" for s in lines(alone)
                       if s["subject"] in at_once)
    maps = [rows_of(explain(text).stdout) for text in (alone, alone + together, together + alone)]
    assert maps[0] == maps[1] == maps[2]
    assert rows_of(explain(together).stdout)["mlx5_2:1"] == ["28.0"]


def test_a_group_is_a_column_that_the_legend_explains(explain):
    """With the loopback probe's names."""
    names = [f"mlx5_{i}:1>numa:0*4" for i in range(4)]
    alone = lines(matrix(3))
    group = [dict(s, subject=s["subject"] + "*4", value=28e9, params={"at_once": 4}, **{"with": names}) for s in alone
             if s["subject"] + "*4" in names]
    out = explain("".join(json.dumps(s) + "\n" for s in alone + group)).stdout
    assert rows_of(out)["mlx5_2:1"][9] == "28.0" and "*3: 3 measured at once" in " ".join(out.split())
    assert "at once" not in explain(matrix(3)).stdout


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_a_map_fits_the_terminal(explain, columns):
    done = explain(matrix(1, UPLINK), env={"COLUMNS": str(columns)})
    assert max(len(line.rstrip()) for line in done.stdout.splitlines()) <= columns
    blocks = re.findall(r"^mlx5_3:1 .*", done.stdout, re.M)
    assert (len(blocks) > 1) == (columns < 80)
    assert sum(len(block.split()) - 1 for block in blocks) == 10


def test_a_wide_mesh_goes_on_in_blocks(explain):
    chance = random.Random(1)
    text = "".join(json.dumps({"v": 1, "check": "rnic_pair.write_bw", "subject": f"mlx5_{a}:1>mlx5_{b}:1", "unit": "B/s", "better": "higher",
                               "ok": None, "state": "measured", "value": 48e9 * chance.gauss(1, 0.01), "class": "sys"}) + "\n"
                   for a in range(32) for b in range(32) if a != b)
    done = explain(text)
    rows = re.findall(r"^(mlx5_\d+):1 (.*)", done.stdout, re.M)
    assert len(rows) % 32 == 0 and len(rows) > 32
    assert [name for name, _ in rows[:32]] == [f"mlx5_{i}" for i in range(32)], "counted as people count"
    assert sum(len(cells.split()) for _, cells in rows) == 32 * 32
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert "no cell with a path could be compared" in done.stdout and done.returncode == 0


def test_colours_only_on_a_terminal(build, environ, tmp_path):
    path = tmp_path / "samples"
    path.write_text(matrix(1, UPLINK))
    status, out = on_terminal(build, environ, path)
    assert status == 1
    cells = re.findall(r"\x1b\[38;5;\d+;48;5;(\d+)m *([\d.]+)(.)\x1b\[0m", out)
    assert len(cells) == 80
    paint = {mark: {p for p, _, m in cells if m == mark} for mark in {m for *_, m in cells}}
    assert all(len(paints) == 1 for paints in paint.values()) and len({min(p) for p in paint.values()}) == len(paint) > 1
    status, out = on_terminal(build, environ, path, NO_COLOR="1")
    assert status == 1 and "\x1b" not in out and "mlx5_3:1" in out


def test_names_of_strangers_cannot_drive_the_terminal(explain):
    done = explain(matrix(1, UPLINK).replace("mlx5_3:1>", "mlx\\u001b[2J\\u202e3:1>"))
    assert done.returncode == 1 and "\x1b" not in done.stdout and "\u202e" not in done.stdout


def test_pairs_and_memories_are_maps_too(explain):
    _, report = host_report()
    out = explain(json.dumps(report), env={"COLUMNS": "120"}).stdout
    pairs = rows_of(out, "rnic_pair.connect")
    assert pairs["mlx5_0:1"] == ["."] + ["ok"] * 7
    memory = rows_of(out, "memory.copy_bw")
    assert list(memory) == ["numa:0", "numa:1"] and {len(row) for row in memory.values()} == {2}
    assert out.index("memory.copy_bw") < out.index("loopback.write_bw"), "what is slow stands next to the words"


def test_the_pair_of_a_slow_port_is_marked(explain):
    """Pairs without a path: no link can be named, but map and verdict show them."""
    text = "".join(json.dumps({"v": 1, "check": "rnic_pair.write_bw", "subject": f"mlx5_{a}:1>mlx5_{b}:1", "unit": "B/s",
                               "better": "higher", "ok": None, "state": "measured", "value": 24e9 if a == 3 else 48e9,
                               "class": "sys"}) + "\n" for a in range(8) for b in range(8) if a != b)
    done = explain(text)
    assert done.returncode == 1, "they fail"
    cells = rows_of(done.stdout, "rnic_pair.write_bw")
    assert all((cell[-1] == "#") == (row == "mlx5_3:1") for row, line in cells.items() for cell in line if cell != ".")
    assert "mlx5_3:1>mlx5_0:1 moves 24.0 of 48.0 GB/s" in " ".join(done.stdout.split())


# --- the run, and what is refused ---

def test_without_a_file_it_runs_first(run, says, profiles, tmp_path):
    file = profiles(quick=[{"name": "loopback", "exec": says("loopback", *matrix(1, UPLINK).splitlines())}])
    done = run("assay", "explain", "--profiles", file)
    assert done.returncode == 1, done.stderr
    assert "PCIe switch 1 uplink: " in done.stdout and "28 cells" in done.stdout
    kept = run("assay", "run", "--profiles", file, "-o", "json")
    (tmp_path / "kept").write_text(kept.stdout)
    with open(tmp_path / "kept") as stdin:
        again = run("assay", "explain", "-", "-o", "json", stdin=stdin)
    assert json.loads(again.stdout)["links"][0]["link"] == UPLINK


def test_a_run_names_the_link_in_its_verdict(run, says, profiles):
    file = profiles(quick=[{"name": "loopback", "exec": says("loopback", *matrix(1, UPLINK).splitlines())}])
    done = run("assay", "run", "--profiles", file)
    assert done.returncode == 1
    assert "PCIe switch 1 uplink: " in done.stdout.splitlines()[-1] + done.stdout.splitlines()[-2]
    assert re.search(r"^fail +loopback.link +switch:1\^numa:0", done.stdout, re.M)
    value = json.loads(run("assay", "run", "--profiles", file, "-o", "json").stdout)["verdict"]
    link, *cells = [i for i in value["items"] if i["verdict"] != "pass"]
    assert link["subject"] == UPLINK and {c["link"] for c in cells} == {UPLINK}


def test_nothing_measured_cannot_tell(explain):
    done = explain(sample("gemm.rate", "cpu:0", 1e9, unit="FLOP/s", better="higher"))
    assert done.returncode == 3 and "nothing was measured between two parts" in done.stdout


@pytest.mark.parametrize("text, words", [
    ('{"v":1', "line 1: "),
    ("[[]]\n", "input: [0]: expected an object, not a list"),
    ('{"v": 1, "kind": "run", "report": {"samples": []}, "verdict": {"v": 9}}', "input: verdict.v: "),
    ('{"v": 1, "kind": "run", "report": {"samples": []}, "topology": {"v": 1}}', "input: topology"),
])
def test_bad_input_is_one_line_with_its_place(explain, text, words):
    done = explain(text)
    assert done.returncode == 2 and done.stdout == ""
    assert words in done.stderr and done.stderr.count("\n") == 1


def test_wrong_use_is_one_line(explain, run):
    assert explain(matrix(1), reference="").stderr.endswith("good: no samples to compare with\n")
    done = explain(matrix(1), "--profile", "quick")
    assert done.returncode == 2 and "nothing is run" in done.stderr and done.stderr.count("\n") == 1
    done = run("assay", "explain", "--profile", "nosuch")
    assert done.returncode == 2 and "nosuch" in done.stderr and done.stderr.count("\n") == 1
    done = run("assay", "explain", "/nonexistent/x")
    assert done.returncode == 2 and "/nonexistent/x" in done.stderr
