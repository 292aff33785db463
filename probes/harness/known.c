/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/harness/known.h"

#include <stdio.h>

#include "lib/base/xalloc.h"

static bool decode(const json_t *entry, struct known *ret)
{
	const char *id = json_string_value(json_object_get(entry, "id"));
	const char *model = json_string_value(json_object_get(entry, "model"));

	if (!id || !model || !*id)
		return false;
	(void)snprintf(ret->id, sizeof(ret->id), "%s", id);
	(void)snprintf(ret->model, sizeof(ret->model), "%s", model);
	return true;
}

/*
 * Match one device of `now` that is not matched yet, with the same model and, unless `id` is NULL,
 * the same id. Ids need not be unique (some firmware gives all DIMMs one name), so each entry is
 * matched only once.
 */
static bool take(const struct known *now, size_t n_now, const char *id, const char *model,
		 bool *taken)
{
	size_t i;

	for (i = 0; i < n_now; i++) {
		if (taken[i] || !streq(now[i].model, model) || (id && !streq(now[i].id, id)))
			continue;
		taken[i] = true;
		return true;
	}
	return false;
}

size_t known_lost(const json_t *past, const struct known *now, size_t n_now, struct known *ret_lost,
		  size_t max)
{
	CLEANUP(freep) bool *taken = xcalloc(n_now + 1, sizeof(bool));
	size_t n_past = MIN(json_array_size(past), (size_t)KNOWN_MAX), n_gone = 0, n_lost = 0, i;
	CLEANUP(freep) struct known *gone = xcalloc(n_past + 1, sizeof(*gone));

	for (i = 0; i < n_past; i++) {
		const struct known *one = &gone[n_gone];

		if (decode(json_array_get(past, i), &gone[n_gone]) &&
		    !take(now, n_now, one->id, one->model, taken))
			n_gone++;
	}
	for (i = 0; i < n_gone && n_lost < max; i++) {
		if (!take(now, n_now, NULL, gone[i].model, taken))
			ret_lost[n_lost++] = gone[i];
	}
	return n_lost;
}

static void append(json_t *array, const struct known *list, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		(void)json_array_append_new(
			array, json_pack("{s:s, s:s}", "id", list[i].id, "model", list[i].model));
}

json_t *known_encode(const struct known *now, size_t n_now, const struct known *lost, size_t n_lost)
{
	json_t *array = json_array();

	append(array, now, n_now);
	append(array, lost, n_lost);
	return array;
}
