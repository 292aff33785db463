/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-probe-gpu-state: what the driver reports about the GPUs of this host, without putting load
 * on them. gpu_read.h queries NVML; each area below turns the answers into samples, compares them
 * with `past`, which the last run saved, and puts what the next run needs into `next`. Pure except
 * for sysfs and the kernel log.
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
	const json_t *past;	  /* saved by the last run, in any boot; {} at first */
	json_t *next;		  /* to be saved by this run */
	bool same_boot;		  /* `past` is from this boot */
	double window_s;	  /* since the last run in this boot; NAN if unknown */
	struct counters counters; /* in this boot */
	struct gpus *gpus;
	const struct kernel_rules *rules;
	const struct pci_slots *slots; /* may be NULL */
	/*
	 * Takes ownership of the contents of `s`, leaving it as by sample_init(). Returns 0, or the
	 * errno of the closed output.
	 */
	int (*emit)(void *context, struct sample *s);
	void *emit_context;
};

/* Emit a sample; unit and `better` come from the table of checks, the rest from `s`. */
int gpu_emit(struct gpu_state *state, struct sample *s, enum finding finding, const char *note_fmt,
	     ...) PRINTF(4, 5);

/* The same for a GPU, with `value`, `code` (NULL: none) and `setting` (NULL: none). */
struct gpu_words {
	const char *check;
	double value;
	const char *code, *setting;
};
int gpu_tell(struct gpu_state *state, const char *subject, const struct gpu_words *words,
	     enum finding finding, const char *note_fmt, ...) PRINTF(5, 6);

/* Report GPUs on the PCI bus that the driver never showed, except those in `lost`. */
int gpu_bus(struct gpu_state *state, const struct known *lost, size_t n_lost);

/* Was everything read? */
bool gpu_is_whole(const struct gpu_reading *gpu);

/* Speed of its fastest NVLink, in MB/s each way; 0 if unknown. */
unsigned gpu_state_link_speed(const struct gpu_reading *gpu);

/*
 * The highest `of` any GPU of its model now, or of this GPU in an earlier run, which kept it under
 * `key`; a kept value above `max` counts as `max`.
 */
unsigned gpu_state_usual(const struct gpu_state *state, const struct gpu_reading *gpu,
			 const char *key, unsigned max,
			 unsigned (*of)(const struct gpu_reading *gpu));

/* Its active C2C links, and the MB/s of the fastest; 0 if unknown. */
unsigned gpu_state_c2c_links(const struct gpu_reading *gpu);
unsigned gpu_state_c2c_speed(const struct gpu_reading *gpu);

/*
 * The areas. They return 0, or a negative errno if samples cannot be written any more.
 * gpu_presence() comes first: it finds names for GPUs that could not be identified.
 */
int gpu_presence(struct gpu_state *state); /* lost, stuck */
int gpu_counters(struct gpu_state *state); /* growth since the last run */
int gpu_facts(struct gpu_state *state);	   /* memory, bus, power, modes, processes */
int gpu_links(struct gpu_state *state);	   /* NVLink and its fabric */
int gpu_xids(struct gpu_state *state);	   /* Xids since the last run */
