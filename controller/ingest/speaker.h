/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which machine speaks under a host's name. A host may be replaced: what its
 * windows, incidents and baselines hold is then about hardware that is gone. Or two
 * machines have one name, by a wrong host name or a cloned image: each may
 * be well, and judged as one they are a host that flaps. Pure.
 *
 *	a new boot of another machine (env.machine), or of another
 *	SKU                                        -> replaced
 *	a report of an earlier boot that was measured after the
 *	newest boot began: that boot goes on       -> two
 *	the same when the newest boot has been
 *	silent for SPEAKER_TWO_US                 -> the earlier one is the host again
 *
 * A boot never comes back, so one machine alone is never taken for two; only
 * reports that say how old they are count (arrival.h).
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct arrival;
struct host;
struct report;
struct verdict;

/* So long after both were heard of they are still two. */
#define SPEAKER_TWO_US USEC_PER_HOUR

enum speaker { SPEAKER_SAME, SPEAKER_REPLACED, SPEAKER_TWO };

/* What the store knows of it, after a start: an item of store_node(). */
void speaker_recall(struct host *host, const json_t *node, bool told);

/*
 * Note a report. `place` (enum store_place) becomes PLACE_NEWEST for an
 * earlier boot that is the host again. Until two machines have been quiet for
 * SPEAKER_TWO_US every report is SPEAKER_TWO.
 */
int speaker_note(struct host *host, const struct report *report, const struct arrival *arrival,
		 int *place);

/* Do two machines speak at this time? */
bool speaker_two(const struct host *host, uint64_t now_us);

/* The sentences. New memory. */
char *speaker_two_sentence(const struct host *host);
char *speaker_replaced_sentence(const struct host *host);

/* The verdict of a host that cannot be judged: inconclusive, with the sentence. */
void speaker_verdict(const struct host *host, const struct report *report, struct verdict *ret);
