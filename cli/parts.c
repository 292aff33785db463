/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/parts.h"

#include <stdlib.h>

#include "cli/view.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/host_parts_words.h"

char *parts_subject(const json_t *item)
{
	return text_at(item, *raw_at(item, "name") ? "name" : "subject");
}

char *parts_line(const json_t *list)
{
	CLEANUP(host_parts_release) struct host_parts parts = { 0 };
	char *text = NULL;
	size_t i;

	host_parts_decode(list, &parts);
	for (i = 0; i < parts.n; i++) {
		CLEANUP(freep) char *before = text;
		CLEANUP(freep) char *line = host_part_line(&parts.all[i]);

		text = xasprintf("%s%s%s", before ? before : "", before ? "; " : "", line);
	}
	return text;
}

void parts_add(json_t *items, const json_t *of_host)
{
	CLEANUP(host_parts_release) struct host_parts parts = { 0 };
	size_t i;

	host_parts_decode(of_host, &parts);
	for (i = 0; i < json_array_size(items); i++) {
		json_t *item = json_array_get(items, i);
		json_t *named = host_parts_named(&parts, raw_at(item, "subject"));

		if (named)
			(void)json_object_set_new(item, "parts", named);
	}
}

static bool has_id(const json_t *list, const char *id)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		if (streq(raw_at(json_array_get(list, i), "id"), id))
			return true;
	}
	return false;
}

/* Keep only the items of `key` whose subject names the part. */
static void keep_only(json_t *why, const char *key, const struct host_parts *parts, const char *id)
{
	const json_t *all = json_object_get(why, key);
	json_t *kept = json_array();
	size_t i;

	for (i = 0; i < json_array_size(all); i++) {
		json_t *one = json_array_get(all, i);
		CLEANUP(json_freep) json_t *named = host_parts_named(parts, raw_at(one, "subject"));

		if (has_id(named, id))
			(void)json_array_append(kept, one);
	}
	(void)json_object_set_new(why, key, kept);
}

int parts_only(json_t *why, const char *words, struct err *err)
{
	CLEANUP(host_parts_release) struct host_parts parts = { 0 };
	const struct host_part *part = NULL;
	CLEANUP(freep) char *line = NULL;
	int r;

	host_parts_decode(json_object_get(why, "parts"), &parts);
	r = host_parts_find(&parts, words, &part, err);
	if (r < 0)
		return err_wrap(err, r, "%s", raw_at(why, "node"));
	line = host_part_line(part);
	(void)json_object_set_new(why, "about", json_string(line));
	keep_only(why, "items", &parts, part->id);
	keep_only(why, "incidents", &parts, part->id);
	return 0;
}

/* Has a part of `then` another name or slot now? */
static bool is_moved(const json_t *then, const json_t *now)
{
	static const char *const keys[] = { "name", "pci" };
	size_t i, k;

	for (i = 0; i < json_array_size(then) && i < json_array_size(now); i++) {
		for (k = 0; k < ARRAY_SIZE(keys); k++) {
			if (!streq(raw_at(json_array_get(then, i), keys[k]),
				   raw_at(json_array_get(now, i), keys[k])))
				return true;
		}
	}
	return false;
}

/* Changes since it was opened; NULL if its parts have not moved. The caller frees it. */
static char *moved(const json_t *incident, const struct host_parts *parts)
{
	const json_t *then = json_object_get(incident, "parts");
	CLEANUP(json_freep) json_t *now = host_parts_named(parts, raw_at(incident, "subject"));
	CLEANUP(freep) char *was = NULL;
	CLEANUP(freep) char *is = NULL;

	if (!now || !is_moved(then, now))
		return NULL;
	was = parts_line(then);
	is = parts_line(now);
	return xasprintf("%s when it was opened; now %s", was, is);
}

void parts_add_moved(json_t *incidents, const json_t *of_host)
{
	CLEANUP(host_parts_release) struct host_parts parts = { 0 };
	size_t i;

	host_parts_decode(of_host, &parts);
	for (i = 0; i < json_array_size(incidents); i++) {
		json_t *incident = json_array_get(incidents, i);
		CLEANUP(freep) char *text = moved(incident, &parts);

		if (text)
			(void)json_object_set_new(incident, "moved", json_string(text));
	}
}
