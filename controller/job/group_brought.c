/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/group_brought.h"

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/policy/blame.h"
#include "lib/policy/pair_rungs.h"

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

const json_t *group_brought_row(const json_t *rows, const char *host)
{
	size_t i;

	for (i = 0; i < json_array_size(rows); i++) {
		if (streq(text_of(json_array_get(rows, i), "node"), host))
			return json_array_get(rows, i);
	}
	return NULL;
}

const json_t *group_brought_cloud(const json_t *campaign)
{
	const json_t *blames = json_object_get(campaign, "blames");
	size_t i;

	for (i = 0; i < json_array_size(blames); i++) {
		if (!text_of(json_array_get(blames, i), "node"))
			return json_array_get(blames, i);
	}
	return NULL;
}

/* Was it in any group that finished? */
static bool is_measured(const json_t *campaign, const char *host)
{
	const json_t *rounds = json_object_get(campaign, "rounds");
	size_t i, j;

	for (i = 0; i < json_array_size(rounds); i++) {
		const json_t *groups = json_object_get(json_array_get(rounds, i), "groups");

		for (j = 0; j < json_array_size(groups); j++) {
			const json_t *group = json_array_get(groups, j);

			if (streq(text_of(group, "state"), "measured") &&
			    json_has_text(json_object_get(group, "nodes"), host))
				return true;
		}
	}
	return false;
}

int group_brought_end(const json_t *campaign, const char *host, const char **ret_why)
{
	const json_t *blame = group_brought_row(json_object_get(campaign, "blames"), host);
	const json_t *there = group_brought_row(json_object_get(campaign, "nodes"), host);
	const json_t *cloud = group_brought_cloud(campaign);
	const json_t *unsure = blame ? blame : cloud;

	*ret_why = NULL;
	if (blame && !streq(text_of(blame, "kind"), "undecided"))
		return END_BAD;
	if (!blame && (!there || json_is_true(json_object_get(there, "gone")) ||
		       !is_measured(campaign, host))) {
		*ret_why = pair_rungs_tells(PAIR_WHY_NOT_MEASURED);
		return END_UNKNOWN;
	}
	if (!blame && cloud && streq(text_of(cloud, "kind"), "switch"))
		return END_BETWEEN;
	if (!unsure)
		return END_GOOD;
	*ret_why = text_of(unsure, "sentence");
	*ret_why = *ret_why ? *ret_why : pair_rungs_tells(PAIR_WHY_MIXED);
	return END_UNKNOWN;
}

char *group_brought_words(const json_t *campaign)
{
	const json_t *cloud = group_brought_cloud(campaign);
	const char *words = text_of(cloud ? cloud : campaign, "sentence");

	return xstrdup(words ? words : "the campaign gave no result");
}
