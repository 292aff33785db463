/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/accused.h"

#include "lib/base/xalloc.h"
#include "lib/json/json.h"

uint64_t accused_stamp(const json_t *entry, const char *key)
{
	return json_stamp_us(json_object_get(entry, key));
}

static uint64_t newest_of(const json_t *entry)
{
	return MAX(accused_stamp(entry, "last"), accused_stamp(entry, "acquitted"));
}

json_t *accused_recall(const json_t *before, uint64_t since_us)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < json_array_size(before); i++) {
		const json_t *entry = json_array_get(before, i);

		if (newest_of(entry) >= since_us)
			(void)json_array_append_new(list, json_copy((json_t *)(uintptr_t)entry));
	}
	return list;
}

json_t *accused_find(const json_t *list, const char *node)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		json_t *entry = json_array_get(list, i);

		if (streq(json_string_value(json_object_get(entry, "node")), node))
			return entry;
	}
	return NULL;
}

static void make_room(json_t *list)
{
	size_t i, oldest = 0;

	if (json_array_size(list) < ACCUSED_MAX)
		return;
	for (i = 1; i < json_array_size(list); i++) {
		if (newest_of(json_array_get(list, i)) < newest_of(json_array_get(list, oldest)))
			oldest = i;
	}
	(void)json_array_remove(list, oldest);
}

json_t *accused_note(json_t *list, const struct accused_words *words)
{
	json_t *entry = accused_find(list, words->node);

	if (!entry) {
		make_room(list);
		entry = json_pack("{s:s, s:n, s:n}", "node", words->node, "acquitted", "told");
		(void)json_array_append_new(list, entry);
	}
	(void)json_object_set_new(entry, "class", json_string(words->class));
	(void)json_object_set_new(entry, "since", json_stamp(words->since_us));
	(void)json_object_set_new(entry, "last", json_stamp(words->last_us));
	return entry;
}
