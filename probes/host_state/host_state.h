/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-probe-host-state: what the host reports about itself, without putting load on it. One file
 * per area. Each area only reads below the sysroot, emits its samples, and puts what the next run
 * compares with into `next`.
 *
 * The kernel counts errors since boot. An area reports their growth since the last run, or since
 * boot if this is the first run in this boot.
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
	const json_t *past;	  /* saved by the last run, in any boot; {} at first */
	json_t *next;		  /* to be saved by this run */
	bool same_boot;		  /* `past` is from this boot */
	double window_s;	  /* since the last run, or since boot; NAN if unknown */
	struct counters counters; /* in this boot */
	const struct pci_tree *pci;
	const struct kernel_rules *rules;
};

/*
 * Emit a sample: unit 1, `better` from the table of checks, the rest from `s`, which is left as by
 * sample_init(). Errors of probe_emit().
 */
int host_emit(struct host *h, struct sample *s, enum finding finding, const char *note_fmt, ...)
	PRINTF(4, 5);

/* A sample of `check` about `subject` with `value` (NAN: null). */
struct sample host_sample(const char *check, const char *subject, double value);

/* The areas. They return 0, or a negative errno if samples cannot be written any more. */
int host_cpu(struct host *h, struct err *err);
int host_memory(struct host *h, struct err *err);
int host_pcie(struct host *h, struct err *err);
int host_iommu(struct host *h, struct err *err);
int host_inventory(struct host *h, struct err *err);
int host_kernel_log(struct host *h, struct err *err);
