/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings of the jobs here (docs/rings.md): what the NCCL plug-in in their processes records.
 *
 *	ring_socket -> whose is it? (process_map) -> room? (ring_rules) -> ring_memory -> held here
 *
 * A ring is held until its process has been gone for `rings.hold`, so that its last record can be
 * read. It is mapped and no descriptor of it is kept; what was read is given back at once. Each has
 * a control page of its own, which says what is to be recorded: nothing, or RINGS_MASK by the
 * schedule of the configuration, or what somebody asked for. Counts are in $RUN/rings.prom.
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
	RINGS_MASK = 2 | 4 | RING_MASK_KERNELS, /* Coll, P2p of NCCL's profiler interface */
	RINGS_MASK_ASKED = RINGS_MASK | 8 | 16, /* and ProxyOp, ProxyStep: who waits for what */
};

#define RINGS_ASK_MAX_US (10 * USEC_PER_MIN) /* nobody is recorded by request for longer */

/* `config` and `traces`, which takes the samples, are borrowed. */
struct rings *rings_new(struct sd_event *event, const struct assayd_config *config,
			struct traces *traces);
void rings_free(struct rings *rings);

/* Do what the configuration says now, or nothing when `on` is false: then all are let go. */
void rings_set(struct rings *rings, bool on);

/* Record all that there is of this job and run (NULL: of all), for so long from now on. */
void rings_ask(struct rings *rings, const char *job, int64_t run, uint64_t for_us);

/* As ring_hang_add() does it, of the rings of this job and run that are held here, and no others. */
void rings_tell(struct rings *rings, const char *job, int64_t run, json_t *groups, json_t *ranks);

/*
 * The next process after `*i`, from 0 on, whose rings are held and that had ended before it was
 * met: it is of a job, and nobody but its rings knows of it. NULL: there is no more.
 */
const struct ring_process *rings_next_gone(const struct rings *rings, size_t *i);

/*
 * For how long all rings of this rank that are being recorded stand still with something in flight,
 * in seconds; 0: they do not, or nobody knows.
 */
double rings_standing_s(struct rings *rings, const char *job, int64_t run, int64_t rank);
