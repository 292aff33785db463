/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a policy would have done to a recorded history: runs in, counts out. Pure.
 *
 * What is a bad run, what was born so and who is blamed is decided by the code that decides it when
 * a report comes in (bad_run.h, decide.h), from the same facts. The history has what was not pass
 * in each run. A run of the profile that last found a part bad and does not name it any more is a
 * good run of it. The next active run of a host stands for a test that the policy would have
 * ordered. Every decision is carried out at once, as in mode enforce, and the history goes on as it
 * was recorded, whatever the policy would have changed in it.
 *
 * Not in it, and said in the answer: agents that fell silent (runs are thinned out as they age),
 * jobs, settings, what people ordered, and what a stricter floor would have found, since what
 * passed is not kept; and of reports that an earlier version kept what each reference said: all
 * that was bad in them counts. The breaker stays open once it opens: nobody resets it.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct policy;
struct replay;

enum {
	REPLAY_PARTS_MAX = 256,	  /* bad parts of one host that are followed */
	REPLAY_NODES_TOLD = 1000, /* hosts in the answer */
};

/* Decisions are this far apart. */
#define REPLAY_TICK_US (1 * USEC_PER_MIN)

/* What was not pass. All borrowed. */
struct replay_item {
	const char *check, *subject, *sentence; /* sentence may be NULL */
	int level;				/* enum verdict_level */
	bool fatal;
	int source;		       /* enum verdict_source */
	double value, expected, floor; /* NAN: none */
	const char *unit, *link;       /* or NULL, as in struct verdict_item */
	/* What each reference said (verdict.h), unless it is `bare`: that is not known of it. */
	bool bare, impossible;
	int usual;
	unsigned known_by, low_by;
};

/* One run of a host. All borrowed; `sku` and `domain` may be NULL. */
struct replay_run {
	const char *node, *sku, *domain, *profile;
	uint64_t at_us; /* when it was measured; a late one counts as of the one before it */
	const struct replay_item *items;
	size_t n_items;
};

/* `policy` is borrowed; its mode is taken to be enforce. */
struct replay *replay_new(const struct policy *policy);
void replay_free(struct replay *r);
DEFINE_CLEANUP(struct replay *, replay_free, replay_freep);

/* The next run, in the order in which they came. */
void replay_add(struct replay *r, const struct replay_run *run);

/*
 * After the last: {"reports", "nodes_seen", "from", "until", "rules": [{rule, action, done,
 * refused, nodes}], "nodes": [{node, cordons, releases, refused, first, out_s}], "refusals":
 * [{budget, times, nodes, allows}], "breaker": {opened, reason}|null, "lacks": [texts],
 * "sentence"}. New reference.
 */
json_t *replay_end(struct replay *r, uint64_t until_us);
