/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-probe-rnic-state: what the RNICs of this host report about themselves, without putting load
 * on them. One file per area. Each reads sysfs below the sysroot, and the rest from the kernel
 * through `nic` (nic.h), so that tests can provide both.
 *
 * Counters only matter by their growth: the first run in a boot emits none, and saves what it read
 * for the next.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/sys/rnic_ports.h"
#include "probes/harness/counter.h"
#include "probes/harness/finding.h"

struct err;
struct nic;
struct pci_slots;

/* All checks of the probe, with their units. */
extern const struct probe_check rnic_checks[];
extern const size_t rnic_n_checks;

struct rnic_state {
	const struct probe_desc *desc;
	const json_t *past;	  /* saved by the last run, in any boot; {} at first */
	json_t *next;		  /* to be saved by this run */
	bool same_boot;		  /* `past` is from this boot */
	double uptime_s;	  /* NAN if unknown */
	uint64_t deadline_us;	  /* monotonic: nothing slow is started after it */
	double window_s;	  /* since the last run; NAN if unknown or not in this boot */
	struct counters counters; /* in this boot */
	const struct ports *ports;
	const struct pci_slots *slots; /* may be NULL */
	const char *exclude;	       /* devices to ignore, or NULL */
	const struct nic *nic;
	/*
	 * Takes ownership of the contents of `s`, leaving it as by sample_init(). Returns 0, or the
	 * errno of the closed output.
	 */
	int (*emit)(void *context, struct sample *s);
	void *emit_context;
};

/* Emit a sample; unit and `better` come from the table of checks, the rest from `s`. */
int rnic_emit(struct rnic_state *state, struct sample *s, enum finding finding,
	      const char *note_fmt, ...) PRINTF(4, 5);

/* The areas. They return 0, or a negative errno if samples cannot be written any more. */
int rnic_links(struct rnic_state *state);     /* lost, down, slower than possible */
int rnic_counters(struct rnic_state *state);  /* growth since the last run */
int rnic_settings(struct rnic_state *state);  /* configuration of the ports */
int rnic_neighbors(struct rnic_state *state); /* switch ports they are connected to */
int rnic_optics(struct rnic_state *state);    /* modules and optical power */
