/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of replay.h share: the counts. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct decision;

/* Objects by name; sets of names are objects too. Zero is not valid: tally_init(). */
struct tally {
	json_t *rules, *nodes, *refusals;
	json_t *telling, *told; /* what the decisions of this round say, and of the last */
	uint64_t cordons, releases, refused;
};

void tally_init(struct tally *t);
void tally_release(struct tally *t);

/* A round of decisions begins: what the last one said already is not counted again. */
void tally_round(struct tally *t);

/* One decision that was carried out (`done`) or not. */
void tally_count(struct tally *t, const struct decision *d, bool done, uint64_t now_us);

/* The lists of the answer, put into `answer`; hosts that are still out are out until then. */
void tally_put(const struct tally *t, json_t *answer, uint64_t until_us);
