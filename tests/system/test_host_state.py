# SPDX-License-Identifier: Apache-2.0
"""assay-probe-host-state on fake hosts."""
import json
import re
import shutil

import pytest

from fake_host import MELLANOX, NIC, NVIDIA, NVME, OTHER, VGA, FakeHost

PROBE = "assay-probe-host-state"
ROOT, UP, DOWN, DOWN2 = "0000:15:01.0", "0000:16:00.0", "0000:17:00.0", "0000:17:01.0"
GPU0, GPU1, NIC0 = "0000:1b:00.0", "0000:1c:00.0", "0000:1d:00.0"


@pytest.fixture
def host(tmp_path):
    return FakeHost(tmp_path / "host").cpus()


@pytest.fixture
def probe(host, run, top):
    """probe() runs the probe on the host and returns its samples."""

    def start(*args, expect=0, env=None):
        done = run(PROBE, *args, env={**host.env(top / "policies"), **(env or {})})
        assert done.returncode == expect, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return start


def find(samples, check, subject=None, **wanted):
    found = [s for s in samples if s["check"] == check and subject in (None, s["subject"])
             and all(s.get(k) == v for k, v in wanted.items())]
    assert len(found) == 1, f"{check} {subject} {wanted}: {found} in {samples}"
    return found[0]


def bad(samples):
    return [s for s in samples if s["ok"] is False]


def a_gpu_host(host):
    """Two GPUs and a NIC below one switch, an NVMe disk at its own root port."""
    host.bridge(ROOT)
    host.bridge(ROOT, UP)
    down, down2 = host.bridge(ROOT, UP, DOWN), host.bridge(ROOT, UP, DOWN2)
    host.bridge(ROOT, UP, "0000:17:02.0")
    host.pci(ROOT, UP, DOWN, GPU0)
    host.pci(ROOT, UP, DOWN2, GPU1)
    host.pci(ROOT, UP, "0000:17:02.0", NIC0, cls=NIC, vendor=MELLANOX, device="0x1021")
    host.bridge("0000:15:02.0", gts=16.0, width=4, max_gts=32.0, max_width=16)
    host.pci("0000:15:02.0", "0000:20:00.0", cls=NVME, vendor=OTHER, gts=16.0, width=4)
    return down, down2


def test_a_healthy_host_has_nothing_bad_and_every_sample_is_whole(host, probe):
    a_gpu_host(host)
    host.edac(dimms=[(0, 0), (0, 0)])
    host.dmi([16, 16, 0, 16])
    host.port("mlx5_0", 1, "4: ACTIVE")
    host.port("mlx5_1", 1, "1: DOWN")
    samples = probe()
    assert bad(samples) == []
    for s in samples:
        assert s["v"] == 1 and s["unit"] == "1" and s["note"] and s["better"] in ("higher", "lower", "none")
    counts = {s["check"]: s["value"] for s in samples if s["check"].startswith("inventory.")}
    assert counts == {"inventory.cpus": 4, "inventory.numa_nodes": 2, "inventory.dimm_bytes": 48 * 2**30,
                      "inventory.gpus": 2, "inventory.nics": 1, "inventory.ports_active": 1}
    assert find(samples, "inventory.dimm_bytes")["params"] == {"unit": "bytes", "source": "dmi"}
    assert find(samples, "host.kernel_log")["ok"] is True
    assert find(samples, "host.pcie_link", "host")["ok"] is True
    assert find(samples, "host.cpu_governor")["code"] == "performance"


def test_what_is_described_is_what_is_printed(host, probe, run):
    a_gpu_host(host)
    host.edac()
    described = {c["check"]: c for c in json.loads(run(PROBE, "--describe").stdout)["checks"]}
    for s in probe():
        assert s["better"] == described[s["check"]]["better"]


# --- counters


def test_aer_errors_are_reported_as_they_grow(host, probe):
    a_gpu_host(host)
    gpu = host.root / "sys/bus/pci/devices" / GPU0
    host.aer(gpu, correctable=5)
    first = find(probe(), "host.pcie_aer", f"pci:{GPU0}")
    assert (first["value"], first["ok"]) == (5, None)  # since boot, and few
    assert find(probe(), "host.pcie_aer", "host")["ok"] is True
    host.aer(gpu, correctable=505, nonfatal=1)
    samples = probe()
    grown = find(samples, "host.pcie_aer", f"pci:{GPU0}", code="aer_dev_correctable")
    assert (grown["value"], grown["ok"], grown["severity"]) == (500, False, "warn")
    assert "BadTLP 505" in grown["note"]
    assert find(samples, "host.pcie_aer", f"pci:{GPU0}", code="aer_dev_nonfatal")["value"] == 1
    host.aer(gpu, correctable=505, nonfatal=1, fatal=1)
    fatal = find(probe(), "host.pcie_aer", f"pci:{GPU0}")
    assert (fatal["code"], fatal["ok"]) == ("aer_dev_fatal", False)


def test_a_counter_that_a_reboot_reset_counts_from_nothing(host, probe):
    host.edac(ce=100000, dimms=[(100000, 0)])
    probe()
    host.boot(2)
    host.edac(ce=30, dimms=[(30, 0)])
    assert find(probe(), "host.memory_ce", "dimm:CPU0_A0")["value"] == 30
    # unchanged counters in the same boot are no new errors
    assert find(probe(), "host.memory_ce", "mc:0")["ok"] is True


def test_a_larger_count_after_a_reboot_is_all_new(host, probe):
    host.edac(ue=1)
    probe()
    host.boot(2)
    host.edac(ue=3)
    assert find(probe(), "host.memory_ue", "mc:0")["value"] == 3


def test_a_32_bit_counter_wraps(host, probe):
    host.edac(ce=2**32 - 10)
    probe()
    host.edac(ce=5)
    assert find(probe(), "host.memory_ce", "mc:0")["value"] == 15


def test_a_counter_that_a_driver_reset_counts_from_nothing(host, probe):
    host.edac(ce=1000)
    probe()
    host.edac(ce=7)
    assert find(probe(), "host.memory_ce", "mc:0")["value"] == 7


def test_an_uncorrectable_error_fails_and_names_the_dimm(host, probe):
    host.edac(dimms=[(0, 0), (0, 0)])
    probe()
    host.edac(ue=1, dimms=[(0, 0), (0, 1)])
    samples = probe()
    sick = find(samples, "host.memory_ue", "dimm:CPU0_A1")
    assert (sick["value"], sick["ok"]) == (1, False)
    assert "severity" not in sick or sick["severity"] == "fail"  # never fatal by itself
    assert find(samples, "host.memory_ue", "mc:0")["ok"] is True  # attributed to the DIMM


@pytest.mark.parametrize("growth, hours, ok", [(9, 0.1, None), (10, 0.1, False), (19, 2, None), (20, 2, False)])
def test_corrected_errors_warn_above_a_rate(host, probe, growth, hours, ok):
    host.edac()
    probe()
    host.uptime(1000 + hours * 3600)
    host.edac(ce=growth)
    sample = find(probe(), "host.memory_ce", "mc:0")
    assert sample["ok"] is ok
    assert ok is None or sample["severity"] == "warn"


def test_throttling_is_reported_by_package(host, probe):
    probe()
    host.throttle(2, 20, 30)
    host.throttle(3, 1, 30)
    samples = probe()
    hot = find(samples, "host.cpu_throttle", "package:1")
    assert (hot["value"], hot["ok"], hot["severity"]) == (51, False, "warn")
    assert "cpu 2" in hot["note"]
    assert find(samples, "host.cpu_throttle", "package:0")["ok"] is True
    assert find(probe(), "host.cpu_throttle", "package:1")["value"] == 0


# --- configuration of the processor


def test_a_core_that_differs_is_named(host, probe):
    base = "/sys/devices/system/cpu"
    host.write(f"{base}/cpufreq/policy2/scaling_governor", "powersave")
    host.write(f"{base}/cpufreq/policy1/scaling_max_freq", 1200000)
    host.write(f"{base}/cpu3/microcode/version", "0xd000111")
    host.write(f"{base}/online", "0-1,3")
    samples = {s["check"]: s for s in bad(probe())}
    assert samples["host.cpu_governor"]["code"] == "mixed" and "policy2" in samples["host.cpu_governor"]["note"]
    assert "policy1" in samples["host.cpu_frequency"]["note"] and "34 %" in samples["host.cpu_frequency"]["note"]
    assert "cpu3=0xd000111" in samples["host.microcode"]["note"]
    assert samples["host.cpu_offline"]["value"] == 1 and ": 2;" in samples["host.cpu_offline"]["note"]
    assert {s["severity"] for s in samples.values()} == {"warn"}


def test_threads_that_are_off_with_smt_are_no_fault(host, probe):
    host.write("/sys/devices/system/cpu/smt/control", "forceoff")
    host.write("/sys/devices/system/cpu/online", "0-1")
    assert find(probe(), "host.cpu_offline")["ok"] is None


# --- PCIe


def test_a_link_that_trained_narrow_is_named(host, probe):
    a_gpu_host(host)
    host.pci(ROOT, UP, "0000:17:02.0", NIC0, cls=NIC, vendor=MELLANOX, width=8, max_width=16)
    samples = probe()
    link = find(samples, "host.pcie_link", f"pci:{NIC0}")
    assert (link["value"], link["ok"], link["code"]) == (0.5, False, "pcie-width")
    assert link["params"] == {"max_gts": 32.0, "max_width": 16, "class": "nic"}
    assert "x8" in link["note"] and "x16" in link["note"]
    assert find(samples, "host.pcie_link", "host")["value"] == 0.5
    assert [s["subject"] for s in bad(samples)] == [f"pci:{NIC0}"]


def test_a_slow_link_is_a_fault_of_a_nic_and_not_of_an_idle_gpu(host, probe):
    a_gpu_host(host)
    host.pci(ROOT, UP, "0000:17:02.0", NIC0, cls=NIC, vendor=MELLANOX, gts=16.0, max_gts=32.0)
    host.pci(ROOT, UP, DOWN, GPU0, gts=2.5, max_gts=32.0)
    host.pci(ROOT, UP, DOWN2, GPU1, gts=2.5, max_gts=32.0, width=8, max_width=16)
    samples = probe()
    assert {s["subject"]: (s["value"], s["code"]) for s in bad(samples)} == {
        f"pci:{NIC0}": (0.5, "pcie-speed"), f"pci:{GPU1}": (0.5, "pcie-width")}
    assert find(samples, "host.pcie_link", f"pci:{GPU0}")["ok"] is True


def test_a_card_in_a_slot_that_can_no_more_is_no_fault(host, probe):
    host.bridge(ROOT, gts=16.0, width=8)
    host.pci(ROOT, NIC0, cls=NIC, vendor=MELLANOX, gts=16.0, width=8, max_gts=32.0, max_width=16)
    assert bad(probe()) == []


def test_a_link_that_is_not_known_is_not_judged(host, probe):
    host.bridge(ROOT)
    path = host.pci(ROOT, NIC0, cls=NIC, vendor=MELLANOX)
    (path / "current_link_speed").write_text("Unknown\n")
    (path / "current_link_width").write_text("63\n")
    assert [s for s in probe() if s["check"] == "host.pcie_link"] == []


def test_a_redirecting_switch_port_is_a_warning_when_it_can_be_read(host, probe):
    down, down2 = a_gpu_host(host)
    assert [s for s in probe() if s["check"] == "host.acs"] == []
    host.acs(down, 0x1D, size=64)
    assert [s for s in probe() if s["check"] == "host.acs"] == []
    host.acs(down, 0)
    host.acs(down2, 0)
    assert find(probe(), "host.acs")["ok"] is True
    host.acs(down, 0x1D)
    acs = find(probe(), "host.acs")
    assert (acs["value"], acs["ok"], acs["severity"], acs["code"]) == (1, False, "warn", "acs-redirect")
    assert DOWN in acs["note"] and "setpci" in acs["note"]


@pytest.mark.parametrize("kind, ok", [("identity", True), ("DMA-FQ", False)])
def test_translated_dma_is_a_warning(host, probe, kind, ok):
    a_gpu_host(host)
    host.write("/proc/cmdline", "quiet intel_iommu=on")
    host.iommu_group(host.root / "sys/bus/pci/devices" / GPU0, 7, kind)
    iommu = find(probe(), "host.iommu")
    assert iommu["ok"] is ok and iommu["params"]["cmdline"] == "on"
    assert ok or (iommu["severity"] == "warn" and "iommu=pt" in iommu["note"])


# --- devices that disappear


@pytest.mark.parametrize("reboot", [False, True])
def test_a_device_that_vanished_is_fatal_until_it_is_back(host, probe, reboot):
    a_gpu_host(host)
    assert find(probe(), "inventory.gpus")["ok"] is None
    host.remove(GPU1)
    if reboot:
        host.boot(2)
    for _ in range(2):  # the next run still knows it
        gone = find(probe(), "inventory.gpus")
        assert (gone["value"], gone["ok"], gone["severity"], gone["code"]) == (1, False, "fatal", "device-lost")
        assert f"pci:{GPU1} (10de:2330)" in gone["note"]
    host.pci(ROOT, UP, DOWN2, GPU1)
    assert find(probe(), "inventory.gpus")["ok"] is None


def test_buses_numbered_anew_are_no_loss(host, probe):
    a_gpu_host(host)
    probe()
    host.boot(2)
    host.remove(GPU1)
    host.pci(ROOT, UP, DOWN2, "0000:2c:00.0")
    assert find(probe(), "inventory.gpus")["ok"] is None


def test_a_gpu_that_answers_all_ones_is_lost(host, probe):
    a_gpu_host(host)
    config = host.root / "sys/bus/pci/devices" / GPU0 / "config"
    config.write_bytes(b"\xde\x10" + bytes(62))
    probe()
    config.write_bytes(b"\xff" * 64)
    gone = find(probe(), "inventory.gpus")
    assert (gone["value"], gone["severity"], gone["code"]) == (1, "fatal", "device-lost") and GPU0 in gone["note"]


def test_a_gpu_that_never_answered_fails_and_is_not_fatal(host, probe):
    a_gpu_host(host)
    (host.root / "sys/bus/pci/devices" / GPU0 / "config").write_bytes(b"\xff" * 64)
    deaf = find(probe(), "inventory.gpus")
    assert (deaf["ok"], deaf["code"]) == (False, "no-answer") and deaf.get("severity") != "fatal"


def test_a_dimm_that_vanished_is_named(host, probe):
    host.dmi([32, 32, 32])
    probe()
    host.boot(2)
    host.dmi([32, 0, 32])
    gone = find(probe(), "inventory.dimm_bytes")
    assert (gone["value"], gone["code"]) == (64 * 2**30, "device-lost") and "dimm:DIMM_A1" in gone["note"]


def test_what_cannot_be_read_for_once_is_not_lost(host, probe):
    a_gpu_host(host)
    host.dmi([32, 32])
    probe()
    dmi, pci = host.root / "sys/firmware/dmi/tables/DMI", host.root / "sys/bus/pci/devices"
    dmi.rename(host.root / "away-dmi")
    pci.rename(host.root / "away-pci")
    samples = probe()
    assert bad(samples) == []
    assert find(samples, "inventory.dimm_bytes")["params"]["source"] == "meminfo"
    shutil.move(host.root / "away-dmi", dmi)
    shutil.move(host.root / "away-pci", pci)
    host.remove(GPU0)
    assert find(probe(), "inventory.gpus")["code"] == "device-lost"


def test_only_gpus_and_physical_nics_count(host, probe):
    host.pci("0000:02:00.0", cls=VGA, vendor="0x1a03")  # the display of a management controller
    host.pci("0000:03:00.0", cls="0x120000", vendor="0x1002")  # AMD Instinct
    host.pci("0000:04:00.0", cls=NIC, vendor=MELLANOX)
    (host.pci("0000:04:00.2", cls=NIC, vendor=MELLANOX) / "physfn").write_text("")
    host.pci("0000:05:00.0", cls="0x068000", vendor=NVIDIA)  # NVSwitch
    samples = probe()
    assert find(samples, "inventory.gpus")["value"] == 1
    assert find(samples, "inventory.nics")["value"] == 1


def test_a_nic_that_a_hypervisor_unplugs_is_not_lost(host, probe):
    host.pci("0000:04:00.0", cls="0x020000", vendor="0x1af4", device="0x1041")
    probe()
    host.remove("0000:04:00.0")
    assert find(probe(), "inventory.nics")["ok"] is None


def test_the_judge_expects_the_counts_that_the_probe_describes(run, top):
    """Only those counts of a SKU file can be missing that some probe reports."""
    described = {c["check"] for c in json.loads(run(PROBE, "--describe").stdout)["checks"]}
    rows = re.findall(r'"(inventory\.\w+)",\s*"(\w+\.)"', (top / "lib/judge/missing.c").read_text())
    assert {check for check, ran in rows if ran == "inventory."} == {c for c in described if c.startswith("inventory.")}


# --- settings by which hosts of a SKU are compared


def setting(samples, check):
    return find(samples, check, "host")["params"]["setting"]


def test_settings_go_into_the_environment_of_the_report(host, probe):
    down, down2 = a_gpu_host(host)
    for path in (down, down2):
        host.acs(path, 0)
    host.idle_states(off=("C6",))
    host.write("/proc/sys/kernel/numa_balancing", 1)
    samples = probe()
    assert bad(samples) == []
    assert {s["check"]: s["params"]["setting"] for s in samples if "setting" in s.get("params", {})} == {
        "host.cpu_governor": "performance", "host.smt": "on", "host.cpu_idle": "intel_idle menu: POLL C1 C1E, off C6",
        "host.numa_balancing": "on", "host.acs": "0 of 2 ports redirect"}
    assert find(samples, "host.cpu_idle", "host")["value"] == 2
    host.idle_states(off=("C1E", "C6"), n=1)
    assert setting(probe(), "host.cpu_idle") == "intel_idle menu: POLL C1, off C1E C6, others otherwise"
    host.idle_states(off=("POLL", "C1", "C1E", "C6"))
    assert setting(probe(), "host.cpu_idle") == "intel_idle menu: off POLL C1 C1E C6"


def test_devices_of_one_model_set_up_otherwise_on_the_bus_are_named(host, probe):
    a_gpu_host(host)
    paths = [host.pci(ROOT, f"0000:1{i}:00.0") for i in (1, 2, 3)]
    nic = host.pci(ROOT, "0000:19:00.0", cls=NIC, vendor=MELLANOX, device="0x1021")
    for path in paths:
        host.express(path, payload=256, request=512, ats=False)
    host.express(nic, payload=512, request=4096, ats=True)
    samples = probe()
    assert [s["ok"] for s in samples if s["check"] in ("host.pcie_payload", "host.pcie_read_request", "host.ats")] == [None] * 3
    assert setting(samples, "host.pcie_payload") == "GPU 256; NIC 512"
    assert setting(samples, "host.pcie_read_request") == "GPU 512; NIC 4096"
    assert setting(samples, "host.ats") == "GPU off; NIC on"
    host.express(paths[1], payload=128, request=512, ats=True)
    samples = probe()
    assert [(s["check"], s["code"], s["severity"]) for s in bad(samples)] == [
        ("host.pcie_payload", "unlike-others", "info"), ("host.ats", "unlike-others", "info")]
    assert setting(samples, "host.pcie_payload") == "GPU 256 (2), 128 (1); NIC 512"
    assert find(samples, "host.ats")["note"].endswith("GPU on (1), off (2); NIC on; unlike most of their model: 0000:12:00.0")
    for path in [*paths, nic]:  # other users than root see 64 bytes
        host.express(path, size=64)
    assert [s for s in probe() if s["check"] in ("host.pcie_payload", "host.ats")] == []


FM, SM, IMEX = "/usr/bin/nv-fabricmanager", "/opt/nvidia/nvlsm/sbin/nvlsm", "/usr/bin/nvidia-imex"
SERVICES = ("host.fabric_manager", "host.nvlsm", "host.imex")


@pytest.mark.parametrize("runs, output, driver, text, code", [
    (True, "Fabric Manager version is : 580.65.06", "580.65.06", "runs, 580.65.06", None),
    (True, "Fabric Manager version is : 580.65.06", "580.82.07", "runs, 580.65.06", "version-mismatch"),
    (False, "Fabric Manager version is : 580.65.06", "580.82.07", "does not run, 580.65.06", None),
    (True, "of nothing known", "580.82.07", "runs", None),
    (True, None, "580.82.07", "runs", None),
    (False, None, "580.82.07", "not installed", None)])
def test_the_fabric_manager_is_told_with_its_version(host, probe, runs, output, driver, text, code):
    a_gpu_host(host)
    host.process(2, "kthreadd")
    host.write("/sys/module/nvidia/version", driver)
    if runs:
        host.process(4711, "nv-fabricmanager")
    if output:
        host.program(FM, output)
    sample = find(probe(), "host.fabric_manager", "host")
    assert (sample["params"]["setting"], sample.get("code"), sample["value"]) == (text, code, float(runs))
    assert sample["ok"] is (None if code is None else False) and sample.get("severity") in (None, "info")


def test_the_other_services_of_the_fabric_are_told_and_one_that_hangs_costs_a_second(host, probe):
    a_gpu_host(host)
    host.process(2, "kthreadd")
    host.process(10, "nvlsm")
    host.process(11, "nvidia-imex")
    host.program(SM, "OpenSM 5.23.00.MLNX20250115")
    host.program(IMEX, "IMEX version is: 580.65.06")
    samples = probe()
    assert [setting(samples, check) for check in SERVICES] == ["not installed", "runs, 5.23.00.MLNX20250115", "runs, 580.65.06"]
    host.write(FM, "#!/bin/sh\nexec sleep 100")
    (host.root / FM.lstrip("/")).chmod(0o755)
    samples = probe()
    assert setting(samples, "host.fabric_manager") == "does not run"


def test_where_the_processes_of_the_host_are_not_to_be_seen_nothing_is_said_of_services(host, probe):
    host.process(2, "kthreadd")
    assert [s for s in probe() if s["check"] in SERVICES] == []  # a host without GPUs
    a_gpu_host(host)
    host.process(2, "bash")  # a container
    assert [s for s in probe() if s["check"] in SERVICES] == []
