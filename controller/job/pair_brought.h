/* SPDX-License-Identifier: Apache-2.0 */
/* What a campaign of pairs says about the ends of a link, from its rates by
 * lib/policy/pair_rungs.h. Pure. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "lib/base/macro.h"
#include "lib/policy/pair_rungs.h"

enum { PAIR_BROUGHT_RATES_MAX = 64 };

struct pair_brought {
	struct pair_rungs rungs; /* ends and thirds, sorted by name */
	struct pair_rungs_answer answer;
	struct pair_rungs_rate rates[PAIR_BROUGHT_RATES_MAX];
	size_t n_rates;
};

/* `campaign` as shown by the API, NULL: no result; names of ends and thirds. */
void pair_brought_read(const json_t *campaign, const json_t *ends, const json_t *thirds,
		       struct pair_brought *ret);

/* The result in one sentence, with the lowest and highest rates of pairs. New memory. */
char *pair_brought_words(const struct pair_brought *b, const json_t *ends, const json_t *thirds);
