/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/host_state/host_state.h"

#include <stdarg.h>

const struct probe_check host_checks[] = {
	{ "host.cpu_frequency", "1", BETTER_NONE,
	  "A frequency limit below the processor's maximum." },
	{ "host.cpu_governor", "1", BETTER_NONE, "Cores with different frequency governors." },
	{ "host.cpu_throttle", "1", BETTER_NONE, "A package that throttles because it is hot." },
	{ "host.cpu_offline", "1", BETTER_NONE, "CPUs that are present but offline." },
	{ "host.microcode", "1", BETTER_NONE, "Cores with different microcode." },
	{ "host.cpu_idle", "1", BETTER_NONE, "Deep sleep states of idle cores (us to wake up)." },
	{ "host.numa_balancing", "1", BETTER_NONE,
	  "Pages that the kernel moves between NUMA nodes." },
	{ "host.smt", "1", BETTER_NONE, "Whether SMT is on." },
	{ "host.memory_ue", "1", BETTER_NONE, "Uncorrectable errors of a DIMM or controller." },
	{ "host.memory_ce", "1", BETTER_NONE, "A DIMM that keeps correcting errors." },
	{ "host.edac", "1", BETTER_NONE, "No driver that counts memory errors." },
	{ "host.machinecheck", "1", BETTER_NONE, "No machine check reporting." },
	{ "host.pcie_link", "1", BETTER_HIGHER,
	  "A PCIe link trained narrower or slower than both ends support." },
	{ "host.pcie_aer", "1", BETTER_NONE, "A PCIe link with errors." },
	{ "host.pcie_payload", "1", BETTER_NONE, "GPUs or NICs with a different PCIe packet size." },
	{ "host.pcie_read_request", "1", BETTER_NONE,
	  "GPUs or NICs with a different PCIe read request size." },
	{ "host.ats", "1", BETTER_NONE, "GPUs or NICs of which only some translate addresses." },
	{ "host.fabric_manager", "1", BETTER_NONE,
	  "A fabric manager whose version differs from the driver's." },
	{ "host.nvlsm", "1", BETTER_NONE, "Whether the NVLink subnet manager runs." },
	{ "host.imex", "1", BETTER_NONE, "Whether IMEX runs." },
	{ "host.iommu", "1", BETTER_NONE, "DMA of GPUs or NICs translated by the IOMMU." },
	{ "host.acs", "1", BETTER_NONE, "Peer-to-peer traffic redirected through the root port." },
	{ "host.kernel_log", "1", BETTER_NONE,
	  "A fault the kernel logged (Xid, PCIe, memory, NIC, disk)." },
	{ "inventory.cpus", "1", BETTER_HIGHER, "CPUs missing." },
	{ "inventory.numa_nodes", "1", BETTER_HIGHER, "A NUMA node missing." },
	{ "inventory.dimm_bytes", "1", BETTER_HIGHER, "A DIMM missing." },
	{ "inventory.gpus", "1", BETTER_HIGHER, "A GPU missing." },
	{ "inventory.nics", "1", BETTER_HIGHER, "A NIC missing." },
	{ "inventory.ports_active", "1", BETTER_HIGHER, "An RDMA port that is not active." },
};
const size_t host_n_checks = ARRAY_SIZE(host_checks);

struct sample host_sample(const char *check, const char *subject, double value)
{
	return finding_sample(check, subject, value);
}

int host_emit(struct host *h, struct sample *s, enum finding finding, const char *note_fmt, ...)
{
	va_list args;

	va_start(args, note_fmt);
	finding_fill(h->probe->desc, s, finding, note_fmt, args);
	va_end(args);
	return probe_emit(h->probe, s);
}
