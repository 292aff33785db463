/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/host_state/host_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/xalloc.h"
#include "probes/host_state/sysfs.h"

enum { NOTE_SIZE = 1024 };

const struct probe_check host_checks[] = {
	{ "host.cpu_frequency", "1", BETTER_NONE,
	  "A frequency limit below what the processor can do." },
	{ "host.cpu_governor", "1", BETTER_NONE, "Cores under different frequency governors." },
	{ "host.cpu_throttle", "1", BETTER_NONE, "A package that throttles because it is hot." },
	{ "host.cpu_offline", "1", BETTER_NONE, "CPUs that are present and not used." },
	{ "host.microcode", "1", BETTER_NONE, "Cores with different microcode." },
	{ "host.smt", "1", BETTER_NONE, "Whether sibling threads are on." },
	{ "host.memory_ue", "1", BETTER_NONE, "Uncorrectable errors of a DIMM or controller." },
	{ "host.memory_ce", "1", BETTER_NONE, "A DIMM that corrects errors all the time." },
	{ "host.edac", "1", BETTER_NONE, "No driver that counts memory errors." },
	{ "host.machinecheck", "1", BETTER_NONE, "No machine check reporting." },
	{ "host.pcie_link", "1", BETTER_HIGHER,
	  "A PCIe link trained narrower or slower than both ends can." },
	{ "host.pcie_aer", "1", BETTER_NONE, "A PCIe link with errors." },
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

static const struct probe_check *find_check(const char *name)
{
	size_t i;

	for (i = 0; i < host_n_checks - 1 && !streq(host_checks[i].name, name); i++)
		;
	return &host_checks[i];
}

struct sample host_sample(const char *check, const char *subject, double value)
{
	struct sample s = sample_init();

	s.check = xstrdup(check);
	s.subject = xstrdup(subject);
	s.value = value;
	return s;
}

int host_emit(struct host *h, struct sample *s, enum finding finding, const char *note_fmt, ...)
{
	static const int severities[] = {
		[FINDING_GOOD] = SEVERITY_FAIL, /* does not count, left out */
		[FINDING_NOTE] = SEVERITY_FAIL,	  [FINDING_INFO] = SEVERITY_INFO,
		[FINDING_WARN] = SEVERITY_WARN,	  [FINDING_FAIL] = SEVERITY_FAIL,
		[FINDING_FATAL] = SEVERITY_FATAL,
	};
	const struct probe_check *check = find_check(s->check);
	char note[NOTE_SIZE];
	va_list args;

	va_start(args, note_fmt);
	(void)vsnprintf(note, sizeof(note), note_fmt, args);
	va_end(args);
	free(s->note);
	s->note = xstrdup(text_clean(note));
	s->unit = s->unit ? s->unit : xstrdup(check->unit);
	s->better = check->better;
	if (s->state != SAMPLE_MEASURED || finding == FINDING_NOTE)
		s->ok = TRI_UNKNOWN;
	else
		s->ok = finding == FINDING_GOOD ? TRI_YES : TRI_NO;
	s->severity = severities[finding];
	return probe_emit(h->probe, s);
}
