# SPDX-License-Identifier: Apache-2.0
"""scripts/on-gpu with fake GPUs: a good run, an interrupted one, broken steps, and faulty GPUs."""
import json
import os
import shutil
import signal
import subprocess

import pytest
from gpu_fixtures import gpu_libraries  # noqa: F401

pytestmark = pytest.mark.once
HOLDS, NOT, UNKNOWN, FIGURE = "holds", "does not hold", "unknown", "figure"
NOT_HERE = {"memcheck"}  # not possible with the fakes
HEADERS = {"headers"}  # not possible without the CUDA headers
SMI = """<nvidia_smi_log><gpu><persistence_mode>Enabled</persistence_mode><uuid>GPU-face0000-0000-0000-0000-000000000000</uuid>
<pci><pci_gpu_link_info><link_widths><current_link_width>16x</current_link_width></link_widths></pci_gpu_link_info></pci>
<vbios_version>96.00.74.00.01</vbios_version><compute_mode>Default</compute_mode>
<inforom_version><img_version>G520.0200</img_version></inforom_version><gsp_firmware_version>580.65.06</gsp_firmware_version>
<bar1_memory_usage><total>131072 MiB</total></bar1_memory_usage>
<ecc_mode><current_ecc>Enabled</current_ecc></ecc_mode>
<gpu_power_readings><current_power_limit>700.00 W</current_power_limit></gpu_power_readings></gpu></nvidia_smi_log>"""


@pytest.fixture(scope="module")
def kit(top, build, gpu_libraries, tmp_path_factory):  # noqa: F811
    """The prepared folder for a bare host."""
    place = tmp_path_factory.mktemp("kit") / "kit"
    done = subprocess.run([top / "scripts/on-gpu", "--prepare", place, "--build", build], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """A directory with an nvidia-smi."""
    place = tmp_path_factory.mktemp("tools")
    (place / "smi.xml").write_text(SMI)
    (place / "nvidia-smi").write_text(f"#!/bin/sh\ncat {place}/smi.xml\n")
    (place / "nvidia-smi").chmod(0o755)
    return place


@pytest.fixture(scope="module")
def attempt(build, tools):
    """attempt(kit, folder, "--only", ..., gpus="wrong=0") runs it with such fakes. Returns (exit status, output)."""

    def start(kit, folder, *args, gpus=""):
        env = {**os.environ, "ASSAY_FAKE_GPUS": f"count=1 {gpus}".strip(), "PATH": f"{tools}:{os.environ['PATH']}"}
        done = subprocess.run([kit / "on-gpu", folder, "--fakes", build, *args], env=env, capture_output=True, text=True, timeout=300)
        assert done.stderr == ""
        return done.returncode, done.stdout

    return start


@pytest.fixture(scope="module")
def good(kit, attempt, tmp_path_factory):
    """The folder of a good run, its exit status, and its output."""
    folder = tmp_path_factory.mktemp("good")
    return folder, *attempt(kit, folder)


@pytest.fixture
def judge(top):
    """judge(folder) returns (exit status, {question: answer})."""

    def ask(folder):
        done = subprocess.run([top / "scripts/on-gpu", "--judge", folder], capture_output=True, text=True, timeout=60)
        assert done.stderr == "", done.stderr
        return done.returncode, answers(done.stdout)

    return ask


def answers(text):
    """{question: answer} of a printed table."""
    found = {}
    for line in text.splitlines():
        answer = next((word for word in (HOLDS, NOT, UNKNOWN, FIGURE) if line.startswith(word.ljust(15))), None)
        if answer:
            found[line[15:24].strip()] = answer
    assert len(found) > 30, text
    return found


def lines_of(folder):
    return (folder / "results.jsonl").read_text().splitlines(keepends=True)


def changed(good, folder, change):
    """The records of the good run in another folder, modified by change(record)."""
    folder.mkdir()
    records = [json.loads(line) for line in lines_of(good)]
    for record in records:
        change(record)
    (folder / "results.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    return folder


def slower(step, label_start, check, factor):
    """A change of records: the probe's rate is reduced."""

    def change(record):
        if record.get("step") != step or not record.get("label", "").startswith(label_start):
            return
        samples = [json.loads(line) for line in record["out"].splitlines()]
        for s in samples:
            if s.get("check") == check:
                s["value"] *= factor
        record["out"] = "".join(json.dumps(s) + "\n" for s in samples)

    return change


def test_of_a_good_run_everything_holds(good, judge):
    folder, status, printed = good
    assert (status, answers(printed)) == judge(folder)
    found = answers(printed)
    assert {name for name, answer in found.items() if answer == UNKNOWN} - HEADERS == NOT_HERE, printed
    assert not [name for name, answer in found.items() if answer == NOT], printed
    assert sum(answer == FIGURE for answer in found.values()) == 6 and status == 3
    assert list(folder.iterdir()) == [folder / "results.jsonl"]


def test_every_step_and_what_it_printed_is_written_down(good, top):
    runs = [r for r in map(json.loads, lines_of(good[0])) if r["kind"] == "run"]
    assert all({"step", "label", "argv", "start", "seconds", "status", "out", "err", "timed_out"} <= set(r) for r in runs)
    shown = subprocess.run([top / "scripts/on-gpu", "--show", good[0], "cold"], capture_output=True, text=True, timeout=60).stdout
    assert "ref_nvml: exit status 0" in shown and '"call":"by_index"' in shown


def test_a_run_that_was_cut_is_judged_as_far_as_it_came(good, judge, tmp_path):
    lines = lines_of(good[0])
    at = next(i for i, line in enumerate(lines) if '"step": "memory"' in line)
    (tmp_path / "results.jsonl").write_text("".join(lines[:at]) + lines[at][: len(lines[at]) // 2])  # truncated in the middle of a write
    status, found = judge(tmp_path)
    _, whole = judge(good[0])
    later = {"copies", "pages", "copy time", "correct", "single", "pair", "nccl", "busy", "busy run", "hang", "late NVML", "SIGTERM", "after",
             "pattern", "burn", "warm-up", "data", "chain", *HEADERS, *NOT_HERE}
    assert {name for name, answer in found.items() if answer == UNKNOWN} == later and status == 3
    assert all(found[name] == whole[name] for name in set(whole) - later)


def test_a_step_that_does_not_end_costs_itself_and_no_time_is_lost(kit, attempt, tmp_path):
    status, printed = attempt(kit, tmp_path, "--limit", "6", gpus="stuck=1 at=nvmlDeviceGetHandleByIndex_v2")
    found = answers(printed)
    assert status == 1 and found["touch"] == NOT and "cold, nvml: out of time" in printed
    assert "no time was left" in printed and found["rate"] == UNKNOWN


def test_a_broken_program_costs_its_own_questions(kit, good, attempt, tmp_path):
    other = tmp_path / "kit"
    shutil.copytree(kit, other)
    (other / "bin/ref_copy").write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    (other / "bin/ref_nccl").unlink()
    status, printed = attempt(other, tmp_path / "out", "--only", "gemm,memory,single")
    found = answers(printed)
    assert (found["copies"], found["pages"], found["nccl"]) == (UNKNOWN, UNKNOWN, UNKNOWN), printed
    assert (found["copy time"], found["windows"], found["single"]) == (HOLDS, HOLDS, HOLDS) and status == 3
    assert "memory, plain0: exit status 1: broken" in printed


@pytest.mark.parametrize("gpus, steps, wrong", [
    ("wrong=0", "gemm,dtypes", {"correct"}),
    ("hang=0", "gemm", {"windows", "steady", "clock", "correct"}),
    ("init=999", "gemm,driver", {"engine", "windows", "end", "steady", "dmabuf", "region", "clock", "correct"}),
    ("driver=12040", "gemm", {"engine", "cublaslt", "windows", "end", "steady", "clock", "correct"}),
    ("dbe=0 amount=3", "state", {"state"}),
    ("remapfailed=0", "passive", {"passive"}),
    ("capped=0", "state", {"state", "smi"}),
    ("vbios=61", "state", {"smi"}),
    ("rot=0", "memory", {"pattern"}),
    ("heat=1 tau=12 fan=0", "burn", {"burn"}),
    ("nodmabuf=1", "driver", set()),  # and says so
])
def test_what_is_wrong_with_a_gpu_does_not_hold(kit, attempt, tmp_path, gpus, steps, wrong):
    _, printed = attempt(kit, tmp_path, "--only", steps, gpus=gpus)
    assert {name for name, answer in answers(printed).items() if answer == NOT} == wrong, printed


@pytest.mark.parametrize("step, label, check, factor, wrong", [
    ("against", "probe", "gemm.rate", 0.96, {"rate"}),
    ("against", "probe", "gemm.rate", 1.04, {"rate"}),
    ("against", "probe0", "gemm.rate", 0.5, set()),  # one of three
    ("against", "probe", "gemm.rate", 0.98, set()),
    ("memory", "probe", "memory.d2h_bw", 0.9, {"copies"}),
    ("memory", "probe", "memory.device_bw", 1.1, {"copies"}),
    ("gemm", "auto", "gemm.rate", 0.9, {"clock"}),
])
def test_a_probe_that_differs_from_its_reference_does_not_hold(good, judge, tmp_path, step, label, check, factor, wrong):
    status, found = judge(changed(good[0], tmp_path / "changed", slower(step, label, check, factor)))
    assert {name for name, answer in found.items() if answer == NOT} == wrong and status == (1 if wrong else 3)


def test_nothing_holds_of_a_host_whose_processor_was_measured_in_place_of_a_gpu(good, judge, tmp_path):
    def processor(record):
        if record.get("kind") != "run":
            return
        record["out"] = record["out"].replace('"engine":"cuda"', '"engine":"cpu"')
        if record["step"] in ("passive", "quick"):
            value = json.loads(record["out"])
            value["report"]["samples"] = [s for s in value["report"]["samples"] if not s["check"].startswith("gpu.")]
            record["out"] = json.dumps(value)
        if record["step"] == "single" and record["status"] == 77:
            record["err"] = "assay-probe-gemm: --overlap needs a GPU engine"

    _, found = judge(changed(good[0], tmp_path / "processor", processor))
    # Questions answered only by the references, or without an engine.
    assert {name for name, answer in found.items() if answer == HOLDS} - HEADERS == {
        "touch", "warm", "state", "smi", "end", "dmabuf", "region", "pair", "nccl", "SIGTERM", "hang", "warm-up", "data"}, found


def test_what_took_too_long_does_not_hold(good, judge, tmp_path):
    def late(record):
        if record.get("kind") != "run":
            return
        record["seconds"] += 120  # more than the minute of a burn and its grace
        if record["label"] == "nvml":
            rows = [json.loads(line) for line in record["out"].splitlines()]
            for row in rows:
                row["seconds"] = row.get("seconds", 0) + 40
            record["out"] = "".join(json.dumps(row) + "\n" for row in rows)

    status, found = judge(changed(good[0], tmp_path / "late", late))
    assert {name for name, answer in found.items() if answer == NOT} == {"touch", "warm", "end", "quick", "hang", "SIGTERM", "burn"} and status == 1


@pytest.mark.parametrize("args, status, words", [
    (["--judge", "nowhere"], 2, "No such file"),
    ([], 2, "where do the results go"),
    (["out"], 2, "has no bin/"),
    (["--prepare", "kit", "--build", "nowhere"], 2, "scripts/build makes one"),
])
def test_it_says_what_to_do(top, tmp_path, args, status, words):
    done = subprocess.run([top / "scripts/on-gpu", *args], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == status and words in done.stderr and "Traceback" not in done.stderr


def test_an_unknown_step_is_told(kit, tmp_path):
    done = subprocess.run([kit / "on-gpu", tmp_path / "out", "--only", "gem"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stderr.startswith("on-gpu: --only: no step 'gem'; they are host cold")


def test_told_to_end_it_leaves_nothing_running_and_what_it_had(kit, build, judge, wait_until, tmp_path):
    env = {**os.environ, "ASSAY_FAKE_GPUS": "count=1 stuck=1 at=nvmlDeviceGetHandleByIndex_v2", "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    with subprocess.Popen([kit / "on-gpu", tmp_path / "out", "--fakes", build, "--only", "driver,cold"], env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        wait_until(lambda: running(kit / "bin/ref_nvml"))
        program.send_signal(signal.SIGTERM)
        printed, _ = program.communicate(timeout=60)
    assert program.returncode == 3 and "unknown" in printed and not running(kit / "bin/ref_nvml")
    assert list((tmp_path / "tmp").iterdir()) == []
    assert {r["kind"] for r in map(json.loads, lines_of(tmp_path / "out"))} >= {"begin"}
    assert judge(tmp_path / "out")[0] == 3


def running(program):
    """Processes of this program."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/exe") == str(program):
                found.append(pid)
        except OSError:  # ended meanwhile, or a kernel thread
            continue
    return found


def test_of_several_versions_of_a_library_the_newest_is_the_reference(top, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(top / "scripts"))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    import gpu_host
    for name in ("old/libcublasLt.so.12", "new/libcublasLt.so.13.1.0", "new/libcublasLt.so.9", "old/libnccl.so.2"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = gpu_host.libraries([f"{tmp_path}/old", f"{tmp_path}/*w", f"{tmp_path}/absent"])
    assert found == {"LIBCUBLASLT": f"{tmp_path}/new/libcublasLt.so.13.1.0", "LIBNCCL": f"{tmp_path}/old/libnccl.so.2"}
