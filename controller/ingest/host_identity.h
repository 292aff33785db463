/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which machine is using a host's name. If a host is replaced, its windows, incidents and baselines
 * are about hardware that is gone. And if two machines share one name, by a wrong host name or a
 * cloned image, each may be fine, but judged together they look like a host that flaps. Pure.
 *
 *   a new boot of another machine (env.machine), or of another
 *   SKU                                            -> replaced
 *   a report of an earlier boot that was measured after the
 *   newest boot began: that boot goes on           -> two
 *   the same when the newest boot has been
 *   silent for HOST_IDENTITY_TWO_US                -> the earlier one is the host again
 *
 * A boot never comes back, so a single machine is never taken for two. Only reports with an age
 * count (report_clock.h).
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct report_clock;
struct host;
struct report;
struct verdict;

/* How long they still count as two after both were last seen. */
#define HOST_IDENTITY_TWO_US USEC_PER_HOUR

enum host_identity { HOST_IDENTITY_SAME, HOST_IDENTITY_REPLACED, HOST_IDENTITY_TWO };

/* Restore it from the store after a start: an item of store_node(). */
void host_identity_recall(struct host *host, const json_t *node, bool told);

/*
 * Note a report. `place` (enum store_place) becomes PLACE_NEWEST for an earlier boot that is the
 * host again. Until two machines have been quiet for HOST_IDENTITY_TWO_US every report is
 * HOST_IDENTITY_TWO.
 */
int host_identity_note(struct host *host, const struct report *report,
		       const struct report_clock *arrival, int *place);

/* Are two machines using the name at this time? */
bool host_identity_two(const struct host *host, uint64_t now_us);

/* Sentences for incidents. New memory. */
char *host_identity_two_sentence(const struct host *host);
char *host_identity_replaced_sentence(const struct host *host);

/* The verdict on a host that cannot be judged: inconclusive, with the sentence. */
void host_identity_verdict(const struct host *host, const struct report *report,
			   struct verdict *ret);
