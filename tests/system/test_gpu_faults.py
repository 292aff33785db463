# SPDX-License-Identifier: Apache-2.0
"""Every fault of the fake GPUs, in every probe that should detect it: the right GPU, its cause, in time, and nothing else. That a
probe cannot detect a fault and stays clean is a row too."""
import re
from dataclasses import dataclass

import pytest
from fake_host import FakeHost
from gpu_fixtures import gpu, gpu_host, gpu_libraries, gpus, run_alone, samples_of  # noqa: F401

GPUS = 4
BAD = gpu(1)
STATE, GEMM, CHAIN, MEMORY, COPY, ALL = "gpu-state", "gemm", "chain", "memory", "copies", "all-to-all"
PROBES = {
    STATE: ("assay-probe-gpu-state", ["--budget", "5s"], 5),
    GEMM: ("assay-probe-gemm", ["--engine", "cuda", "--shape", "48,40,56", "--budget", "10s"], 10),
    CHAIN: ("assay-probe-gemm", ["--engine", "cuda", "--chain", "--shape", "256,16,256", "--budget", "10s"], 10),
    MEMORY: ("assay-probe-memory", ["--engine", "cuda", "--size", "16384", "--budget", "5s"], 5),
    ALL: ("assay-probe-all-to-all", ["--size", "262144", "--budget", "10s"], 10),
}
CLEAN = ()


@dataclass
class Finding:
    """The expected finding on the GPU, in at least one sample."""

    check: str
    state: str = "measured"
    code: str | None = None
    severity: str | None = None
    words: str = ""
    subject: str = BAD  # or one that begins or ends with it: "GPU-...>numa:0"


@dataclass
class Row:
    fault: str
    settings: str
    probe: str
    found: tuple
    status: int = 0
    stderr: str = ""  # words in it; "": it is empty
    patience: bool = True  # False: a call hangs, so real time passes
    log: str = ""  # a line in the kernel log


XID = "NVRM: Xid (PCI:0000:18:00): {}, pid='<unknown>', name=<unknown>, text"


def finding(*args, **kwargs):
    return (Finding(*args, **kwargs),)


LOST = "is lost (NVML: GPU_IS_LOST)"
TABLE = [
    # slow GPU 10 %: measured by gemm; probes that only copy or read cannot see it.
    Row("slow 10 %", "slow=1", GEMM, finding("gemm.rate", code="slow-at-clock", words="SM clock 1500 MHz")),
    Row("slow 10 % by heat", "hot=1", GEMM, finding("gemm.rate", code="throttled", words="held back by HW thermal slowdown")),
    Row("slow 10 % by heat", "hot=1", STATE, finding("gpu.clocks", code="hw-thermal", severity="warn", words="it is too hot")),
    Row("slow by a power brake", "braked=1", STATE, finding("gpu.clocks", code="power-brake", severity="warn", words="power supply")),
    Row("slow by its power cap", "thirsty=1", STATE, CLEAN),
    Row("slow by an operator", "locked=1", STATE, CLEAN),
    Row("slow 10 %", "slow=1", MEMORY, CLEAN),
    Row("slow 10 %", "slow=1", STATE, CLEAN),
    Row("slow links", "thin=1", ALL, finding("all_to_all.busbw", words=f"the pairs of {BAD} reach 9", subject="gpus")),
    # launch delay 20 us: caused by the host, so only the chain shows it.
    Row("launch delay", "delay=20", GEMM, CLEAN),
    Row("launch delay", "delay=20 mflops=20000", CHAIN,
        finding("gemm.chain", code="host-bound", words="host-bound: a layer of 10 launches takes ")),
    Row("launch delay", "delay=20", MEMORY, CLEAN),
    # wrong element
    Row("wrong element", "wrong=1", GEMM, finding("gemm.correct", code="wrong-product", severity="fatal", words="wrong again")),
    Row("wrong element once", "once=1", GEMM, finding("gemm.correct", code="wrong-product", severity="warn", words="correct in other memory")),
    Row("wrong memory", "rot=1", MEMORY, finding("memory.d2h_bw", code="copy:wrong-data", subject=f"{BAD}>numa:0", severity="fail",
                                                 words="the GPU returned wrong data, first at byte 0x1000")),
    Row("wrong element", "damage=13", ALL, finding("all_to_all.correct", code="wrong-data", severity="fatal", subject="gpus",
                                                   words=f"what {BAD} sent to {gpu(3)}")),
    # hung kernel
    Row("hung kernel", "hang=1", GEMM, finding("gemm.rate", "timeout", words="finished 0 of at least 8 windows in time")),
    Row("hung copy", "hangcopy=1", MEMORY, finding("memory.d2h_bw", "timeout", subject=f"{BAD}>numa:0",
                                                   words="windows of copies in time")),
    Row("hung collective", "frozen=1", ALL, finding("all_to_all.busbw", "timeout", words=f"told to abort, {BAD} (0000:18:00.0) did not")),
    # lost GPU
    Row("lost GPU", "lost=1", GEMM, finding("gemm.rate", code="device-lost", severity="fatal", words=LOST)),
    Row("lost GPU", "losecopy=1", MEMORY, finding("memory.d2h_bw", code="device-lost", severity="fatal", words=LOST,
                                                  subject=f"{BAD}>numa:0")),
    Row("lost GPU", "gone=1", STATE, finding("gpu.lost", code="device-lost", severity="fatal", words="NVML: GPU is lost")),
    Row("lost GPU", "dead=1", STATE, finding("gpu.lost", code="device-lost", severity="fatal", words="nvmlDeviceGetHandleByIndex_v2")),
    Row("GPU not in NVML", "absent=1", STATE, finding("gpu.lost", code="not-shown", severity="fail", words="on the PCI bus at 0000:18")),
    Row("GPU to reset", "reset=1", STATE, finding("gpu.nvml", code="reset-required", severity="fail", words="GPU requires reset")),
    Row("GPU to reset", "recovery=1 action=1", STATE, finding("gpu.recovery", code="reset-gpu", severity="fatal", words="a reset")),
    Row("communicator failed", "async=1", ALL, finding("all_to_all.busbw", code="nccl-error", severity="warn", words="cuda error")),
    # ECC
    Row("ECC", "ecc=1", GEMM, finding("gemm.rate", code="device-error", severity="warn", words="CUDA_ERROR_ECC_UNCORRECTABLE 214")),
    Row("ECC", "ecccopy=1", MEMORY, finding("memory.d2h_bw", code="device-error", severity="warn", subject=f"{BAD}>numa:0",
                                            words="CUDA_ERROR_ECC_UNCORRECTABLE 214")),
    # Results that no kernel of NVIDIA's libraries produces on a good GPU.
    *(Row("kernel went wrong", f"broken=1 error={error}", GEMM,
          finding("gemm.rate", code="device-error", severity="warn", words=str(error))) for error in (226, 714, 715, 716, 717, 718)),
    Row("ECC", "dbe=1", STATE, finding("gpu.ecc_errors", code="uncorrected", severity="fail", words="lost data")),
    Row("ECC contained", "dbe=1 event=1 xid=94", STATE,
        (Finding("gpu.ecc_errors", code="uncorrected", severity="fail"),
         Finding("gpu.xid", code="xid:94", severity="warn", words="contained ECC error"))),
    Row("ECC uncontained", "dbe=1 event=1 xid=95", STATE,
        (Finding("gpu.ecc_errors", code="uncorrected", severity="fail"),
         Finding("gpu.xid", code="xid:95", severity="fatal", words="uncontained ECC error"))),
    Row("ECC off", "eccoff=1", STATE, finding("gpu.ecc_mode", code="ecc-off", severity="info", words="ECC is off")),
    Row("rows pending", "remappending=1", STATE, finding("gpu.remapped_rows", code="remap-pending", severity="warn", words="reset")),
    Row("rows failed", "remapfailed=1", STATE, finding("gpu.remapped_rows", code="remap-failed", severity="fatal", words="replace")),
    Row("rows used up", "norows=1 amount=2", STATE, finding("gpu.remapped_rows", code="no-spare-rows", severity="warn", words="2 banks")),
    Row("SRAM", "sram=1", STATE, finding("gpu.sram_errors", code="sram-threshold", severity="fail", words="5 uncorrectable errors")),
    Row("repair", "repair=1", STATE, finding("gpu.repair", code="repair-pending", severity="warn", words="reset the GPU")),
    # Xid
    Row("Xid event", "event=1 xid=79", STATE, finding("gpu.xid", code="xid:79", severity="fatal", words="reported by NVML")),
    Row("Xid in the log", "", STATE, finding("gpu.xid", code="xid:119", severity="warn", words="Azure: drain"), log=XID.format(119)),
    Row("Xid both ways", "event=1 xid=48", STATE, finding("gpu.xid", code="xid:48", severity="warn"), log=XID.format(48)),
    # bus, power, heat
    Row("lanes lost", "narrow=1", STATE, finding("gpu.pcie_width", code="width-low", severity="warn", words="8 lanes of 16")),
    Row("bus slow", "slowbus=1", STATE, finding("gpu.pcie_speed", code="speed-low", severity="warn", words="generation 1 of 5")),
    Row("bus slow, idle", "slowbus=1 idle=1", STATE, finding("gpu.pcie_speed", code="speed-low", severity="warn", words="other idle GPUs")),
    Row("bus of a card slow, idle", "slowbus=1 idle=1 direct=1", STATE, CLEAN),
    Row("bus of a card slow, just idle", "slowbus=1 asleep=1 direct=1", STATE, CLEAN),
    Row("link trained lower", "slowlink=1", STATE, finding("gpu.nvlink_speed", code="nvlink-slow", severity="warn", words="13.281")),
    Row("C2C down", "c2c=1 c2cdown=1", STATE, finding("gpu.c2c", code="c2c-down", severity="fail", words="9 C2C links to its processor are active of 10")),
    Row("C2C slow", "c2c=1 c2cslow=1", STATE, finding("gpu.c2c", code="c2c-slow", severity="warn", words="1 of 10 C2C links run slower")),
    Row("memory hot", "memoryhot=1", STATE, finding("gpu.memory_temperature", code="memory-hot", severity="warn", words="95 C")),
    Row("InfoROM corrupt", "badinforom=1", STATE, finding("gpu.inforom", code="inforom-corrupt", severity="warn")),
    Row("errors of a job that died", "dbe=1 closed=1 persistence=0", STATE, finding("gpu.ecc_errors", code="uncorrected-before")),
    Row("replays", "replay=1 amount=81", STATE, finding("gpu.pcie_errors", code="replay", severity="warn", words="reseat")),
    Row("slow PCIe in", "slowin=1", MEMORY, finding("memory.h2d_bw", subject=f"numa:0>{BAD}")),
    Row("slow PCIe out", "slowout=1", MEMORY, finding("memory.d2h_bw", subject=f"{BAD}>numa:0")),
    Row("slow pair", "slowpair=13", MEMORY, finding("memory.p2p_bw", subject=f"{BAD}>{gpu(3)}")),
    Row("power cap", "capped=1", STATE, finding("gpu.power_limit", code="power-capped", severity="warn", words="500 W, the default is 700")),
    Row("too hot", "overheated=1", STATE, finding("gpu.temperature", code="too-hot", severity="warn", words="3 C beyond")),
    # NVLink and its fabric
    Row("NVLink down", "linkdown=1", STATE, finding("gpu.nvlink", code="nvlink-down", severity="fail", words="; down: 3")),
    Row("NVLink down", "linkdown=1", ALL, finding("all_to_all.nvlinks", code="nvlink-down", severity="fail", words="17 of 18")),
    Row("NVLink errors", "linkcrc=1 amount=101", STATE, finding("gpu.nvlink_errors", code="crc", severity="warn", words="link 3 crc")),
    Row("NVLink lost", "linkrecovery=1", STATE, finding("gpu.nvlink_errors", code="recovery", severity="warn", words="link 3 recovery")),
    *(Row(f"fabric {words}", f"fabric=1 fabricstate={state}", STATE,
          finding("gpu.fabric", code="fabric-not-ready", severity="fail", words=words))
      for state, words in ((1, "not started"), (2, "in progress"))),
    Row("fabric failed", "unfabric=1", STATE, finding("gpu.fabric", code="fabric-failed", severity="fail", words="NVML error 999")),
    Row("fabric degraded", "degraded=1", STATE, finding("gpu.fabric", code="fabric-bandwidth", severity="warn", words="degraded")),
    Row("MIG", "mig=1", STATE, CLEAN),
    # a rank that never arrives
    Row("rank missing", "late=1", ALL, finding("all_to_all.busbw", "timeout", words="(0000:18:00.0) did not arrive, 3 others waited")),
    # out of memory
    Row("no memory", "full=1", GEMM, finding("gemm.rate", "set-up", words="out of memory: 32 MiB wanted, 3 of 65536 MiB free")),
    Row("no memory", "full=1", MEMORY, finding("memory.d2h_bw", "set-up", subject=f"{BAD}>numa:0", words="out of memory")),
    Row("no memory", "full=1", ALL, finding("all_to_all.busbw", "set-up", words="out of memory")),
    # old driver
    *(Row("old driver", "driver=10020", probe, CLEAN, 77, "the GPU driver supports only CUDA 10.2") for probe in (GEMM, MEMORY, ALL)),
    Row("old driver", "old=1", STATE, CLEAN),
    # stuck NVML: a finding of gpu-state; the others measure without it.
    Row("stuck NVML", "held=1", STATE, finding("gpu.nvml", code="nvml-stuck", severity="fail", words="took more than 2 s"), patience=False),
    *(Row("stuck NVML", "stuck=1", probe, CLEAN, patience=False) for probe in (GEMM, MEMORY)),
    *(Row("stuck driver", "block=1 at=cuEventElapsedTime", probe, finding(check, "timeout", words="did not return"), 1, BAD, patience=False)
      for probe, check in ((GEMM, "gemm.rate"), (MEMORY, "memory.h2d_bw"))),
    *(Row("slow start", "block=1", probe, finding(check, "timeout", subject=subject, words="slow to start: not ready after"),
          patience=False) for probe, check, subject in ((GEMM, "gemm.rate", BAD), (MEMORY, "memory.d2h_bw", f"{BAD}>numa:0"))),
    Row("stuck driver", "block=1", ALL, finding("all_to_all.busbw", "timeout", words="did not return"), 1, BAD, patience=False),
    *(Row("driver that does not start", "block=0 at=cuInit", probe, CLEAN, 1, "the GPU driver hangs while it starts",
          patience=False) for probe in (GEMM, MEMORY, ALL)),
    # busy by another process
    *(Row("busy", "busy=1 pid=4242424", probe, finding(check, "busy", subject=subject, words="pid 4242424 (python3) computes on"))
      for probe, check, subject in ((GEMM, "gemm.rate", BAD), (MEMORY, "memory.d2h_bw", f"{BAD}>numa:0"),
                                    (ALL, "all_to_all.busbw", "gpus"))),
    *(Row("busy among many", "busy=1 pid=4242424 many=100", probe, finding(check, "busy", subject=subject, words="computes on"))
      for probe, check, subject in ((GEMM, "gemm.rate", BAD), (MEMORY, "memory.d2h_bw", f"{BAD}>numa:0"),
                                    (ALL, "all_to_all.busbw", "gpus"))),
    Row("busy", "busy=1 pid=4242424", STATE, CLEAN),
    Row("taken", "taken=1", GEMM, finding("gemm.rate", "set-up", words="CUDA_ERROR_DEVICE_UNAVAILABLE 46")),
    Row("taken", "taken=1", MEMORY, finding("memory.d2h_bw", "set-up", subject=f"{BAD}>numa:0", words="CUDA_ERROR_DEVICE_UNAVAILABLE 46")),
]
SLOW = {"gemm.rate", "memory.h2d_bw", "memory.d2h_bw", "memory.p2p_bw"}  # rates expected to be low in rows without a severity


@pytest.fixture
def one_node(tmp_path):
    def make():
        for file in (tmp_path / "gpu-host/sys/bus/pci/devices").glob("*/numa_node"):
            file.write_text("0\n")

    return make


@pytest.fixture
def probe(build, environ, gpus, top, tmp_path, one_node):  # noqa: F811
    """probe(ROW) runs its probe on GPUs with this fault that were healthy 300 s ago. Returns (exit status, samples, stderr)."""
    host = FakeHost(tmp_path / "gpu-host")

    def start(row, settings):
        program, args, _ = PROBES[row.probe]
        rate = " copy=500" if row.probe == MEMORY else ""
        env = gpus(f"count={GPUS}{rate} {settings}".strip(), real=row.probe == STATE, ASSAY_FAKE_PATIENCE="10" if row.patience else "1")
        one_node()
        status, out, err, _ = run_alone([build / program, *args], {**environ, **env, **host.env(top / "policies")})
        return status, samples_of(out), err

    def run(row):
        if row.probe == STATE:
            host.uptime(1000)
            assert start(row, "")[0] == 0
            host.uptime(1300)
            if row.log:
                host.say(row.log)
        return start(row, row.settings)

    return run


def about(sample):
    """Is the sample about the bad GPU, alone or with others?"""
    return BAD in sample["subject"] or sample["subject"] in ("gpus", "host") or sample["subject"].startswith("gpus@")


def is_slow(sample, samples):
    """Is the rate below that of its peers by more than the fakes' noise of 0.4 %?"""
    key = (sample["check"], str(sample.get("class")), str(sample["params"].get("at_once")))
    peers = sorted(s["value"] for s in samples if s["state"] == "measured" and "at_once" not in s["check"] and
                   (s["check"], str(s.get("class")), str((s.get("params") or {}).get("at_once"))) == key)
    return sample["value"] < 0.97 * peers[len(peers) // 2]


def in_budget(samples, seconds):
    spans = [(s["start"], s["start"] + s.get("seconds", 0)) for s in samples if s.get("start")]
    return not spans or max(end for _, end in spans) - min(start for start, _ in spans) <= seconds


def test_the_table_has_every_fault_in_every_probe(build):
    assert len({(row.fault, row.settings, row.probe) for row in TABLE}) == len(TABLE) >= 70
    assert {row.probe for row in TABLE} == set(PROBES)


@pytest.mark.some(50)
@pytest.mark.parametrize("row", TABLE, ids=[f"{row.fault}-{row.probe}".replace(" ", "_") for row in TABLE])
def test_a_fault_is_named_with_its_gpu_and_cause(probe, row):
    status, samples, err = probe(row)
    assert status == row.status, err
    assert row.stderr in err and (err == "" or row.stderr), err
    assert "the budget is used up" not in err and in_budget(samples, PROBES[row.probe][2]), samples
    accused = [s for s in samples if s["ok"] is False or s["state"] != "measured"]
    wrong = [s for s in accused if not about(s)]
    # All GPUs launch through the same host, so slow launches show on all of them.
    assert wrong == [] or all(s.get("code") == "host-bound" for s in wrong), wrong
    for f in row.found:
        of = [s for s in samples if (s["check"], s["subject"]) == (f.check, f.subject)]
        assert len(of) == 1, (f, [(s["check"], s["subject"]) for s in samples])
        s = of[0]
        assert s["state"] == f.state and s.get("code") == f.code, s
        assert f.words in s.get("note", ""), s
        if f.severity:
            assert (s["ok"], s.get("severity", "fail")) == (False, f.severity), s
        elif f.state == "measured" and f.check in SLOW:
            assert is_slow(s, samples) and [x["subject"] for x in samples if x["check"] == f.check and not about(x) and
                                            is_slow(x, samples)] == []
    named = {(f.check, f.code) for f in row.found if f.severity}
    assert {(s["check"], s.get("code")) for s in samples if s["ok"] is False and s.get("code") != "host-bound"} - named <= {
        (s["check"], s.get("code")) for s in samples if any(s.get("code") == f.code and f.code for f in row.found)}
    if not row.found:
        assert [s for s in samples if s["ok"] is False] == [], samples


def test_every_fault_of_the_fakes_has_a_row(top):
    """Every fault of gpu_fake.h is in a row above, or listed here as tested elsewhere or not a fault of a GPU."""
    text = (top / "tests/fakes/gpu_fake.h").read_text()
    words = set(re.findall(r"(?<=[ \t])([a-z0-9]+)=(?:I\b|IJ\b)", text))
    tried = {word.split("=")[0] for row in TABLE for word in row.settings.split()}
    elsewhere = {"client", "crowded", "other", "odd", "odd1",  # test_gemm_gpu.py
                 "alone", "slowcopy", "copynsat", "path", "damage1", "notready", "comes",  # test_memory_gpu.py, test_all_to_all.py
                 "sbe", "pciefatal", "thermal", "swthermal", "powercap", "rows", "dbeever",  # counters: test_gpu_state.py
                 "behind", "abortstuck",  # test_all_to_all.py
                 "warm",  # test_gpu_state.py
                 "slowstart", "lagat",  # test_gpu_start.py
                 "fan", "hotmemory",  # test_gemm_burn.py
                 "paste",  # costs less than a burn can detect
                 "oddvbios",  # test_gpu_state.py
                 "vgpu",  # test_gpu_shares.py
                 "swapped",  # test_part_names.py
                 "refused"}  # test_gpu_calls.py
    assert words - tried == elsewhere, words - tried ^ elsewhere
