# SPDX-License-Identifier: Apache-2.0
"""assay localise: the slow link of a matrix, from a file or from standard input."""
import json
import random

import pytest
from conftest import sample

UPLINK = "switch:1^numa:0"
CAPACITY = {f"rnic:mlx5_{i}^switch:{i // 2}": 50e9 for i in range(8)}
CAPACITY |= {f"gpu:{i}^switch:{i // 2}": 53.7e9 for i in range(8)}
CAPACITY |= {f"switch:{i}^numa:{i // 2}": 53.7e9 for i in range(4)}
CAPACITY |= {"numa:0^numa:1": 37.5e9, "numa:0^numa:0": 112e9, "numa:1^numa:1": 112e9}


def path_of(rnic, end):
    """`end`: GPU 0 to 7, then the memories of both sockets."""
    is_gpu, socket = end < 8, end // 4 if end < 8 else end - 8
    path = [f"rnic:mlx5_{rnic}^switch:{rnic // 2}"]
    if not is_gpu or end // 2 != rnic // 2:
        path.append(f"switch:{rnic // 2}^numa:{rnic // 4}")
        path += ["numa:0^numa:1"] if rnic // 4 != socket else []
        path += [f"switch:{end // 2}^numa:{socket}"] if is_gpu else []
    return path + [f"gpu:{end}^switch:{end // 2}" if is_gpu else f"numa:{socket}^numa:{socket}"]


def matrix(seed, *slow, check="loopback.write_bw"):
    """The lines of a host whose links in `slow` run at half rate."""
    chance = random.Random(seed)
    capacity = {link: c * (0.5 if link in slow else 1) for link, c in CAPACITY.items()}
    lines = []
    for rnic in range(8):
        for end in range(10):
            path = path_of(rnic, end)
            name = f"gpu:{end}" if end < 8 else f"numa:{end - 8}"
            socket = end // 4 if end < 8 else end - 8
            kind = "pix" if len(path) == 2 else "node" if socket == rnic // 4 else "sys"
            lines.append(sample(check, f"mlx5_{rnic}:1>{name}",
                                min(capacity[link] for link in path) * chance.gauss(1, 0.02), unit="B/s",
                                better="higher", path=path, to=name, **{"from": f"rnic:mlx5_{rnic}", "class": kind}))
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


@pytest.fixture
def localise(run, tmp_path):
    def call(text, *words, reference=None):
        path = tmp_path / "samples.jsonl"
        path.write_text(text)
        if reference is not None:
            (tmp_path / "good.jsonl").write_text(reference)
            words = (*words, "--reference", str(tmp_path / "good.jsonl"))
        return run("assay", "localise", str(path), *words)

    return call


@pytest.mark.parametrize("with_reference", [False, True])
def test_the_uplink_at_half_is_named(localise, with_reference):
    done = localise(matrix(1, UPLINK), "-o", "json", reference=matrix(2) if with_reference else None)
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    assert (value["v"], value["kind"], value["cells"]) == (1, "localise", 80)
    (link,) = value["links"]
    assert link["link"] == UPLINK and link["ratio"] == pytest.approx(0.53, abs=0.03) and link["confidence"] > 0.99
    assert link["against"] == [] and link["ambiguous_with"] == []
    through = {f"mlx5_{r}:1>{'gpu' if e < 8 else 'numa'}:{e if e < 8 else e - 8}"
               for r in range(8) for e in range(10) if UPLINK in path_of(r, e)}
    assert set(link["for"]) == through
    assert "seen on 28 paths, contradicted by none" in link["sentence"]


def test_a_table_names_the_link_in_a_sentence(localise):
    done = localise(matrix(1, UPLINK))
    assert done.returncode == 0 and UPLINK in done.stdout
    assert "SLOW LINK" in done.stdout and "contradicted by none" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_clean_matrix_names_nothing(localise):
    done = localise(matrix(3), reference=matrix(4))
    assert done.returncode == 0 and done.stdout == "No slow link: 80 cells with a path were compared.\n"


def test_a_report_and_a_run_are_read_as_lines_are(localise):
    samples = [json.loads(line) for line in matrix(1, UPLINK).splitlines()]
    report = {"v": 1, "kind": "report", "samples": samples}
    want = json.loads(localise(matrix(1, UPLINK), "-o", "json").stdout)
    assert json.loads(localise(json.dumps(report), "-o", "json").stdout) == want
    assert json.loads(localise(json.dumps({"kind": "run", "report": report}, indent=1), "-o", "json").stdout) == want


def test_a_list_and_a_byte_order_mark_are_read_too(localise):
    """A list as from `jq -s`, and a byte order mark as some editors write."""
    lines = matrix(1, UPLINK)
    want = json.loads(localise(lines, "-o", "json").stdout)
    samples = [json.loads(line) for line in lines.splitlines()]
    for text in (json.dumps(samples), json.dumps(samples, indent=2), "\ufeff" + lines, "\ufeff" + json.dumps(samples)):
        assert json.loads(localise(text, "-o", "json").stdout) == want
    runs = [{"kind": "run", "report": {"v": 1, "kind": "report", "samples": samples[i::2]}} for i in range(2)]
    assert json.loads(localise(json.dumps(runs), "-o", "json").stdout)["links"][0]["link"] == UPLINK
    assert localise("[]\n").returncode == 3


def test_utf_16_is_told_as_such(run, tmp_path):
    (tmp_path / "wide.jsonl").write_bytes(matrix(1, UPLINK).encode("utf-16"))
    done = run("assay", "localise", str(tmp_path / "wide.jsonl"))
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "wide.jsonl: line 1: this is UTF-16: save it as UTF-8" in done.stderr


def test_standard_input_is_read(run, tmp_path):
    (tmp_path / "samples").write_text(matrix(1, UPLINK))
    with open(tmp_path / "samples") as stdin:
        done = run("assay", "localise", "-", "-o", "kv", stdin=stdin)
    assert done.returncode == 0 and f"links.0.link={UPLINK}\n" in done.stdout


def test_samples_without_a_path_cannot_tell(localise):
    done = localise(sample("gemm.rate", "cpu:0", 1e9, unit="FLOP/s", better="higher"))
    assert done.returncode == 3 and done.stdout == "Nothing to compare: no sample was measured along a known path.\n"


@pytest.mark.parametrize("text, words", [
    ('{"v":1', "line 1: "),
    (matrix(1).replace('"loopback.write_bw"', "7", 1), "samples.jsonl: line 1"),
    ("[[]]\n", "samples.jsonl: [0]: expected an object, not a list"),
    ("[\n" + matrix(1).replace("}\n", "},\n") + "{}", "samples.jsonl: line 82: "),
    ("\ufeff" + matrix(1) + "{}\n", "samples.jsonl: line 81: check: "),
    (matrix(1).replace("\n", "\n\0\n", 1), "samples.jsonl: line 2: a NUL byte"),
    (matrix(1) + "\0\0", "samples.jsonl: line 81: a NUL byte"),
], ids=["cut short", "number for a check", "list of lists", "list cut short", "after a mark", "zero byte between", "zero bytes after"])
def test_what_is_no_sample_is_refused_with_its_place(localise, text, words):
    done = localise(text)
    assert done.returncode == 2 and done.stdout == ""
    assert words in done.stderr and done.stderr.count("\n") == 1


def test_a_reference_of_other_cells_cannot_tell(localise):
    done = localise(matrix(1, UPLINK), reference=matrix(2).replace("mlx5_", "bnxt_re"))
    assert done.returncode == 3 and done.stdout.splitlines()[0] == "Nothing to compare: the reference has no sample like these."


def test_an_empty_reference_and_a_missing_file_are_refused(localise, run):
    done = localise(matrix(1), reference="")
    assert done.returncode == 2 and "good.jsonl: no samples to compare with" in done.stderr
    done = run("assay", "localise", "/nonexistent/x")
    assert done.returncode == 2 and "/nonexistent/x" in done.stderr
