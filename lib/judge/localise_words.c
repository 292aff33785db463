/* SPDX-License-Identifier: Apache-2.0 */
/* A localised link as JSON and as a sentence. */
#include <stdio.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/link_words.h"
#include "lib/judge/localise.h"
#include "lib/sys/term.h"

/* Links beside the one named that a sentence has room for. */
enum { OTHERS_TOLD = 2 };

static json_t *encode_strv(char *const *strv)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; strv && strv[i]; i++)
		json_array_append_new(array, json_string(strv[i]));
	return array;
}

static json_t *encode_link(const struct localised_link *l)
{
	CLEANUP(freep) char *sentence = localised_sentence(l);
	CLEANUP(freep) char *name = link_name(l->link);

	return json_pack("{s:s, s:s, s:f, s:f, s:o, s:o, s:o, s:s, s:s, s:f, s:f, s:s}", "link",
			 l->link, "name", name, "ratio", l->ratio, "confidence", l->confidence,
			 "for", encode_strv(l->supporting), "against",
			 encode_strv(l->contradicting), "ambiguous_with", encode_strv(l->ambiguous),
			 "check", l->check, "unit", l->unit, "value", l->capacity, "expected",
			 l->expected, "sentence", sentence);
}

json_t *localised_encode(const struct localised *l)
{
	json_t *links = json_array();
	size_t i;

	for (i = 0; i < l->n; i++)
		json_array_append_new(links, encode_link(&l->links[i]));
	return json_pack("{s:i, s:s, s:o, s:I, s:I, s:I}", "v", 1, "kind", "localise", "links",
			 links, "cells", (json_int_t)l->cells, "without_reference",
			 (json_int_t)l->without, "beyond_limits", (json_int_t)l->beyond);
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

/* "24.9 of 49.1 GB/s": the unit once when both have the same. */
static char *rate_of(const struct localised_link *link)
{
	char value[NUMBER_SIZE], expected[NUMBER_SIZE];
	char *unit, *other;

	number_format(link->capacity, link->unit, value);
	number_format(link->expected, link->unit, expected);
	unit = strchr(value, ' ');
	other = strchr(expected, ' ');
	if (unit && other && streq(unit, other))
		*unit = '\0';
	return xasprintf("%s of %s", value, expected);
}

/*
 * "; A or B would explain it as well", "" when no other would. The way from the root port
 * that `link` ends at into its socket goes without saying: nothing else leads there.
 */
static char *others_of(const struct localised_link *link)
{
	const char *upper = strchr(link->link, '^');
	CLEANUP(freep) char *onward = upper ? xasprintf("%s^numa:", upper + 1) : NULL;
	char *text = xstrdup("");
	size_t n = 0, i;

	for (i = 0; link->ambiguous && link->ambiguous[i]; i++) {
		CLEANUP(freep) char *name = link_name(link->ambiguous[i]);
		CLEANUP(freep) char *before = NULL;

		if (onward && starts_with(link->ambiguous[i], "root:") &&
		    starts_with(link->ambiguous[i], onward))
			continue;
		if (n++ >= OTHERS_TOLD)
			continue;
		before = text;
		text = xasprintf("%s%s%s", before, n > 1 ? " or " : "; ", name);
	}
	if (n > 0) {
		CLEANUP(freep) char *before = text;
		CLEANUP(freep)
		char *more = n > OTHERS_TOLD ? xasprintf(" or %zu more", n - OTHERS_TOLD)
					     : xstrdup("");

		text = xasprintf("%s%s would explain it as well", before, more);
	}
	return text;
}

char *localised_sentence(const struct localised_link *link)
{
	CLEANUP(freep) char *name = link_name(link->link);
	CLEANUP(freep) char *rate = rate_of(link);
	CLEANUP(freep) char *others = others_of(link);
	size_t n_for = link->supporting ? strv_len(link->supporting) : 0;
	size_t n_against = link->contradicting ? strv_len(link->contradicting) : 0;
	char against[NUMBER_SIZE] = "none";

	if (n_against > 0)
		(void)snprintf(against, sizeof(against), "%zu", n_against);
	return xasprintf("%s: %s, seen on %zu path%s, contradicted by %s%s", name, rate, n_for,
			 plural(n_for), against, others);
}
