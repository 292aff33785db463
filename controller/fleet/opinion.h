/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fleet thinks of one host, as its agent is told it. Pure.
 *
 *  - an open incident speaks, the worst first; without one, what the last runs
 *    add up to, at most `warn`: a single bad run is no proof;
 *  - `fail` makes `assay admit` refuse jobs, so it is told only of a host that is
 *    out of service because of us, by whoever asked, with the reason it was taken out for.
 *    Else the most is `warn`: who only observes, or was refused by a budget, takes
 *    nothing out of service;
 *  - a host that refuses jobs by itself for what too many refuse them for (budget.deny) is
 *    told `admit: degraded`;
 *  - a host that nothing came from is `inconclusive`;
 *  - one that joined and has passed no test since is at least `warn`: `assay admit` never says ok.
 *
 * An opinion stands OPINION_LIFE_US. It is told when it has changed or half of
 * that is over, so that a word that got lost is made up for in time.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

#define OPINION_LIFE_US USEC_PER_HOUR

/* All borrowed. */
struct opinion_input {
	const json_t *node;	 /* as the API gives it: verdict, sentence */
	const json_t *incidents; /* its open ones, an array */
	const char *cordoned;	 /* why it is out of service because of us; NULL: it is not */
	const char *let_in;	 /* why it admits jobs all the same; NULL: as it judges */
	const char *policy;	 /* its version */
};

/* {"verdict", "policy", "expires", "sentence", "admit"?}; new reference. */
json_t *opinion_make(const struct opinion_input *in, uint64_t now_real_us);

/* What each host was told last. */
struct opinions {
	void *tree;
	size_t n;
};

/* Must the host be told? `now_us` is monotonic. */
bool opinions_due(const struct opinions *o, const char *node, const json_t *opinion,
		  uint64_t now_us);

void opinions_told(struct opinions *o, const char *node, const json_t *opinion, uint64_t now_us);

/* Its call broke: who knows what arrived. */
void opinions_forget(struct opinions *o, const char *node);

void opinions_release(struct opinions *o);
