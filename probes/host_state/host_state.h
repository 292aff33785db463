/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-probe-host-state: what the host says about itself, read and never
 * loaded. One file per area; each area reads only below the sysroot, prints
 * its samples and leaves in `next` what the following run compares with.
 *
 * Errors are counted by the kernel since boot; an area reports their growth
 * since the last run, or since boot when there was none in this boot.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "probes/harness/counter.h"
#include "probes/harness/finding.h"
#include "probes/harness/probe.h"

struct err;
struct kernel_rules;
struct pci_tree;

/* All checks of the probe, with their units. */
extern const struct probe_check host_checks[];
extern const size_t host_n_checks;

struct host {
	struct probe *probe;
	const json_t *past;	  /* kept by the last run, of any boot; {} at the first */
	json_t *next;		  /* what this run keeps */
	bool same_boot;		  /* `past` is of this boot */
	double window_s;	  /* since the last run, or since boot; NAN when not known */
	struct counters counters; /* of this boot */
	const struct pci_tree *pci;
	const struct kernel_rules *rules;
};

/*
 * Print one sample: unit 1, `better` as the probe's table of checks says, the
 * rest as `s` holds it. `s` is left as by sample_init(). The errno of
 * probe_emit().
 */
int host_emit(struct host *h, struct sample *s, enum finding finding, const char *note_fmt, ...)
	PRINTF(4, 5);

/* A sample of `check` about `subject` with `value` (NAN: null). */
struct sample host_sample(const char *check, const char *subject, double value);

/* The areas. 0, or a negative errno when samples cannot be printed any more. */
int host_cpu(struct host *h, struct err *err);
int host_memory(struct host *h, struct err *err);
int host_pcie(struct host *h, struct err *err);
int host_iommu(struct host *h, struct err *err);
int host_inventory(struct host *h, struct err *err);
int host_kernel_log(struct host *h, struct err *err);
