/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/link_words.h"

#include "lib/base/macro.h"
#include "lib/base/xalloc.h"
#include "lib/judge/words.h"
#include "lib/topology/topology.h"

enum { LINK_TEXT_MAX = 160 };

enum kind { KIND_PCIE, KIND_ROOT, KIND_BETWEEN, KIND_MEMORY, KIND_NVLINK, KIND_GPUS, KIND_OTHER };

/* The first match counts. `before` and `after` go around the name of the lower end. */
static const struct row {
	const char *lower, *upper;
	enum kind kind;
	const char *before, *after;
} rows[] = {
	{ "gpu:", "nvswitch", KIND_NVLINK, "NVLinks of GPU ", "" },
	{ "gpu:", "gpu:", KIND_GPUS, "path between GPUs ", "" },
	{ "gpu:", "", KIND_PCIE, "GPU ", "'s PCIe link" },
	{ "rnic:", "", KIND_PCIE, "NIC ", "'s PCIe link" },
	{ "switch:", "", KIND_PCIE, "PCIe switch ", " uplink" },
	{ "root:", "numa:", KIND_ROOT, "root port ", "" },
	{ "numa:", "numa:", KIND_MEMORY, "memory of NUMA node ", "" },
};

/* The upper end of an id, or NULL if it has none. */
static const char *upper_of(const char *id)
{
	const char *at = strchr(id, '^');

	return at ? at + 1 : NULL;
}

static const struct row *row_of(const char *id)
{
	const char *upper = upper_of(id);
	size_t i;

	for (i = 0; upper && i < ARRAY_SIZE(rows); i++) {
		if (starts_with(id, rows[i].lower) && starts_with(upper, rows[i].upper))
			return &rows[i];
	}
	return NULL;
}

static bool is_loop(const char *id)
{
	const char *upper = upper_of(id);
	size_t n = (size_t)(upper - id) - 1;

	return strlen(upper) == n && strncmp(id, upper, n) == 0;
}

static enum kind kind_of_link(const char *id)
{
	const struct row *row = row_of(id);

	if (!row)
		return KIND_OTHER;
	return row->kind == KIND_MEMORY && !is_loop(id) ? KIND_BETWEEN : row->kind;
}

char *link_name(const char *id)
{
	CLEANUP(freep) char *clean = words_clean(id, LINK_TEXT_MAX);
	const struct row *row = row_of(clean);
	const char *upper = upper_of(clean), *own;
	int length;

	if (!row)
		return xstrdup(clean);
	own = clean + strlen(row->lower);
	length = (int)(upper - own) - 1;
	switch (kind_of_link(clean)) {
	case KIND_BETWEEN:
		return xasprintf("interconnect of NUMA nodes %.*s and %s", length, own,
				 upper + strlen(row->upper));
	case KIND_GPUS:
		return xasprintf("path between GPUs %.*s and %s", length, own,
				 upper + strlen(row->upper));
	case KIND_ROOT:
		return xasprintf("root port %.*s to NUMA node %s", length, own,
				 upper + strlen(row->upper));
	default:
		return xasprintf("%s%.*s%s", row->before, length, own, row->after);
	}
}

/*
 * Half the lanes, or one generation down, is half the bytes. A cell uses less than the full link,
 * so it keeps slightly more than half: hence the wide bands.
 */
static const struct {
	enum kind kind;
	double from, to;
	const char *words;
} hints[] = {
	{ KIND_PCIE, 0.85, 0.95,
	  "slightly low: check replays and corrected AER errors (signal integrity)" },
	{ KIND_PCIE, 0.45, 0.60, "about half: half of its lanes, or one PCIe generation down" },
	{ KIND_PCIE, 0.20, 0.30, "about a quarter: x4 of x16, or two PCIe generations down" },
	{ KIND_PCIE, 0.11, 0.15, "about an eighth: x2 of x16, or three PCIe generations down" },
	{ KIND_PCIE, 0, 0.10,
	  "nearly nothing: a copy through the CPU, the IOMMU, or no GPUDirect RDMA" },
	{ KIND_NVLINK, 0, 0.97,
	  "check the state and errors of its NVLinks (gpu.nvlink), and the switches" },
	{ KIND_GPUS, 0, 0.97, "check the state and errors of the NVLinks of both (gpu.nvlink)" },
	{ KIND_BETWEEN, 0, 0.95,
	  "check the width and speed of the socket links (UPI, xGMI) and the BIOS settings" },
	{ KIND_MEMORY, 0, 0.95, "check for missing or slow DIMMs, and the BIOS's NUMA settings" },
};

const char *link_hint(const char *id, double ratio)
{
	enum kind kind = kind_of_link(id);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(hints); i++) {
		if (hints[i].kind == kind && ratio >= hints[i].from && ratio < hints[i].to)
			return hints[i].words;
	}
	return "";
}

char *link_training(const struct topo_link *link)
{
	const char *idle = "";

	if (!link || !(link->gts > 0) || !link->width)
		return NULL;
	if (!(link->max_gts > 0) || !link->max_width)
		return xasprintf("x%llu at %g GT/s", (unsigned long long)link->width, link->gts);
	if (starts_with(link->id ? link->id : "", "gpu:") && link->width == link->max_width &&
	    link->gts < link->max_gts)
		idle = " (a GPU slows its link while idle)";
	return xasprintf("x%llu at %g GT/s, of x%llu at %g GT/s%s", (unsigned long long)link->width,
			 link->gts, (unsigned long long)link->max_width, link->max_gts, idle);
}
