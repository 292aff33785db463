/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings of the jobs on this host (docs/rings.md): what the NCCL plug-in in their processes
 * records.
 *
 *	ring_socket -> whose is it? (process_map) -> room? (ring_rules) -> ring_memory -> held here
 *
 * A ring is held until `rings.hold` after its process has ended, so that its last records can be
 * read. It is mapped, its descriptor is not kept, and pages are given back right after reading.
 * Each ring has a control page that says what to record: nothing, RINGS_MASK by the configured
 * schedule, or what was requested. Counts are in $RUN/rings.prom.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/ring/ring_layout.h"

struct assayd_config;
struct ring_process;
struct rings;
struct sd_event;
struct traces;

enum {
	RINGS_MASK = 2 | 4 | RING_MASK_KERNELS, /* Coll and P2p of NCCL's profiler interface */
	RINGS_MASK_ASKED = RINGS_MASK | 8 | 16, /* also ProxyOp, ProxyStep: who waits for what */
};

#define RINGS_ASK_MAX_US (10 * USEC_PER_MIN) /* limit of recording on request */

/* `config` and `traces`, which receives the samples, are borrowed. */
struct rings *rings_new(struct sd_event *event, const struct assayd_config *config,
			struct traces *traces);
void rings_free(struct rings *rings);

/* Apply the configuration; if not `on`, drop all rings. */
void rings_set(struct rings *rings, bool on);

/* Record everything for this job and run (NULL: all jobs) for the given time. */
void rings_ask(struct rings *rings, const char *job, int64_t run, uint64_t for_us);

/* As ring_hang_add(), for all held rings of this job and run. */
void rings_tell(struct rings *rings, const char *job, int64_t run, json_t *groups, json_t *ranks);

/*
 * Iterate, from `*i` = 0, over the processes with rings that had ended before we first saw them:
 * only their rings show that they were part of a job. NULL at the end.
 */
const struct ring_process *rings_next_gone(const struct rings *rings, size_t *i);

/*
 * How long all recorded rings of this rank have stood still with an operation in flight, in
 * seconds; 0: they have not, or it is unknown.
 */
double rings_standing_s(struct rings *rings, const char *job, int64_t run, int64_t rank);
