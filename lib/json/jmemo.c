/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/jmemo.h"

#include <stdlib.h>

#include "lib/base/fnv.h"
#include "lib/base/xalloc.h"

static size_t slot_of(const char *text, size_t length)
{
	return fnv1a(text, length) % JMEMO_SLOTS;
}

const struct jmemo_entry *jmemo_find(const struct jmemo *m, const char *text, size_t length)
{
	const struct jmemo_entry *e = &m->entries[slot_of(text, length)];

	if (!e->text || e->length != length || memcmp(e->text, text, length) != 0)
		return NULL;
	return e;
}

static void entry_release(struct jmemo_entry *e)
{
	free(e->text);
	json_decref(e->value);
	free(e->canonical);
	*e = (struct jmemo_entry){ 0 };
}

void jmemo_keep(struct jmemo *m, const char *text, size_t length, json_t *value)
{
	char *canonical;

	if (length > JMEMO_TEXT_MAX)
		return;
	canonical = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);
	if (!canonical)
		return;
	entry_release(&m->entries[slot_of(text, length)]);
	m->entries[slot_of(text, length)] = (struct jmemo_entry){ xstrndup(text, length), length,
								  json_incref(value), canonical };
}

void jmemo_release(struct jmemo *m)
{
	size_t i;

	for (i = 0; i < JMEMO_SLOTS; i++)
		entry_release(&m->entries[i]);
}
