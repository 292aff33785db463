# SPDX-License-Identifier: Apache-2.0
"""assay-probe-gpu-state on fake GPUs: every fault is found on the right GPU with its cause, and nothing else."""
import json
import re
import shutil

import pytest
from fake_host import FakeHost
from gpu_fixtures import gpu, gpu_host, gpu_libraries, gpus  # noqa: F401

PROBE = "assay-probe-gpu-state"
XID = "NVRM: Xid (PCI:0000:{:02x}:00): {}, pid='<unknown>', name=<unknown>, text"


@pytest.fixture
def host(tmp_path):
    return FakeHost(tmp_path / "gpu-host")


@pytest.fixture
def probe(host, run, gpus, top):  # noqa: F811
    """probe("count=4 dbe=1") runs the probe on such GPUs (default: 300 s after the last run) and returns its samples."""
    at = [1000.0]

    def start(settings="count=4", *args, after=300.0, expect=0, off_the_bus=None):
        at[0] += after
        host.uptime(at[0])
        env = {**gpus(settings, real=True), **host.env(top / "policies")}
        if off_the_bus:
            shutil.rmtree(host.root / "sys/bus/pci/devices" / off_the_bus)
        done = run(PROBE, *args, env=env)
        assert done.returncode == expect, (done.stdout, done.stderr)
        start.words = done.stderr
        samples = [json.loads(line) for line in done.stdout.splitlines()]
        keys = [(s["check"], s["subject"], s.get("code")) for s in samples]
        assert len(set(keys)) == len(keys), keys
        return samples

    return start


def bad(samples):
    """The bad samples, without their messages."""
    return [(s["check"], s["subject"], s.get("code"), s.get("severity", "fail")) for s in samples if s["ok"] is False]


def find(samples, check, subject):
    found = [s for s in samples if (s["check"], s["subject"]) == (check, subject)]
    assert len(found) == 1, f"{check} {subject}: {found} in {samples}"
    return found[0]


# --- healthy


@pytest.mark.parametrize("settings", ["count=8", "count=1", "count=4 idle=1", "count=4 asleep=1", "count=4 old=1", "count=2 links=0",
                                      "count=2 unbridged=1", "count=4 busy=1 pid=4242424", "count=2 mig=0", "count=4 sbe=1 amount=9"])
def test_healthy_gpus_raise_nothing(probe, settings):
    for _ in range(3):
        samples = probe(settings)
        assert bad(samples) == [] and probe.words == ""
        assert [s for s in samples if s["value"] is None or s["state"] != "measured"] == []
    count = int(re.search(r"count=(\d)", settings)[1])
    assert len([s for s in samples if s["check"] == "gpu.nvml" and s["ok"]]) == count
    links = [s["value"] for s in samples if s["check"] == "inventory.nvlinks"]
    assert links == ([] if "links=0" in settings else [0] if "unbridged" in settings else [18 * count])


@pytest.mark.parametrize("models", ["", " mixed=1"])
def test_no_clean_run_raises_an_alarm(probe, full, models):
    """Working, in use, idle and just idle in turn, with the state that each run saves for the next."""
    kinds = ["count=4", "count=4 idle=1", "count=4 asleep=1", "count=4 busy=1 pid=4242424"]
    for i in range(100 if full else 8):
        assert bad(probe(kinds[i % len(kinds)] + models, "--seed", i)) == [], kinds[i % len(kinds)]


def test_it_describes_what_it_prints(probe, run):
    described = {c["check"]: c for c in json.loads(run(PROBE, "--describe").stdout)["checks"]}
    probe()
    samples = probe("count=2", "--busy", "run", "--seed", "7", "--budget", "9s")
    assert set(described) == {s["check"] for s in samples + probe("count=2 mig=1 c2c=1")}
    for s in samples:
        assert s["better"] == described[s["check"]]["better"] and s["unit"] == described[s["check"]]["unit"], s
        assert s["v"] == 1 and s["note"]


def test_what_a_busy_gpu_is_busy_with_is_told(probe):
    samples = probe("count=4 busy=2 pid=4242424")
    assert [s["note"] for s in samples if s["check"] == "gpu.processes" and s["value"]] == ["1 compute process: 4242424 (python3)"]
    assert find(samples, "gpu.processes", gpu(2))["ok"] is None


def test_processes_are_told_from_drivers_whose_lists_are_wider_than_those_of_others(probe):
    notes = [find(probe(f"count=2 busy=1 pid=4242424 many=2{wide}"), "gpu.processes", gpu(1))["note"] for wide in ("", " wide=1")]
    assert notes[0] == notes[1] and "100000" in notes[1] and "100001" in notes[1] and "4242424 (python3)" in notes[1]


def test_settings_go_into_the_environment_of_the_report(probe):
    samples = probe()
    settings = {s["check"]: s["params"]["setting"] for s in samples if s.get("params")}
    assert settings == {"gpu.ecc_mode": "on", "gpu.power_limit": "700 W", "gpu.persistence": "on", "gpu.compute_mode": "default",
                        "gpu.vbios": "96.00.74.00.01", "gpu.gsp_firmware": "580.65.06", "gpu.bar1": "131072 MiB",
                        "gpu.inforom": "G520.0200", "gpu.cc": "off"}
    once = [s for s in samples if s["check"] in ("gpu.compute_mode", "gpu.vbios", "gpu.gsp_firmware", "gpu.bar1", "gpu.cc")]
    assert [s["subject"] for s in once] == ["host"] * 5
    assert find(samples, "gpu.vbios", "host")["note"] == "VBIOS of 4 GPUs: 96.00.74.00.01"


@pytest.mark.parametrize("settings, check, text, value", [
    ("computemode=3", "gpu.compute_mode", "exclusive process", 3), ("computemode=9", "gpu.compute_mode", "unknown", 9),
    ("vbios=99", "gpu.vbios", "96.00.99.00.01", 1), ("gsp=0", "gpu.gsp_firmware", "off", 0),
    ("bar1=32768", "gpu.bar1", "32768 MiB", 32768), ("cc=1", "gpu.cc", "on", 1)])
def test_a_host_that_is_set_up_otherwise_says_so_and_is_not_bad(probe, settings, check, text, value):
    samples = probe(f"count=4 {settings}")
    one = find(samples, check, "host")
    assert bad(samples) == [] and (one["params"]["setting"], one["value"]) == (text, value)


def test_a_gpu_unlike_the_others_of_its_host_is_told_with_how_many_they_are(probe):
    samples = probe("count=4 oddvbios=2")
    assert bad(samples) == [("gpu.vbios", gpu(2), "unlike-others", "info")]
    assert find(samples, "gpu.vbios", gpu(2))["note"] == "VBIOS: 96.00.30.00.01, unlike 3 of the 4 GPUs of its model"
    assert find(samples, "gpu.vbios", gpu(0))["params"] == {"setting": "96.00.74.00.01"}


@pytest.mark.parametrize("settings", ["count=4 mixed=1", "count=2 oddvbios=1"])
def test_what_differs_by_model_or_of_two_gpus_is_nobodys_fault(probe, settings):
    samples = probe(settings)
    assert bad(samples) == [] and len([s for s in samples if s["check"] == "gpu.vbios"]) == int(settings[6])


# --- one fault


@pytest.mark.parametrize("fault, check, code, severity", [
    ("gone=2", "gpu.lost", "device-lost", "fatal"),
    ("dead=2", "gpu.lost", "device-lost", "fatal"),
    ("absent=2", "gpu.lost", "not-shown", "fail"),
    ("reset=2", "gpu.nvml", "reset-required", "fail"),
    ("recovery=2 action=1", "gpu.recovery", "reset-gpu", "fatal"),
    ("recovery=2 action=2", "gpu.recovery", "reboot", "fatal"),
    ("recovery=2 action=3", "gpu.recovery", "drain-p2p", "warn"),
    ("recovery=2 action=77", "gpu.recovery", "unknown", "warn"),
    ("dbe=2", "gpu.ecc_errors", "uncorrected", "fail"),
    ("dbe=2 old=1", "gpu.ecc_errors", "uncorrected", "fail"),
    ("eccoff=2", "gpu.ecc_mode", "ecc-off", "info"),
    ("remapfailed=2", "gpu.remapped_rows", "remap-failed", "fatal"),
    ("remappending=2", "gpu.remapped_rows", "remap-pending", "warn"),
    ("rows=2 amount=513", "gpu.remapped_rows", "many-remapped", "warn"),
    ("norows=2", "gpu.remapped_rows", "no-spare-rows", "warn"),
    ("sram=2", "gpu.sram_errors", "sram-threshold", "fail"),
    ("repair=2", "gpu.repair", "repair-pending", "warn"),
    ("overheated=2", "gpu.temperature", "too-hot", "warn"),
    ("thermal=2 amount=3100", "gpu.throttle", "hw-thermal", "warn"),
    ("swthermal=2 amount=3100", "gpu.throttle", "sw-thermal", "warn"),
    ("hot=2", "gpu.clocks", "hw-thermal", "warn"),
    ("warm=2", "gpu.clocks", "sw-thermal", "warn"),
    ("capped=2", "gpu.power_limit", "power-capped", "warn"),
    ("narrow=2", "gpu.pcie_width", "width-low", "warn"),
    ("slowbus=2", "gpu.pcie_speed", "speed-low", "warn"),
    ("slowbus=2 idle=1", "gpu.pcie_speed", "speed-low", "warn"),
    ("slowbus=2 asleep=1", "gpu.pcie_speed", "speed-low", "warn"),
    ("slowlink=2", "gpu.nvlink_speed", "nvlink-slow", "warn"),
    ("slowlink=2 all=1", "gpu.nvlink_speed", "nvlink-slow", "warn"),
    ("c2c=1 c2cdown=2", "gpu.c2c", "c2c-down", "fail"),
    ("c2c=1 c2cdown=2 all=1", "gpu.c2c", "c2c-down", "fail"),
    ("c2c=1 c2cslow=2", "gpu.c2c", "c2c-slow", "warn"),
    ("c2c=1 c2cslow=2 all=1", "gpu.c2c", "c2c-slow", "warn"),
    ("memoryhot=2", "gpu.memory_temperature", "memory-hot", "warn"),
    ("badinforom=2", "gpu.inforom", "inforom-corrupt", "warn"),
    ("replay=2 amount=81", "gpu.pcie_errors", "replay", "warn"),
    ("replay=2 amount=81 old=1", "gpu.pcie_errors", "replay", "warn"),
    ("pciefatal=2", "gpu.pcie_errors", "fatal", "warn"),
    ("linkdown=2", "gpu.nvlink", "nvlink-down", "fail"),
    ("linkcrc=2 amount=101", "gpu.nvlink_errors", "crc", "warn"),
    ("linkrecovery=2", "gpu.nvlink_errors", "recovery", "warn"),
    ("linkrecovery=2 old=1", "gpu.nvlink_errors", "recovery", "warn"),
    ("fabric=2", "gpu.fabric", "fabric-not-ready", "fail"),
    ("unfabric=2", "gpu.fabric", "fabric-failed", "fail"),
    ("degraded=2", "gpu.fabric", "fabric-bandwidth", "warn"),
])
def test_a_fault_is_named_with_its_gpu_and_nothing_else(probe, fault, check, code, severity):
    assert bad(probe()) == []
    assert bad(probe(f"count=4 {fault}")) == [(check, gpu(2), code, severity)]


@pytest.mark.parametrize("quiet", ["thermal=2 amount=2900", "replay=2 amount=80", "linkcrc=2 amount=100", "rows=2 amount=512",
                                   "powercap=2 amount=200000", "hotaisle=1 amount=90000", "slowbus=2 idle=1 direct=1",
                                   "slowbus=2 asleep=1 direct=1", "slowlink=2 dozing=1", "allhot=1"])
def test_what_keeps_within_its_rule_is_told_and_not_bad(probe, quiet):
    probe()
    assert bad(probe(f"count=4 {quiet}")) == []


@pytest.mark.parametrize("counted", ["replay=1 amount=500", "thermal=1 amount=90000", "linkcrc=1 amount=500"])
def test_what_was_counted_before_the_first_look_is_not_known(probe, counted):
    assert bad(probe(f"count=2 {counted}")) == [] == bad(probe(f"count=2 {counted}"))


def test_memory_errors_since_the_driver_was_loaded_are_told_once(probe):
    assert bad(probe("count=2 dbe=1")) == [("gpu.ecc_errors", gpu(1), "uncorrected", "fail")]
    assert bad(probe("count=2 dbe=1")) == []


def test_memory_errors_of_the_time_between_the_last_run_and_a_reboot_are_told_once(host, probe):
    probe("count=2")
    host.boot(2)  # resets the counter of the boot, but not the aggregate one
    samples = probe("count=2 dbeever=1 amount=2")
    assert bad(samples) == [("gpu.ecc_errors", gpu(1), "uncorrected-before", "fail")]
    assert find(samples, "gpu.ecc_errors", gpu(1))["value"] == 2
    assert bad(probe("count=2 dbeever=1 amount=2")) == []
    host.boot(3)
    assert bad(probe("count=2 dbeever=1 amount=2")) == []
    host.boot(4)  # one since the driver was loaded is reported as such
    assert bad(probe("count=2 dbe=1 amount=3")) == [("gpu.ecc_errors", gpu(1), "uncorrected", "fail")]


@pytest.mark.parametrize("old", ["", " old=1"])
def test_memory_errors_of_a_job_that_died_and_left_the_gpu_are_told_once(probe, old):
    """In the same boot: without persistence mode the driver resets its counters when the last program closes the GPU."""
    died = "count=2 persistence=0 dbe=1 amount=2 closed=1" + old
    probe("count=2 persistence=0" + old)
    samples = probe(died)
    assert bad(samples) == [("gpu.ecc_errors", gpu(1), "uncorrected-before", "fail")]
    assert find(samples, "gpu.ecc_errors", gpu(1))["value"] == 2
    assert bad(probe(died)) == []


def test_memory_errors_that_were_told_while_the_job_lived_are_not_told_again_when_it_is_gone(probe):
    alive = "count=2 persistence=0 dbe=1 amount=2"
    probe("count=2 persistence=0")
    assert bad(probe(alive)) == [("gpu.ecc_errors", gpu(1), "uncorrected", "fail")]
    assert bad(probe(alive + " closed=1")) == []
    # the next job counts from 0: one more than the two already known
    samples = probe("count=2 persistence=0 dbe=1 amount=3 closed=1")
    assert bad(samples) == [("gpu.ecc_errors", gpu(1), "uncorrected-before", "fail")]
    assert find(samples, "gpu.ecc_errors", gpu(1))["value"] == 1


def test_in_persistence_mode_nothing_is_forgotten_when_a_job_leaves(probe):
    probe("count=2")
    assert bad(probe("count=2 dbe=1 closed=1")) == [("gpu.ecc_errors", gpu(1), "uncorrected", "fail")]


def test_the_link_and_its_count_are_in_the_note(probe):
    probe()
    samples = probe("count=4 linkdown=1 link=7")
    assert find(samples, "gpu.nvlink", gpu(1))["note"] == "17 NVLinks are up, and it had 18; down: 7"
    assert find(samples, "inventory.nvlinks", "host")["value"] == 71
    note = find(probe("count=4 linkrecovery=3 link=11 amount=2"), "gpu.nvlink_errors", gpu(3))["note"]
    assert note.startswith("link 11 recovery grew by 2 in 300 s: ")


def test_a_link_that_was_never_up_is_found_by_the_others(probe):
    assert bad(probe("count=4 linkdown=1")) == [("gpu.nvlink", gpu(1), "nvlink-down", "fail")]


def test_a_link_that_no_gpu_ever_had_up_is_not_missed(probe):
    assert bad(probe("count=1 linkdown=0")) == []


def test_links_of_one_gpu_that_were_faster_in_an_earlier_run_are_slow(probe):
    assert bad(probe("count=1 slowlink=0 all=1")) == []  # for a single GPU the expected number is unknown
    samples = probe("count=1")
    assert bad(samples) == [] and find(samples, "gpu.nvlink_speed", gpu(0))["value"] == 26562e6
    samples = probe("count=1 slowlink=0 all=1")
    assert bad(samples) == [("gpu.nvlink_speed", gpu(0), "nvlink-slow", "warn")]
    assert find(samples, "gpu.nvlink_speed", gpu(0))["value"] == 13281e6


def test_the_slow_link_is_named_with_what_it_should_run_at(probe):
    note = find(probe("count=4 slowlink=2 link=7"), "gpu.nvlink_speed", gpu(2))["note"]
    assert note.startswith("1 of 18 NVLinks run slower than 26.562 GB/s each way") and ": 7, down to 13.281 GB/s" in note


def test_links_to_the_processor_of_a_superchip_are_all_active_and_as_fast_as_they_were(probe):
    assert not [s for s in probe("count=1") if s["check"] == "gpu.c2c"]  # no superchip
    samples = probe("count=1 c2c=1 c2cdown=0 all=1")  # switched off, perhaps
    assert bad(samples) == [] and find(samples, "gpu.c2c", gpu(0))["value"] == 0
    assert bad(probe("count=1 c2c=1 c2cslow=0 all=1")) == []  # of a GPU alone nobody knows what it should have
    samples = probe("count=1 c2c=1")
    assert bad(samples) == [] and find(samples, "gpu.c2c", gpu(0))["value"] == 10
    assert find(samples, "gpu.c2c", gpu(0))["note"] == "10 C2C links to its processor are active at 44.712 GB/s"
    for faults, code, severity, words in (("c2cslow=0 link=7", "c2c-slow", "warn", "1 of 10 C2C links run slower than 44.712 GB/s"),
                                          ("c2cdown=0 link=7", "c2c-down", "fail", "9 C2C links to its processor are active of 10; down: 7"),
                                          ("c2cdown=0 all=1", "c2c-down", "fail", "0 C2C links to its processor are active of 10; down: 0, 1,")):
        samples = probe(f"count=1 c2c=1 {faults}")
        assert bad(samples) == [("gpu.c2c", gpu(0), code, severity)]
        assert find(samples, "gpu.c2c", gpu(0))["note"].startswith(words)


def test_a_superchip_that_has_no_links_any_more_has_lost_them_unless_the_driver_does_not_say(probe):
    probe("count=1 c2c=1")
    assert not [s for s in probe("count=1") if s["check"] == "gpu.c2c"]
    samples = probe("count=1 c2c=1 c2clinks=0")
    assert bad(samples) == [("gpu.c2c", gpu(0), "c2c-down", "fail")]
    assert find(samples, "gpu.c2c", gpu(0))["note"] == "0 C2C links to its processor are active of 10; down: not shown"


def test_memory_at_the_limit_that_the_driver_names_is_too_hot_in_all(probe):
    """If the driver reports no limit, 95 C of other products is used, and a temperature common to all GPUs of a host is normal."""
    assert bad(probe("count=2 allhot=1 old=1")) == []  # an old driver has no such field
    hot = [("gpu.memory_temperature", gpu(i), "memory-hot", "warn") for i in (0, 1)]
    assert bad(probe("count=2 allhot=1 memorylimit=95")) == hot
    assert bad(probe("count=2 allhot=1 memorylimit=96")) == []
    assert [b[0] for b in bad(probe("count=2 allhot=1 warm=1"))] == ["gpu.clocks", "gpu.memory_temperature"]  # this one is throttled


def test_memory_of_a_gpu_alone_is_too_hot_at_what_other_products_bear(probe):
    assert bad(probe("count=1 memoryhot=0")) == [("gpu.memory_temperature", gpu(0), "memory-hot", "warn")]


def test_idle_cards_are_not_judged_and_idle_boards_are(probe):
    """An idle card reduces its link speed; on a baseboard that is a fault, unless all GPUs do it."""
    notes = [s["note"] for s in probe("count=4 idle=1 direct=1") if s["check"] == "gpu.pcie_speed"]
    assert notes == ["PCIe generation 1 of 5, and idle: not judged"] * 4
    note = find(probe("count=4 idle=1 slowbus=1"), "gpu.pcie_speed", gpu(1))["note"]
    assert "generation 1 of 5 though other idle GPUs keep theirs at full speed" in note


def test_an_idle_gpu_alone_on_its_board_is_not_judged(probe):
    assert bad(probe("count=1 idle=1 slowbus=0")) == []


def test_a_gpu_that_left_the_bus_is_lost_until_it_is_back(host, probe):
    probe()
    for boot in (1, 1, 2):
        if boot == 2:
            host.boot(2)
        assert bad(probe("count=4 absent=2", off_the_bus="0000:19:00.0")) == [("gpu.lost", gpu(2), "device-lost", "fatal")]
    assert bad(probe()) == []


def test_a_gpu_on_the_bus_that_the_driver_never_showed_is_found_at_the_first_look(probe, host, run, gpus, top):  # noqa: F811
    samples = probe("count=4 absent=2")
    assert bad(samples) == [("gpu.lost", "pci:0000:19:00.0", "not-shown", "fail")]
    assert "0000:19:00.0 but the driver does not show it (no driver is bound to it)" in find(samples, "gpu.lost", "pci:0000:19:00.0")["note"]
    # One assigned to a virtual machine or another container is not missing.
    driver = host.root / "sys/bus/pci/devices/0000:19:00.0/driver"
    driver.symlink_to("../../../../bus/pci/drivers/vfio-pci")
    samples = probe("count=4 absent=2")
    assert bad(samples) == [] and find(samples, "gpu.lost", "pci:0000:19:00.0")["note"].endswith("bound to the driver vfio-pci")
    driver.unlink()
    for visible, found in (("0,1,3", []), ("all", [("gpu.lost", "pci:0000:19:00.0", "not-shown", "fail")])):
        done = run(PROBE, env={**gpus("count=4 absent=2", real=True), **host.env(top / "policies"), "NVIDIA_VISIBLE_DEVICES": visible})
        assert bad(map(json.loads, done.stdout.splitlines())) == found, visible


# --- drivers that hang


def test_a_stuck_call_names_its_gpu_and_the_others_are_read(probe):
    probe()
    samples = probe("count=4 held=1 dbe=3")
    assert bad(samples) == [("gpu.nvml", gpu(1), "nvml-stuck", "fail"), ("gpu.ecc_errors", gpu(3), "uncorrected", "fail")]
    assert "inventory.nvlinks" not in {s["check"] for s in samples}  # unknown, which is not fewer
    assert bad(probe()) == []


def test_a_stuck_gpu_that_nobody_knows_has_its_address(probe):
    samples = probe("count=2 held=1")
    assert bad(samples) == [("gpu.nvml", "pci:0000:18:00.0", "nvml-stuck", "fail")]
    assert "nvmlDeviceGetUUID took more than 2 s" in find(samples, "gpu.nvml", "pci:0000:18:00.0")["note"]


@pytest.mark.parametrize("settings, subjects", [("count=4 stuck=1", ["host"]), ("count=4 stuck=1 at=nvmlInit_v2", ["host"])])
def test_a_driver_that_never_answers_is_a_finding_within_the_budget(probe, settings, subjects):
    probe()
    assert bad(probe(settings, "--budget", "20s")) == [("gpu.nvml", s, "nvml-stuck", "fail") for s in subjects]


def test_a_driver_that_is_slow_to_answer_is_read_as_far_as_the_time_goes(probe):
    """About 80 calls per GPU, each far below 2 s but in total above the budget: incomplete GPUs are reported, and not bad."""
    samples = probe("count=2 lag=100", "--budget", "4s")
    notes = [s["note"] for s in samples if s["check"] == "gpu.nvml"]
    assert len(notes) == 2 and bad(samples) == []
    for note in notes:
        assert note.startswith("queried only in part: the driver answers slowly, nvml") and note.endswith("when time ran out")


@pytest.mark.parametrize("links", ["", " unbridged=1"])
@pytest.mark.parametrize("state", [0, 1, 2])
def test_a_gpu_of_a_host_where_none_is_part_of_a_fabric_is_not_at_fault(probe, state, links):
    """A single GPU in a virtual machine, or NVLink disabled: it was never meant to be in a fabric."""
    for _ in range(2):
        samples = probe(f"count=1 fabric=0 fabricstate={state}{links}")
        assert bad(samples) == []
    probe("count=1")  # now it is part of one
    expected = [("gpu.fabric", gpu(0), "fabric-not-ready", "fail")] if state else []
    assert bad(probe(f"count=1 fabric=0 fabricstate={state}")) == expected


def test_without_a_driver_it_says_so_at_once(host, run, top):
    done = run(PROBE, env=host.env(top / "policies"))
    assert (done.returncode, done.stdout) == (77, "") and "no GPU driver: cannot load libnvidia-ml.so.1" in done.stderr


@pytest.mark.parametrize("settings, status, words", [
    ("nvml=9", 77, "no GPU driver: NVML: Driver Not Loaded"), ("nvml=18", 1, "NVML does not start: "),
    ("count=0", 77, "the GPU driver shows no GPU")])
def test_a_driver_that_does_not_start_is_one_sentence(probe, settings, status, words):
    assert probe(settings, expect=status) == []
    assert words in probe.words and probe.words.count("\n") == 1


# --- Xids


def test_an_xid_is_told_of_its_gpu_by_the_table(host, probe):
    probe()
    host.say(XID.format(0x18, 79), XID.format(0x19, 63), XID.format(0x19, 63), XID.format(0x1a, 31))
    samples = probe()
    assert bad(samples) == [("gpu.xid", gpu(1), "xid:79", "fatal"), ("gpu.xid", gpu(2), "xid:63", "warn"),
                            ("gpu.xid", gpu(3), "xid:31", "info")]
    note = find(samples, "gpu.xid", gpu(2))["note"]
    assert find(samples, "gpu.xid", gpu(2))["value"] == 2 and "NVIDIA: ignore" in note and "Azure: drain" in note
    # A fatal one remains until the next boot.
    assert bad(probe()) == [("gpu.xid", gpu(1), "xid:79", "fatal")]
    host.boot(2)
    assert bad(probe()) == []


def test_what_an_xid_is_worth_is_a_matter_of_the_table(host, probe, run, gpus, top, tmp_path):  # noqa: F811
    for name in ("kernel-log.yaml", "xid.yaml"):
        text = (top / "policies" / name).read_text()
        (tmp_path / name).write_text(text.replace("{xid: 92, severity: warn", "{xid: 92, severity: fail"))
    host.say(XID.format(0x17, 92))
    done = run(PROBE, env={**gpus("count=1", real=True), **host.env(tmp_path)})
    assert bad(map(json.loads, done.stdout.splitlines())) == [("gpu.xid", gpu(0), "xid:92", "fail")]


def test_an_xid_that_comes_as_an_event_is_told_once(host, probe):
    assert bad(probe("count=4 event=2 xid=95")) == [("gpu.xid", gpu(2), "xid:95", "fatal")]
    host.boot(2)
    host.say(XID.format(0x19, 48))
    samples = probe("count=4 event=2 xid=48")
    assert bad(samples) == [("gpu.xid", gpu(2), "xid:48", "warn")] and find(samples, "gpu.xid", gpu(2))["value"] == 1


def test_a_line_that_the_kernel_writes_after_its_event_was_told_is_no_second_xid(host, probe):
    assert bad(probe("count=4 event=2 xid=48")) == [("gpu.xid", gpu(2), "xid:48", "warn")]
    host.say(XID.format(0x19, 48))
    assert bad(probe()) == []
    host.say(XID.format(0x19, 48))  # another GPU
    assert bad(probe()) == [("gpu.xid", gpu(2), "xid:48", "warn")]


def test_user_space_cannot_speak_for_the_kernel(host, probe):
    host.say(XID.format(0x17, 79), facility=1)
    assert bad(probe()) == []


# --- files


@pytest.mark.parametrize("state", ["{}", "[1]", '{"v":1,"known":7,"gpus":[],"counters":{"x":{}},"xids":{"line":3}}',
                                   '{"known":[{"id":3}],"gpus":{"gpu:GPU-x":7},"xids":[{"line":9},4],"kmsg_next":-5}'])
def test_a_state_of_nonsense_is_a_first_run(probe, tmp_path, state):
    probe()
    (tmp_path / "state/probe/gpu-state.json").write_text(state)
    assert bad(probe()) == []


def test_the_page_has_every_check_and_counter(run, top):
    page = (top / "docs/gpu-state.md").read_text()
    table = (top / "probes/gpu_state/gpu_counter_table.c").read_text()
    names = re.findall(r'\b(?:ECC|THROTTLE|PCIE|LINK)\("([a-z-]+)"', table)
    checks = [c["check"] for c in json.loads(run(PROBE, "--describe").stdout)["checks"]]
    assert len(names) > 25 and [n for n in names + checks if f"`{n}`" not in page] == []
