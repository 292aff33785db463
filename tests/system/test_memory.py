# SPDX-License-Identifier: Apache-2.0
"""assay-probe-memory on this host: its output, and that it stays within its limits."""
import json
import os
import re
import resource
import subprocess
import sys
import xml.etree.ElementTree

import pytest

pytestmark = pytest.mark.alone  # other users of the cores make its samples busy, and it runs out of time

PROBE = "assay-probe-memory"
RATES = {"memory.read_bw", "memory.write_bw", "memory.copy_bw", "memory.triad_bw"}
CHECKS = RATES | {"memory.pattern"}
MIB = 1 << 20


def samples_of(out):
    assert out.returncode == 0, out.stderr
    return [json.loads(line) for line in out.stdout.splitlines()]


def check_measured(s):
    """Checks a measured sample of the probe, on any machine."""
    params = s["params"]
    assert params["size"] >= 4 * MIB and params["size"] <= 1024 * MIB
    assert params["size"] & (params["size"] - 1) == 0
    assert params["threads"] >= 1
    assert params["pages"] in ("4k", "2M", "1G")
    assert s["seconds"] > 0 and s["start"] > 0 and s["n"] > 0
    if s["check"] == "memory.pattern":
        assert (s["value"], s["ok"], s["unit"]) == (0, True, "1")
        return
    assert params["stores"] in ("temporal", "nontemporal") and params["kernel"]
    assert s["unit"] == "B/s" and s["better"] == "higher" and s["ok"] is None
    assert 8 <= len(s["w"]) <= 32
    assert 0 <= s["min"] <= s["value"] <= s["max"] and s["max"] > 0


@pytest.fixture
def tree(tmp_path):
    """tree({node: cpulist}, free_mib=...) is a sysroot with these NUMA nodes."""

    def write(nodes, free_mib=256):
        system = tmp_path / "root" / "sys" / "devices" / "system" / "node"
        for node, cpus in nodes.items():
            where = system / f"node{node}"
            where.mkdir(parents=True)
            (where / "cpulist").write_text(cpus + "\n")
            (where / "meminfo").write_text(f"Node {node} MemTotal: {2 * free_mib * 1024} kB\n"
                                           f"Node {node} MemFree: {free_mib * 1024} kB\n")
        (system / "online").write_text(",".join(map(str, nodes)) + "\n")
        return {"ASSAY_SYSROOT": str(tmp_path / "root")}

    return write


@pytest.fixture
def sanitized(build):
    return b"__asan_init" in (build / PROBE).read_bytes()


def test_it_says_what_it_can_check(run):
    value = json.loads(run(PROBE, "--describe").stdout)
    assert value["probe"] == "memory" and value["active"] is True and value["budget"] == "5s"
    gpus = {f"memory.{name}_bw" for name in ("h2d", "d2h", "bidir", "device", "p2p")}
    assert {c["check"] for c in value["checks"]} == CHECKS | gpus | {"memory.pcie_link", "memory.h2d_lat", "memory.d2h_lat"}
    assert all(c["finds"] for c in value["checks"])


@pytest.mark.parametrize("args, says", [
    (["--engine", "gpu"], "--engine: 'gpu' is not one of auto, cpu, cuda"),
    (["--budget", "0"], "--budget"),
    (["--budget", "soon"], "--budget"),
    (["--busy", "maybe"], "--busy"),
    (["--seed", "-1"], "--seed"),
    (["--shape", "1,2,3"], "--shape"),
    (["more"], "takes no arguments"),
])
def test_wrong_usage_is_refused(run, args, says):
    out = run(PROBE, *args)
    assert out.returncode == 2 and says in out.stderr and out.stdout == ""


def test_a_gpu_that_is_not_there_is_not_applicable(run, tmp_path):
    device = tmp_path / "root/sys/bus/pci/devices/0000:17:00.0"
    device.mkdir(parents=True)
    (device / "vendor").write_text("0x8086\n")
    (device / "class").write_text("0x030200\n")
    out = run(PROBE, "--engine", "cuda", env={"ASSAY_SYSROOT": str(tmp_path / "root")})
    assert out.returncode == 77 and "no NVIDIA GPU" in out.stderr and out.stderr.count("\n") == 1 and out.stdout == ""


@pytest.mark.parametrize("engine", ["auto", "cpu"])
def test_every_pair_of_this_host_gets_every_check(run, engine):
    samples = samples_of(run(PROBE, "--engine", engine, "--budget", "2s", "--busy", "run"))
    subjects = {s["subject"] for s in samples}
    assert subjects and len(samples) == len(subjects) * len(CHECKS)
    for subject in subjects:
        assert {s["check"] for s in samples if s["subject"] == subject} == CHECKS
    for s in samples:
        assert s["subject"] == f"{s['from']}>{s['to']}"
        assert s["class"] == ("node" if s["from"] == s["to"] else "sys")
        if s["state"] == "measured":
            check_measured(s)
        else:
            assert s["value"] is None and s["ok"] is None and s["note"]
    assert any(s["state"] == "measured" for s in samples)


@pytest.mark.parametrize("budget", ["1ms", "50ms", "300ms", "1s"])
def test_a_budget_of_any_length_is_kept(run, budget):
    """A probe that exceeds it by a second exits with status 1."""
    samples = samples_of(run(PROBE, "--budget", budget, "--busy", "run"))
    assert {s["check"] for s in samples} == CHECKS
    assert {s["state"] for s in samples} <= {"measured", "timeout", "set-up"}


def test_the_seed_changes_nothing_that_is_right(run):
    samples = samples_of(run(PROBE, "--budget", "1s", "--busy", "run", "--seed", str(2**64 - 1)))
    assert all(s["ok"] is True for s in samples if s["check"] == "memory.pattern" and s["state"] == "measured")


def test_nodes_of_another_tree_are_planned_and_what_is_not_here_is_set_up(run, tree):
    if os.path.exists("/sys/devices/system/node/node1"):
        pytest.skip("this host has a second NUMA node: binding to it does not fail")
    cpus = sorted(os.sched_getaffinity(0))
    env = tree({0: str(cpus[0]), 1: str(cpus[-1]) if len(cpus) > 1 else "8000"})
    samples = samples_of(run(PROBE, "--budget", "2s", "--busy", "run", env=env))
    assert [s["subject"] for s in samples if s["check"] == "memory.triad_bw"] == [
        "numa:0>numa:0", "numa:1>numa:0", "numa:1>numa:1", "numa:0>numa:1"] or len(cpus) == 1
    for s in samples:
        if s["to"] == "numa:1":
            assert s["state"] == "set-up" and s["value"] is None
            assert "memory of numa:1 cannot be bound" in s["note"] or "not use any CPU" in s["note"]
        elif s["state"] == "measured":
            check_measured(s)
            assert s["params"]["size"] <= 32 * MIB  # an eighth of the free memory there


def nodes_of_xml(path):
    """{node: cpulist} of the NUMA nodes of an hwloc XML topology."""
    nodes = {}
    for found in xml.etree.ElementTree.parse(path).iter("object"):
        if found.get("type") == "NUMANode":
            mask = int(found.get("cpuset").replace(",", "").replace("0x", ""), 16)
            nodes[int(found.get("os_index"))] = ",".join(str(cpu) for cpu in range(mask.bit_length()) if mask >> cpu & 1)
    return nodes


@pytest.mark.parametrize("name", ["hgx-8gpu-8nic.xml", "vm.xml"])
def test_the_nodes_of_a_topology_file_meet_across_sockets(run, tree, top, name):
    """Every pair of the file's NUMA nodes is planned; those impossible on this host are setup errors, never slow."""
    nodes = nodes_of_xml(top / "tests" / "fixtures" / name)
    assert len(nodes) == 2
    samples = samples_of(run(PROBE, "--budget", "12s", "--busy", "run", env=tree(nodes)))
    assert {s["subject"] for s in samples} == {f"numa:{a}>numa:{b}" for a in nodes for b in nodes}
    assert len(samples) == len(CHECKS) * len(nodes) ** 2
    mine = os.sched_getaffinity(0)
    for s in samples:
        assert s["class"] == ("node" if s["from"] == s["to"] else "sys")
        cpus = {int(cpu) for cpu in nodes[int(s["from"].split(":")[1])].split(",")}
        here = bool(cpus & mine) and os.path.exists("/sys/devices/system/node/node" + s["to"].split(":")[1])
        assert s["state"] == ("measured" if here else "set-up"), s
        if here:
            check_measured(s)


def test_cores_that_are_not_ours_are_set_up(run, tree):
    env = tree({0: ",".join(map(str, sorted(os.sched_getaffinity(0)))), 3: "8100-8103"})
    samples = samples_of(run(PROBE, "--budget", "1s", "--busy", "run", env=env))
    ours = [s for s in samples if s["from"] == "numa:3"]
    assert len(ours) == 2 * len(CHECKS)
    for s in ours:
        assert s["state"] == "set-up" and s["note"] == "this process may not use any CPU of numa:3"


def test_a_node_with_little_memory_is_set_up(run, tree):
    env = tree({0: ",".join(map(str, sorted(os.sched_getaffinity(0))))}, free_mib=31)
    samples = samples_of(run(PROBE, "--budget", "1s", "--busy", "run", env=env))
    assert {s["state"] for s in samples} == {"set-up"}
    assert {s["note"] for s in samples} == {"numa:0 has only 31 MiB of memory to spare"}


@pytest.mark.parametrize("text, status, says", [
    ("zero\n", 2, "node/online: not a list of numbers"),
    ("7\n", 1, "node/node7/cpulist: No such file"),
])
def test_a_tree_that_is_wrong_is_said(run, tree, tmp_path, text, status, says):
    env = tree({0: "0"})
    (tmp_path / "root" / "sys" / "devices" / "system" / "node" / "online").write_text(text)
    out = run(PROBE, env=env)
    assert out.returncode == status and says in out.stderr and out.stdout == ""


@pytest.mark.parametrize("limit_mib", [16, 24, 32, 48, 64, 96, 256])
def test_little_address_space_ends_in_a_sentence_and_not_in_a_crash(run, sanitized, limit_mib):
    if sanitized:
        pytest.skip("the sanitizers themselves need terabytes of address space")
    limit = limit_mib * MIB
    out = run(PROBE, "--budget", "1s", "--busy", "run",
              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    assert out.returncode in (0, 1), (out.returncode, out.stderr)
    if out.returncode == 1:
        assert out.stderr.strip()
        return
    for s in samples_of(out):
        assert s["state"] in ("measured", "set-up", "timeout")
        assert s["state"] == "measured" or s["note"]
        assert s["state"] != "measured" or 3 * s["params"]["size"] < limit


@pytest.fixture
def spinners(wait_until):
    """A process for each core we may use, all running when the test begins."""
    text = "import os\nos.sched_setaffinity(0, {%d})\nwhile True: pass"
    children = [subprocess.Popen([sys.executable, "-c", text % cpu]) for cpu in sorted(os.sched_getaffinity(0))]

    def at_work():
        for child in children:
            with open(f"/proc/{child.pid}/stat") as f:
                fields = f.read().rsplit(")", 1)[1].split()
            if int(fields[11]) < 10:
                return False
        return True

    wait_until(at_work, seconds=60, what="processes to use every core")
    yield children
    for child in children:
        child.kill()
        child.wait()


def test_cores_that_others_use_are_busy_and_not_slow(run, spinners):
    samples = samples_of(run(PROBE, "--budget", "2s"))
    assert {s["check"] for s in samples} == CHECKS
    for s in samples:
        assert s["state"] == "busy" and s["value"] is None and s["ok"] is None
        assert re.search(r"CPU \d+ of numa:\d+ is \d+ % busy with other work: process \d+ \(.+\)", s["note"])


def test_asked_to_run_all_the_same_it_says_who_was_there(run, spinners):
    samples = samples_of(run(PROBE, "--budget", "2s", "--busy", "run"))
    rates = [s for s in samples if s["check"] in RATES and s["state"] == "measured"]
    assert rates
    for s in rates:
        check_measured(s)
        assert re.search(r"other work took \d+ % of the time .*: process \d+ \(.+\)", s["note"])
