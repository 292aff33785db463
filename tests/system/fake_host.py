# SPDX-License-Identifier: Apache-2.0
"""A fake host: /sys, /proc and a kernel log under one directory, healthy until a test breaks it."""
import os
import struct
from pathlib import Path

GPU, NIC, BRIDGE, NVME, VGA = "0x030200", "0x020700", "0x060400", "0x010802", "0x030000"
NVIDIA, MELLANOX, OTHER = "0x10de", "0x15b3", "0x8086"
DOWNSTREAM, ACS, ATS = 6, 0x000D, 0x000F


class FakeHost:
    def __init__(self, root: Path):
        self.root = root
        self.kmsg = root / "kmsg"
        self.log = []
        self.boot(1)

    def write(self, path, value):
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(value, bytes):
            file.write_bytes(value)
        else:
            file.write_text(f"{value}\n")

    def env(self, policies):
        return {"ASSAY_SYSROOT": str(self.root), "ASSAY_KMSG": str(self.kmsg), "ASSAY_POLICY_DIR": str(policies)}

    def boot(self, number, uptime_s=1000.0):
        """A new boot id and an empty log; the test has to reset counters."""
        self.write("/proc/sys/kernel/random/boot_id", f"00000000-0000-0000-0000-{number:012d}")
        self.log = []
        self.uptime(uptime_s)
        self.flush()

    def uptime(self, seconds):
        self.write("/proc/uptime", f"{seconds} {seconds}")

    # --- kernel log

    def say(self, *lines, facility=0):
        for line in lines:
            self.log.append((facility << 3 | 4, len(self.log), line))
        self.flush()

    def flush(self, oldest=0):
        """Write the log without the records before `oldest`, which the ring has overwritten."""
        records = "".join(f"{prio},{seq},{seq * 1000},-;{text}\n" for prio, seq, text in self.log[oldest:])
        self.kmsg.write_text(records, encoding="utf-8", errors="surrogateescape")

    # --- processor and memory

    def cpus(self, n=4, microcode="0xd0003a5", governor="performance"):
        base = "/sys/devices/system/cpu"
        for name in ("online", "possible", "present"):
            self.write(f"{base}/{name}", f"0-{n - 1}")
        self.write(f"{base}/smt/active", 1)
        self.write(f"{base}/smt/control", "on")
        self.write("/sys/devices/system/node/online", "0-1")
        self.write("/proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB")
        for i in range(n):
            self.throttle(i, 0, 0)
            self.write(f"{base}/cpu{i}/topology/physical_package_id", i * 2 // n)
            self.write(f"{base}/cpu{i}/microcode/version", microcode)
            for name, value in (("cpuinfo_max_freq", 3500000), ("scaling_max_freq", 3500000),
                                ("scaling_cur_freq", 800000), ("scaling_governor", governor)):
                self.write(f"{base}/cpufreq/policy{i}/{name}", value)
        return self

    def throttle(self, cpu, core, package):
        base = f"/sys/devices/system/cpu/cpu{cpu}/thermal_throttle"
        self.write(f"{base}/core_throttle_count", core)
        self.write(f"{base}/package_throttle_count", package)

    def edac(self, mc=0, ce=0, ue=0, dimms=None):
        base = f"/sys/devices/system/edac/mc/mc{mc}"
        self.write(f"{base}/ce_count", ce)
        self.write(f"{base}/ue_count", ue)
        for i, (dimm_ce, dimm_ue) in enumerate(dimms or []):
            self.write(f"{base}/dimm{i}/dimm_ce_count", dimm_ce)
            self.write(f"{base}/dimm{i}/dimm_ue_count", dimm_ue)
            self.write(f"{base}/dimm{i}/dimm_label", f"CPU0_A{i}")

    def dmi(self, sizes_gib):
        """One memory device per slot; 0 is an empty slot."""
        table = b""
        for i, gib in enumerate(sizes_gib):
            formatted = bytearray(0x28)
            formatted[0:4] = bytes([17, 0x28, i, 0])
            struct.pack_into("<H", formatted, 0x0C, min(gib * 1024, 0x7FFF))  # 0x7fff: use the extended size
            struct.pack_into("<I", formatted, 0x1C, gib * 1024)
            formatted[0x10] = 1
            table += bytes(formatted) + f"DIMM_A{i}".encode() + b"\0\0"
        self.write("/sys/firmware/dmi/tables/DMI", table + bytes([127, 4, 0, 0, 0, 0]))

    # --- PCI

    def pci(self, *chain, cls=GPU, vendor=NVIDIA, device="0x2330", gts=32.0, width=16, max_gts=None, max_width=None):
        """A device below the bridges of `chain`, whose last item is the device's own address."""
        path = self.root / "sys/devices/pci0000:15" / Path(*chain)
        path.mkdir(parents=True, exist_ok=True)
        links = self.root / "sys/bus/pci/devices"
        links.mkdir(parents=True, exist_ok=True)
        link = links / chain[-1]
        if not link.is_symlink():
            link.symlink_to(os.path.relpath(path, links))
        for name, value in (("class", cls), ("vendor", vendor), ("device", device),
                            ("current_link_speed", f"{gts} GT/s PCIe"), ("current_link_width", width),
                            ("max_link_speed", f"{max_gts or gts} GT/s PCIe"), ("max_link_width", max_width or width)):
            (path / name).write_text(f"{value}\n")
        return path

    def bridge(self, *chain, **kwargs):
        return self.pci(*chain, cls=BRIDGE, vendor=OTHER, device="0x352a", **kwargs)

    def remove(self, address):
        """Removes the device, as the kernel does."""
        (self.root / "sys/bus/pci/devices" / address).unlink()

    def aer(self, path, correctable=0, nonfatal=0, fatal=0):
        for name, total, value in (("correctable", "COR", correctable), ("nonfatal", "NONFATAL", nonfatal),
                                   ("fatal", "FATAL", fatal)):
            (path / f"aer_dev_{name}").write_text(f"RxErr 0\nBadTLP {value}\nTOTAL_ERR_{total} {value}\n")

    def acs(self, path, control, size=4096):
        """Configuration space of a downstream switch port as root can read it (other users only 64 bytes)."""
        config = bytearray(4096)
        struct.pack_into("<HH", config, 0, 0x8086, 0x352A)
        struct.pack_into("<H", config, 0x06, 0x10)
        config[0x34] = 0x40
        struct.pack_into("<BBH", config, 0x40, 0x10, 0, DOWNSTREAM << 4 | 2)
        struct.pack_into("<HHHH", config, 0x100, ACS, 1, 0x5F, control)
        (path / "config").write_bytes(bytes(config[:size]))

    def express(self, path, payload=256, request=512, ats=None, size=4096):
        """Configuration space of a GPU or NIC: MaxPayload, MaxReadReq, ATS (None: not supported)."""
        config = bytearray(4096)
        struct.pack_into("<H", config, 0x06, 0x10)
        config[0x34] = 0x40
        struct.pack_into("<BBH", config, 0x40, 0x10, 0, 2)
        struct.pack_into("<H", config, 0x48, (payload // 128).bit_length() - 1 << 5 | (request // 128).bit_length() - 1 << 12)
        if ats is not None:
            struct.pack_into("<HHHH", config, 0x100, ATS, 1, 0, 0x8000 if ats else 0)
        (path / "config").write_bytes(bytes(config[:size]))

    def idle_states(self, n=4, off=(), driver="intel_idle"):
        base = "/sys/devices/system/cpu"
        self.write(f"{base}/cpuidle/current_driver", driver)
        self.write(f"{base}/cpuidle/current_governor", "menu")
        for cpu in range(n):
            for i, (name, latency) in enumerate((("POLL", 0), ("C1", 1), ("C1E", 2), ("C6", 190))):
                for file, value in (("name", name), ("latency", latency), ("disable", int(name in off))):
                    self.write(f"{base}/cpu{cpu}/cpuidle/state{i}/{file}", value)

    def process(self, pid, command):
        self.write(f"/proc/{pid}/comm", command[:15])

    def program(self, path, output, status=0):
        """A program that prints this text."""
        self.write(path, f"#!/bin/sh\necho '{output}'\nexit {status}")
        (self.root / path.lstrip("/")).chmod(0o755)

    def iommu_group(self, path, number, kind):
        self.write(f"/sys/kernel/iommu_groups/{number}/type", kind)
        group = self.root / f"sys/kernel/iommu_groups/{number}"
        (path / "iommu_group").symlink_to(os.path.relpath(group, path))

    def port(self, device, port, state):
        self.write(f"/sys/class/infiniband/{device}/ports/{port}/state", state)
