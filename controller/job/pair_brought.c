/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/pair_brought.h"

#include <stdlib.h>

#include "controller/job/pair_record.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/term.h"

enum { WORDS_MAX = 512 };

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static const char *name_at(const json_t *names, size_t i)
{
	return json_string_value(json_array_get(names, i));
}

static size_t place_of(const json_t *names, const char *name)
{
	size_t i;

	for (i = 0; i < json_array_size(names); i++) {
		if (streq(name_at(names, i), name))
			return i;
	}
	return SIZE_MAX;
}

/* Rates of all pairs that ran. */
static size_t read_rates(const json_t *campaign, const json_t *hosts, struct pair_rungs_rate *ret)
{
	const json_t *rounds = json_object_get(campaign, "rounds");
	size_t n = 0, i, j;

	for (i = 0; i < json_array_size(rounds); i++) {
		const json_t *groups = json_object_get(json_array_get(rounds, i), "groups");

		for (j = 0; j < json_array_size(groups) && n < PAIR_BROUGHT_RATES_MAX; j++) {
			const json_t *group = json_array_get(groups, j);
			const json_t *nodes = json_object_get(group, "nodes");
			const bool broke = streq(text_of(group, "state"), "failed");
			struct pair_rungs_rate *rate = &ret[n];

			if (!broke && !streq(text_of(group, "state"), "measured"))
				continue;
			rate->a = place_of(hosts, name_at(nodes, 0));
			rate->b = place_of(hosts, name_at(nodes, 1));
			rate->cross = json_is_true(json_object_get(group, "cross"));
			rate->value = broke ? 0
					    : json_number_value(json_object_get(group, "value"));
			n += rate->a != SIZE_MAX && rate->b != SIZE_MAX;
		}
	}
	return n;
}

/* Lowest and highest rate of pairs: "12.0 GB/s to 24.1 GB/s". */
static void add_range(struct strbuf *words, const struct pair_rungs_rate *rates, size_t n)
{
	char low[NUMBER_SIZE], high[NUMBER_SIZE];
	double least = rates[0].value, most = rates[0].value;
	size_t i;

	for (i = 1; i < n; i++) {
		least = MIN(least, rates[i].value);
		most = MAX(most, rates[i].value);
	}
	number_format(least, "B/s", low);
	number_format(most, "B/s", high);
	(void)strbuf_printf(words, " (%s to %s)", low, high);
}

static json_t *ends_with(const struct pair_brought *b, const json_t *ends, int end)
{
	json_t *names = json_array();
	size_t i;

	for (i = 0; i < b->rungs.n_ends; i++) {
		if (b->answer.ends[i] == end)
			(void)json_array_append(names, json_array_get(ends, i));
	}
	return names;
}

/* The missing evidence for the first unknown end. */
static const char *tells_of(const struct pair_brought *b)
{
	size_t i;

	for (i = 0; i < b->rungs.n_ends; i++) {
		if (b->answer.ends[i] == END_UNKNOWN)
			return pair_rungs_tells(b->answer.why[i]);
	}
	return NULL;
}

void pair_brought_read(const json_t *campaign, const json_t *ends, const json_t *thirds,
		       struct pair_brought *ret)
{
	CLEANUP(json_freep) json_t *hosts = json_copy((json_t *)(uintptr_t)ends);

	ret->rungs = (struct pair_rungs){ .n_ends = json_array_size(ends),
					  .n_thirds = json_array_size(thirds) };
	(void)json_array_extend(hosts, (json_t *)(uintptr_t)thirds);
	ret->n_rates = read_rates(campaign, hosts, ret->rates);
	pair_rungs_read(ret->rates, ret->n_rates, &ret->rungs);
	pair_rungs_decide(&ret->rungs, &ret->answer);
}

char *pair_brought_words(const struct pair_brought *b, const json_t *ends, const json_t *thirds)
{
	CLEANUP(strbuf_release) struct strbuf words = STRBUF_INIT(WORDS_MAX);
	CLEANUP(json_freep) json_t *bad = ends_with(b, ends, END_BAD);
	CLEANUP(json_freep) json_t *between = ends_with(b, ends, END_BETWEEN);
	CLEANUP(freep) char *bad_names = pair_record_names(bad);
	CLEANUP(freep) char *all = pair_record_names(ends);
	CLEANUP(freep) char *others = pair_record_names(thirds);

	if (json_array_size(bad) > 0)
		(void)strbuf_printf(&words,
				    "%s %s slow with all others, and %s %s good with "
				    "another host",
				    bad_names, json_array_size(bad) == 1 ? "is" : "are", others,
				    json_array_size(thirds) == 1 ? "is" : "are");
	else if (json_array_size(between) > 0)
		(void)strbuf_printf(&words,
				    "%s are slow only with each other, and good with %s: check "
				    "what lies between them",
				    all, others);
	else if (tells_of(b))
		(void)strbuf_printf(&words, "the pairs are not conclusive; conclusive would be: %s",
				    tells_of(b));
	else
		(void)strbuf_printf(&words, "%s %s good with %s%s", all,
				    json_array_size(ends) == 1 ? "is" : "are", others,
				    json_array_size(ends) == 1 ? "" : " and with each other");
	if (b->n_rates > 0)
		add_range(&words, b->rates, b->n_rates);
	return xstrdup(strbuf_text(&words));
}
