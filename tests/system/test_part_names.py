# SPDX-License-Identifier: Apache-2.0
"""Human-readable names of GPUs and RDMA ports: from the driver and the board to the report, the verdict, the controller and assayctl."""
import json
import re
import sqlite3

import pytest

from fixtures_controller import controller, report, sample  # noqa: F401
from gpu_fixtures import gpu, gpu_host, gpu_libraries, gpus  # noqa: F401
from test_localise import matrix


def uuid(i):
    return gpu(i).removeprefix("gpu:")


def part(board, index):
    """The part of a GPU with the serial number of `board` at `index`, in the probe's format."""
    return {"id": gpu(board), "kind": "gpu", "name": f"gpu {index}", "index": index, "pci": f"0000:{0x17 + index:02x}:00.0",
            "slot": str(10 + index), "serial": f"165{board:010}"}


PORT = {"id": "mlx5_3:1", "kind": "rnic", "name": "mlx5_3 port 1", "pci": "0000:5e:00.0", "slot": "PCIe Slot 7", "rail": 3}


def passive(boards, bad=None, seq=1, **more):
    """A passive report: board boards[i] is GPU i, `bad` has a row remapping failure; mlx5_3 is down."""
    samples = [sample("gpu.nvml", gpu(b), 1, "1", better="none", ok=True, parts=[part(b, i)]) for i, b in enumerate(boards)]
    samples += [sample("gpu.remapped_rows", gpu(b), int(b == bad), "1", better="none", ok=b != bad,
                       **({"severity": "fatal", "note": "a memory row could not be replaced"} if b == bad else {})) for b in boards]
    samples.append(sample("rnic.port", PORT["id"], 0, "1", better="none", ok=False, severity="warn", note="the link is down", parts=[PORT]))
    return report("gpu-17", seq=seq, profile="passive", samples=samples, **more)


@pytest.fixture
def fleet(controller, run):  # noqa: F811
    def start(*args, **more):
        c = controller(*args, **more)
        c.ctl = lambda *words: run("assayctl", *words, "--controller", f"http://127.0.0.1:{c.port}")
        return c

    return start


def told(c, *words):
    done = c.ctl(*words)
    assert (done.returncode, done.stderr) == (0, ""), (words, done)
    return done.stdout


def lines_of(text, label):
    return [line.split(maxsplit=1)[1] for line in text.splitlines() if line.split()[:1] == [label]]


LINE = "gpu 2, PCI 0000:19:00.0, slot 12, serial 1650000000002, UUID " + uuid(2)


def test_a_gpu_has_its_short_name_first_and_its_long_one_for_the_vendor(fleet):
    c = fleet()
    assert c.post(passive([0, 1, 2, 3], bad=2)).status == 202
    row = told(c, "nodes").splitlines()[1]
    assert "gpu 2: a memory row could not be replaced" in row and "GPU-" not in row
    assert row.index("gpu 2: a memory row") < 80, "a cut at 80 columns keeps the fact"
    assert LINE not in told(c, "nodes") and LINE in told(c, "nodes", "-o", "wide")
    assert [p["id"] for p in json.loads(told(c, "nodes", "-o", "json"))["items"][0]["parts"]] == [gpu(2)]
    why = told(c, "why", "gpu-17")
    assert "fail  gpu.remapped_rows of gpu 2\n" in why and lines_of(why, "part") == [
        LINE, "mlx5_3 port 1, PCI 0000:5e:00.0, PCIe Slot 7, rail 3"]
    item = c.get("/v1/nodes/gpu-17/why").json["items"][0]
    assert (item["subject"], item["name"]) == (gpu(2), "gpu 2"), "the UUID stays the identity"
    evidence = json.loads(told(c, "evidence", "gpu-17", "-o", "json"))
    assert {"part": "gpu", "id": "gpu 2", "what": LINE} in evidence["parts"]
    assert LINE in told(c, "evidence", "gpu-17") and LINE in told(c, "node", "gpu-17")
    incident = next(i for i in json.loads(told(c, "incidents", "-o", "json"))["items"] if i["check"] == "gpu.remapped_rows")
    assert incident["sentence"].startswith("gpu-17: gpu 2: a memory row") and incident["name"] == "gpu 2"
    assert incident["parts"] == [part(2, 2)] and LINE in told(c, "incidents", "-o", "wide")


def test_one_part_of_a_host_is_asked_for_as_people_say_it(fleet):
    c = fleet()
    c.post(passive([0, 1, 2, 3], bad=2))
    for words in ("gpu 2", uuid(2), "19:00.0", "1650000000002", "slot 12"):
        why = told(c, "why", "gpu-17", "--subject", words)
        assert "gpu.remapped_rows of gpu 2" in why and "rnic.port" not in why and why.endswith("\n1 finding about it.\n"), words
    assert LINE in told(c, "why", "gpu-17", "--subject", "gpu 2")
    assert "0 findings about it" in told(c, "why", "gpu-17", "--subject", "gpu 1")
    assert "rnic.port" in told(c, "why", "gpu-17", "--subject", "mlx5_3")
    for words, status, message in (("gpu 7", 1, "gpu-17: this host has no 'gpu 7'; it has gpu 0, gpu 1, gpu 2, gpu 3, mlx5_3 port 1"),
                                   ("GPU-face", 2, "gpu-17: 'GPU-face' may be gpu 0, gpu 1, gpu 2, gpu 3: say which")):
        done = c.ctl("why", "gpu-17", "--subject", words)
        assert (done.returncode, done.stdout) == (status, "") and message in done.stderr and done.stderr.count("\n") == 1, done


def test_a_report_that_does_not_ask_the_driver_uses_the_names_of_the_one_that_did(fleet):
    c = fleet()
    c.post(passive([0, 1, 2, 3]))
    c.post(report("gpu-17", seq=2, samples=[sample("gemm.rate", gpu(i), 9e11 if i == 1 else 1e12 + i * 1e9) for i in range(4)] + [
        sample("loopback.verify", f"mlx5_0:1>{gpu(3)}", 0, "1", better="none", ok=False)]))
    sentences = [i["sentence"] for i in c.get("/v1/nodes/gpu-17/why").json["items"]]
    assert any(s.startswith("mlx5_0:1 > gpu 3 has a problem in loopback.verify") for s in sentences), sentences
    assert not any("GPU-" in s for s in sentences), sentences


def test_an_incident_remembers_what_a_gpu_was_called_before_it_was_swapped(fleet, tmp_path):
    c = fleet()
    c.post(passive([0, 1, 2, 3], bad=2))
    c.post(passive([0, 3, 2, 1], bad=2, seq=1, boot_id="b1"))  # others were swapped: its name is unchanged
    assert lines_of(told(c, "why", "gpu-17"), "moved") == []
    c.post(passive([2, 3, 0, 1], bad=2, seq=1, boot_id="b2"))
    for again in range(2):
        incident = next(i for i in c.get("/v1/incidents").json["items"] if i["check"] == "gpu.remapped_rows")
        assert (incident["subject"], incident["name"], incident["parts"]) == (gpu(2), "gpu 2", [part(2, 2)])
        assert incident["sentence"].startswith("gpu-17: gpu 0: "), "where it is now"
        now = f"gpu 0, PCI 0000:17:00.0, slot 10, serial 1650000000002, UUID {uuid(2)}"
        why = told(c, "why", "gpu-17")
        assert lines_of(why, "part")[0] == now and lines_of(why, "moved") == [f"{LINE} when it was opened; now {now}"]
        if again == 0:  # and so does the store
            c.kill()
            c = fleet()
    # A report of an earlier boot changes no name, and another bad GPU is a separate record.
    c.post(passive([0, 1, 2, 3], bad=2, seq=2))
    assert c.get("/v1/nodes/gpu-17").json["parts"][0]["id"] == gpu(2)
    c.post(passive([2, 3, 0, 1], bad=3, seq=2, boot_id="b2"))
    incident = next(i for i in c.get("/v1/incidents").json["items"] if i["check"] == "gpu.remapped_rows")
    assert incident["parts"] == [part(2, 2)] if incident["subject"] == gpu(2) else [part(3, 1)]


def test_names_of_strangers_are_bounded_and_cannot_drive_a_terminal(fleet):
    c = fleet()
    wild = [{"id": gpu(i), "index": 10 ** 9, "slot": "\x1b[2J" + "x" * 500, "pci": ["x"], "serial": 7} for i in range(2000)]
    assert c.post(report("gpu-17", profile="passive", samples=[
        sample("gpu.nvml", gpu(0), 1, "1", better="none", ok=False, parts=wild), sample("x.y", "z", 1, "1", parts={"id": 3})])).status == 202
    parts = c.get("/v1/nodes/gpu-17").json["parts"]
    assert len(parts) == 128 and all(len(json.dumps(p)) < 400 for p in parts)
    assert "\x1b" not in told(c, "node", "gpu-17") + told(c, "why", "gpu-17")


def test_a_store_of_before_opens_and_learns_the_names(fleet, tmp_path):
    c = fleet()
    c.post(passive([0, 1, 2, 3], bad=2))
    assert c.stop()[0] == 0
    with sqlite3.connect(tmp_path / "assay.db") as db:  # as version 18 left it
        db.executescript("ALTER TABLE joined DROP COLUMN verified_us; DROP TABLE alerts; DROP TABLE part_names; DROP TABLE sessions; DROP INDEX actions_of_key; ALTER TABLE actions DROP COLUMN request_key; ALTER TABLE incidents DROP COLUMN parts; PRAGMA user_version = 18")
    db.close()
    for file in tmp_path.glob("assay.db-sums*"):
        file.unlink()
    c = fleet()
    assert c.get("/v1/nodes/gpu-17").json["parts"] == []
    incident = next(i for i in c.get("/v1/incidents").json["items"] if i["check"] == "gpu.remapped_rows")
    assert "parts" not in incident and "name" not in incident
    c.post(passive([0, 1, 2, 3], bad=2, seq=2))
    incident = next(i for i in c.get("/v1/incidents").json["items"] if i["check"] == "gpu.remapped_rows")
    assert incident["name"] == "gpu 2", "one that never knew learns it late"


# --- on the host


@pytest.fixture
def host(gpus, gpu_host, run, tmp_path):  # noqa: F811
    """host("count=4 remapfailed=1", "run", ...): assay on a host with such GPUs; the kernel knows the slot of the second."""
    state = tmp_path / "parts-state"

    def start(settings, *words):
        root = tmp_path / "gpu-host"
        env = {**gpus(settings, real=True), "ASSAY_STATE_DIR": str(state)}
        slot = root / "sys/bus/pci/slots/5"
        slot.mkdir(parents=True, exist_ok=True)
        (slot / "address").write_text("0000:18:00\n")
        return run("assay", *words, env=env)

    start.state = state
    return start


def test_a_host_names_its_gpus_itself(host):
    done = host("count=4 remapfailed=1", "run", "--probe", "gpu-state")
    assert done.returncode == 1, done
    assert "\nfail: gpu 1: a memory row could not be replaced" in done.stdout, done.stdout
    row = next(line for line in done.stdout.splitlines() if "gpu.remapped_rows" in line)
    assert row.split()[:4] == ["fail", "gpu.remapped_rows", "gpu", "1"]
    whole = json.loads(host("count=4 remapfailed=1", "run", "--probe", "gpu-state", "-o", "json").stdout)
    assert whole["parts"][1] == {"id": gpu(1), "kind": "gpu", "name": "gpu 1", "index": 1, "module": 3, "pci": "0000:18:00.0",
                                 "slot": "5", "serial": "1650000000001", "number": "900-21001-0001-000"}
    said = [s["parts"] for s in whole["report"]["samples"] if "parts" in s]
    assert [p[0]["index"] for p in said] == [0, 1, 2, 3] and said[1] == [whole["parts"][1]]
    verdict = json.loads((host.state / "verdict.json").read_text())
    bad = next(i for i in verdict["items"] if i["check"] == "gpu.remapped_rows" and i["verdict"] == "fail")
    assert bad["subject"] == gpu(1) and bad["sentence"].startswith("gpu 1: ")
    assert "gpu 1: a memory row" in host("count=4", "admit").stdout


def test_a_host_tells_a_swap(host):
    host("count=4", "run", "--probe", "gpu-state")
    parts = {p["id"]: p for p in json.loads((host.state / "parts.json").read_text())["parts"]}
    done = host("count=4 swapped=13 remapfailed=1", "run", "--probe", "gpu-state", "-o", "json")
    after = {p["id"]: p for p in json.loads(done.stdout)["parts"]}
    assert (parts[gpu(1)]["name"], after[gpu(1)]["name"], after[gpu(3)]["name"]) == ("gpu 1", "gpu 3", "gpu 1")
    assert after[gpu(3)]["slot"] == "5" and "slot" not in after[gpu(1)] and after[gpu(1)]["serial"] == parts[gpu(1)]["serial"]


def test_maps_and_links_have_the_names_that_the_file_has(run, tmp_path):
    """GPUs are named by address in the topology, and have the reverse order of indices."""
    file = tmp_path / "samples"
    cells = re.sub(r"gpu:(\d)", r"gpu:0000:1\1:00.0", matrix(1, "gpu:3^switch:1"))
    parts = [{"id": gpu(i), "kind": "gpu", "index": 7 - i, "pci": f"0000:1{i}:00.0"} for i in range(8)]
    file.write_text(cells)
    without = run("assay", "explain", file).stdout
    assert "GPU 0000:13:00.0's PCIe link" in without and "gpu 4" not in without
    file.write_text(cells + json.dumps(sample("gpu.nvml", gpu(0), 1, "1", better="none", parts=parts)) + "\n")
    done = run("assay", "explain", file)
    assert done.returncode == 1 and "gpu 4's PCIe link" in done.stdout and "mlx5_0:1 > gpu 4" in done.stdout, done
    kinds, numbers = done.stdout.splitlines()[1:3]
    assert kinds.split()[0] == "gpu" and numbers.split()[:8] == ["7", "6", "5", "4", "3", "2", "1", "0"]
    assert "gpu 4's PCIe link" in run("assay", "localise", file).stdout


def test_a_gpu_that_is_lost_is_called_by_its_address_once_another_has_its_number(host):
    host("count=4", "run", "--probe", "gpu-state")
    done = host("count=4 absent=1", "run", "--probe", "gpu-state", "-o", "json")
    lost = next(i for i in json.loads(done.stdout)["verdict"]["items"] if i["check"] == "gpu.lost" and i["verdict"] == "fail")
    assert lost["subject"] == gpu(1) and lost["sentence"].startswith("gpu at 0000:18:00.0: "), lost
    gone = [p for p in json.loads(done.stdout)["parts"] if p.get("gone")]
    assert [(p["id"], p["name"], p["slot"]) for p in gone] == [(gpu(1), "gpu at 0000:18:00.0", "5")]
