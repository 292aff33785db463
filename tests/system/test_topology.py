# SPDX-License-Identifier: Apache-2.0
"""assay topology: a host of 8 GPUs and 8 RNICs from XML, its faults, this host, and bad files."""
import json
import subprocess
import sys

import pytest


@pytest.fixture
def fixtures(top):
    return top / "tests" / "fixtures"


@pytest.fixture
def host(fixtures, tmp_path):
    """host("--missing-gpu", "3") is the XML file written by the generator."""

    def make(*options):
        path = tmp_path / "host.xml"
        done = subprocess.run([sys.executable, fixtures / "make_topology.py", *options], check=True,
                              capture_output=True, text=True)
        path.write_text(done.stdout)
        return path

    return make


@pytest.fixture
def topology(run):
    """topology(path) is the topology/1 JSON of the file; without a path, of this host."""

    def load(path=None, **kwargs):
        done = run("assay", "topology", "-o", "json", *(["--from", path] if path else []), **kwargs)
        if done.returncode == 3 and "no hwloc" in done.stderr:
            pytest.skip("built without hwloc")
        assert (done.returncode, done.stderr) == (0, "")
        value = json.loads(done.stdout)
        assert (value["v"], value["kind"]) == (1, "topology")
        return value

    return load


def of_type(value, kind):
    return [n["id"] for n in value["nodes"] if n["type"] == kind]


def slow(value):
    return [link["id"] for link in value["links"] if link["width"] < link["max_width"] or link["gts"] < link["max_gts"]]


@pytest.mark.parametrize("name,options", [("hgx-8gpu-8nic.xml", []), ("vm.xml", ["--hidden"])])
def test_the_fixtures_are_what_the_generator_writes(fixtures, host, name, options):
    assert host(*options).read_text() == (fixtures / name).read_text()


def test_the_eight_gpu_host(topology, host):
    value = topology(host())
    counts = {kind: len(of_type(value, kind)) for kind in ("numa", "gpu", "rnic", "switch", "root")}
    assert counts == {"numa": 2, "gpu": 8, "rnic": 8, "switch": 4, "root": 4}
    assert slow(value) == []
    ids = {n["id"] for n in value["nodes"]}
    assert all({link["a"], link["b"]} <= ids for link in value["links"])


def test_a_missing_gpu_changes_the_digest(topology, host):
    whole, short = topology(host()), topology(host("--missing-gpu", "3"))
    assert set(of_type(whole, "gpu")) - set(of_type(short, "gpu")) == {"gpu:0000:4b:00.0"}
    assert whole["digest"] != short["digest"]


@pytest.mark.parametrize("switch", range(4))
def test_a_narrow_uplink_is_named(topology, host, run, switch):
    path = host("--x8-uplink", str(switch))
    (link,) = slow(topology(path))
    done = run("assay", "topology", "--from", path)
    assert done.returncode == 0
    assert done.stdout.count("SLOW") == 1
    last = done.stdout.splitlines()[-1]
    assert f"{link.split('^')[0]} at Gen5 x8, 31.5 GB/s instead of Gen5 x16, 63.0 GB/s" in last


def matrix_of(run, path):
    done = run("assay", "topology", "--matrix", "--from", path)
    assert (done.returncode, done.stderr) == (0, "")
    head, *lines = done.stdout.splitlines()
    columns, words = head.split(), [line.split() for line in lines[:lines.index("")]]
    return {(row[0], column): word for row in words for column, word in zip(columns, row[1:])}, lines[-1]


def test_the_matrix_has_the_words_of_nvidia_smi(topology, host, run):
    topology()  # skips without hwloc
    matrix, sentence = matrix_of(run, host())
    assert [matrix["GPU0", other] for other in ("GPU0", "GPU1", "GPU2", "GPU4", "mlx5_0", "mlx5_2", "mlx5_7", "NUMA", "PCI")] == [
        "X", "PIX", "NODE", "SYS", "PIX", "NODE", "SYS", "0", "0000:1a:00.0"]
    assert all(matrix[a, b] == matrix[b, a] for a, b in matrix if b not in ("NUMA", "PCI"))
    assert sentence == "Each GPU has an RNIC below the same PCIe root port."


def test_a_gpu_whose_socket_has_no_rnic_is_named(topology, host, run, tmp_path):
    value = topology(host())
    gone = {f"rnic:mlx5_{i}" for i in range(4, 8)}
    path = tmp_path / "far.json"
    path.write_text(json.dumps({**value, "nodes": [n for n in value["nodes"] if n["id"] not in gone],
                                "links": [link for link in value["links"] if link["a"] not in gone]}))
    assert matrix_of(run, path)[1] == "GPU4, GPU5, GPU6, GPU7 have no RNIC on the same socket: GPUDirect traffic crosses sockets."


def test_rnics_that_no_link_joins_to_a_gpu_are_far_and_hide_nothing(topology, host, run, tmp_path):
    value = topology(host())
    path = tmp_path / "apart.json"
    path.write_text(json.dumps({**value, "links": [link for link in value["links"] if not link["a"].startswith("rnic:")]}))
    matrix, sentence = matrix_of(run, path)
    assert matrix["GPU0", "mlx5_0"] == "-" and sentence.startswith("GPU0, GPU1, GPU2, GPU3 and 4 more have no RNIC on the same socket"), sentence


def test_the_matrix_of_a_guest_and_of_this_host_says_what_is_unknown(topology, host, run):
    topology()
    matrix, sentence = matrix_of(run, host("--hidden"))
    assert {word for (a, b), word in matrix.items() if a != b and b not in ("NUMA", "PCI")} == {"-"} and "hides its PCIe bridges" in sentence
    assert run("assay", "topology", "--matrix").returncode == 0


def test_json_of_a_host_is_read_again(topology, host, tmp_path):
    value = topology(host())
    path = tmp_path / "host.json"
    path.write_text(json.dumps(value))
    assert topology(path) == value
    assert topology(env={"ASSAY_TOPOLOGY": str(path)}) == value


def test_a_guest_says_that_it_hides_bridges(topology, host, run):
    path = host("--hidden")
    assert topology(path)["virtual"] is True
    assert "hides its PCIe bridges" in run("assay", "topology", "--from", path).stdout.splitlines()[-1]


def test_this_host(topology, run):
    value = topology()
    assert len(of_type(value, "numa")) >= 1
    done = run("assay", "topology")
    assert (done.returncode, done.stderr) == (0, "")
    assert "NUMA node" in done.stdout
    assert "\033" not in done.stdout
    kv = run("assay", "topology", "-o", "kv").stdout.splitlines()
    assert f"digest={value['digest']}" in kv


@pytest.mark.parametrize("name,text,what", [
    ("bad.json", "{", "line 1"),
    ("bad.json", "{}", "v: expected 1"),
    ("bad.json", '{"v":1,"kind":"topology","nodes":[{"id":"a","type":"b"}],"links":[]}', "nodes[0].type: 'b' is not one of"),
    ("bad.xml", "", "not the XML of an hwloc topology"),
    ("bad.xml", '<topology version="2.0"><object type="Machine"/></topology>', "not the XML of an hwloc topology"),
    ("absent.xml", None, "No such file"),
])
def test_bad_files_are_one_line_and_exit_2(topology, run, tmp_path, name, text, what):
    topology()  # skips without hwloc
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    done = run("assay", "topology", "--from", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{path}: ") and what in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("args", [["--from"], ["-o", "xml"], ["more"], ["--nonsense"]])
def test_bad_usage_is_exit_2(run, args):
    done = run("assay", "topology", *args)
    assert (done.returncode, done.stdout) == (2, "")
