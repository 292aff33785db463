/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-probe-gpu-state: what the driver says of the GPUs of this host, read
 * and never loaded. gpu_read.h asks NVML; each area here turns what it said
 * into samples, compares with what the last run kept in `past`, and leaves in
 * `next` what the following one needs. Pure but for sysfs and the kernel log.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "probes/gpu_state/gpu_read.h"
#include "probes/harness/counter.h"
#include "probes/harness/finding.h"

struct kernel_rules;
struct known;
struct pci_slots;

/* All checks of the probe, with their units. */
extern const struct probe_check gpu_checks[];
extern const size_t gpu_n_checks;

struct gpu_state {
	const struct probe_desc *desc;
	const json_t *past;	  /* kept by the last run, of any boot; {} at the first */
	json_t *next;		  /* what this run keeps */
	bool same_boot;		  /* `past` is of this boot */
	double window_s;	  /* since the last run of this boot; NAN when not known */
	struct counters counters; /* of this boot */
	struct gpus *gpus;
	const struct kernel_rules *rules;
	const struct pci_slots *slots; /* or NULL */
	/* Takes a sample, leaves it as by sample_init(). 0, or the errno of the reader's end. */
	int (*emit)(void *context, struct sample *s);
	void *emit_context;
};

/* Print one sample: unit and `better` by the table of checks, the rest as `s` holds it. */
int gpu_emit(struct gpu_state *state, struct sample *s, enum finding finding, const char *note_fmt,
	     ...) PRINTF(4, 5);

/* The same of a GPU, with `value`, `code` (NULL: none) and `setting` (NULL: none). */
struct gpu_words {
	const char *check;
	double value;
	const char *code, *setting;
};
int gpu_tell(struct gpu_state *state, const char *subject, const struct gpu_words *words,
	     enum finding finding, const char *note_fmt, ...) PRINTF(5, 6);

/* GPUs on the PCI bus that the driver never showed; those of `lost` are told of already. */
int gpu_bus(struct gpu_state *state, const struct known *lost, size_t n_lost);

/* Was everything of it read? */
bool gpu_is_whole(const struct gpu_reading *gpu);

/* The fastest of its NVLinks, MB/s each way; 0 when none is known. */
unsigned gpu_state_link_speed(const struct gpu_reading *gpu);

/* Of its C2C links: how many are active, and MB/s of the fastest; 0 when none is known. */
unsigned gpu_state_c2c_links(const struct gpu_reading *gpu);
unsigned gpu_state_c2c_speed(const struct gpu_reading *gpu);

/*
 * The areas. 0, or a negative errno when samples cannot be printed any more.
 * gpu_presence() comes first: it names the GPUs that could not say who they are.
 */
int gpu_presence(struct gpu_state *state); /* lost, stuck */
int gpu_counters(struct gpu_state *state); /* what grew since the last run */
int gpu_facts(struct gpu_state *state);	   /* memory, bus, power, modes, users */
int gpu_links(struct gpu_state *state);	   /* NVLink and its fabric */
int gpu_xids(struct gpu_state *state);	   /* Xids since the last run */
