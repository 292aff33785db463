/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-probe-rnic-state: what the RNICs of this host say about themselves,
 * read and never loaded. One file per area; each reads sysfs below the
 * sysroot, and what the kernel tells only in other ways through `nic`
 * (nic.h), so that tests hand in both.
 *
 * Counters say something only by their growth: the first run of a boot prints
 * none, and what it read is kept for the next.
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
	const json_t *past;	  /* kept by the last run, of any boot; {} at the first */
	json_t *next;		  /* what this run keeps */
	bool same_boot;		  /* `past` is of this boot */
	double uptime_s;	  /* NAN when not known */
	uint64_t deadline_us;	  /* monotonic: what is slow begins nothing after it */
	double window_s;	  /* since the last run; NAN when not known or not of this boot */
	struct counters counters; /* of this boot */
	const struct ports *ports;
	const struct pci_slots *slots; /* or NULL */
	const char *exclude;	       /* devices that are left alone, or NULL */
	const struct nic *nic;
	/* Takes a sample, leaves it as by sample_init(). 0, or the errno of the reader's end. */
	int (*emit)(void *context, struct sample *s);
	void *emit_context;
};

/* Print one sample: unit and `better` by the table of checks, the rest as `s` holds it. */
int rnic_emit(struct rnic_state *state, struct sample *s, enum finding finding,
	      const char *note_fmt, ...) PRINTF(4, 5);

/* The areas. 0, or a negative errno when samples cannot be printed any more. */
int rnic_links(struct rnic_state *state);     /* lost, down, slower than they can be */
int rnic_counters(struct rnic_state *state);  /* what grew since the last run */
int rnic_settings(struct rnic_state *state);  /* how the ports are set up */
int rnic_neighbors(struct rnic_state *state); /* what they are plugged into */
int rnic_optics(struct rnic_state *state);    /* modules and light */
