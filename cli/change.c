/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/change.h"

#include <stdlib.h>

#include "cli/view.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

static const char *const unsteady[] = { "age_s", "seen", "time", "seq", "last", "profile" };

/* Remove members that change by themselves, at any depth; json_parse() bounds the depth. */
static void strip(json_t *value)
{
	const char *key;
	json_t *member;
	void *next;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(unsteady) && json_is_object(value); i++)
		(void)json_object_del(value, unsteady[i]);
	json_array_foreach(value, i, member)
	{
		strip(member);
	}
	json_object_foreach_safe(value, next, key, member)
	{
		strip(member);
	}
}

static void add(json_t *steady, const char *key, const json_t *value)
{
	CLEANUP(json_freep) json_t *copy = json_deep_copy(value);
	CLEANUP(freep) char *text = NULL;

	strip(copy);
	text = json_line(copy);
	(void)json_object_set_new(steady, key, json_string(text));
}

json_t *change_steady(const struct view *view, const json_t *document)
{
	const json_t *items = json_object_get(document, "items");
	json_t *steady = json_object();
	size_t i;

	if (!view->key) {
		add(steady, "", document);
		return steady;
	}
	for (i = 0; i < json_array_size(items); i++) {
		CLEANUP(freep) char *key = view->key(json_array_get(items, i));

		add(steady, key, json_array_get(items, i));
	}
	return steady;
}

json_t *change_find(const json_t *before, json_t *after)
{
	json_t *changed = json_object(), *text;
	size_t same = 0;
	const char *key;

	json_object_foreach(after, key, text)
	{
		if (json_equal(text, json_object_get(before, key)))
			same++;
		else
			(void)json_object_set_new(changed, key, json_true());
	}
	if (json_object_size(changed) || same < json_object_size(before))
		return changed;
	json_decref(changed);
	return NULL;
}
