/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a policy would have done to a recorded history: runs in, counts out. Pure.
 *
 * Whether a run is bad, whether a part was born slow and who is blamed is decided by the same code
 * as for incoming reports (bad_run.h, decide.h), from the same facts. The history has what did not
 * pass in each run; a later run of the profile that last found a part bad, and that no longer lists
 * it, is a good run. The next active run of a host stands for a test that the policy would have
 * ordered. Every decision is carried out at once, as in mode enforce, while the history continues
 * as recorded, whatever the policy would have changed.
 *
 * Not included, as the answer says: silent agents (runs are thinned out as they age), jobs,
 * settings, people's orders, and what a stricter floor would have found, since values that passed
 * are not kept. In reports kept by versions that did not store what each reference said, everything
 * bad counts. The breaker stays open once it opens: nobody resets it.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct policy;
struct replay;

enum {
	REPLAY_PARTS_MAX = 256,	  /* bad parts of one host that are tracked */
	REPLAY_NODES_TOLD = 1000, /* hosts in the answer */
};

/* Decisions are this far apart. */
#define REPLAY_TICK_US (1 * USEC_PER_MIN)

/* An item that did not pass. All borrowed. */
struct replay_item {
	const char *check, *subject, *sentence; /* sentence may be NULL */
	int level;				/* enum verdict_level */
	bool fatal;
	int source;		       /* enum verdict_source */
	double value, expected, floor; /* NAN: none */
	const char *unit, *link;       /* or NULL, as in struct verdict_item */
	/* What each reference said (verdict.h); unknown if `bare`. */
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

/* `policy` is borrowed; its mode is taken as enforce. */
struct replay *replay_new(const struct policy *policy);
void replay_free(struct replay *r);
DEFINE_CLEANUP(struct replay *, replay_free, replay_freep);

/* Adds the next run, in the order of arrival. */
void replay_add(struct replay *r, const struct replay_run *run);

/*
 * Ends the replay and returns {"reports", "nodes_seen", "from", "until", "rules": [{rule, action,
 * done, refused, nodes}], "nodes": [{node, cordons, releases, refused, first, out_s}], "refusals":
 * [{budget, times, nodes, allows}], "breaker": {opened, reason}|null, "lacks": [texts],
 * "sentence"}. New reference.
 */
json_t *replay_end(struct replay *r, uint64_t until_us);
