/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/report/host_parts.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/report/report.h"

enum { LINE_MAX_SIZE = 512 };

static const char gpu[] = "gpu:";
enum { KIND_LENGTH = 4 }; /* of that prefix */

void host_parts_release(struct host_parts *parts)
{
	free(parts->all);
	*parts = (struct host_parts){ 0 };
}

bool host_part_is_gpu(const struct host_part *part)
{
	return starts_with(part->id, gpu);
}

int host_part_device_length(const struct host_part *part)
{
	return (int)strcspn(part->id, ":");
}

/* --- names ---------------------------------------------------------------------------------- */

char *host_part_name(const struct host_part *part)
{
	const char *port = strchr(part->id, ':');

	if (!host_part_is_gpu(part))
		return port ? xasprintf("%.*s port %s", host_part_device_length(part), part->id,
					port + 1)
			    : xstrdup(part->id);
	if (part->index >= 0)
		return xasprintf("gpu %d", part->index);
	return part->pci[0] ? xasprintf("gpu at %s", part->pci) : xstrdup(part->id);
}

char *host_part_line(const struct host_part *part)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(LINE_MAX_SIZE);
	CLEANUP(freep) char *name = host_part_name(part);
	const struct {
		const char *before, *text;
	} texts[] = {
		{ ", PCI ", part->pci },
		{ strcasestr(part->slot, "slot") ? ", " : ", slot ", part->slot },
		{ ", serial ", part->serial },
		{ ", part number ", part->number },
		{ ", UUID ", host_part_is_gpu(part) ? part->id + KIND_LENGTH : "" },
	};
	size_t i;

	(void)strbuf_puts(&line, name);
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		if (texts[i].text[0])
			(void)strbuf_printf(&line, "%s%s", texts[i].before, texts[i].text);
	}
	if (part->module >= 0)
		(void)strbuf_printf(&line, ", module %d", part->module);
	if (part->rail >= 0)
		(void)strbuf_printf(&line, ", rail %d", part->rail);
	if (part->gone)
		(void)strbuf_puts(&line, "; absent from the last run");
	return xstrdup(strbuf_text(&line));
}

/* --- JSON ------------------------------------------------------------------------------------ */

static const struct {
	const char *key;
	size_t offset;
	bool of_place; /* depends on the position, so it changes when the part moves */
} numbers[] = {
	{ "index", offsetof(struct host_part, index), true },
	{ "module", offsetof(struct host_part, module), true },
	{ "rail", offsetof(struct host_part, rail), false },
};

static const struct {
	const char *key;
	size_t offset;
	bool of_place;
} texts[] = {
	{ "pci", offsetof(struct host_part, pci), true },
	{ "slot", offsetof(struct host_part, slot), true },
	{ "serial", offsetof(struct host_part, serial), false },
	{ "number", offsetof(struct host_part, number), false },
};

static const int *number_of(const struct host_part *part, size_t i)
{
	return (const int *)(const void *)((const char *)part + numbers[i].offset);
}

static int *number_in(struct host_part *part, size_t i)
{
	return (int *)(void *)((char *)part + numbers[i].offset);
}

static const char *text_of(const struct host_part *part, size_t i)
{
	return (const char *)part + texts[i].offset;
}

static char *text_in(struct host_part *part, size_t i)
{
	return (char *)part + texts[i].offset;
}

json_t *host_part_encode(const struct host_part *part)
{
	CLEANUP(freep) char *name = host_part_name(part);
	json_t *object = json_pack("{s:s, s:s, s:s}", "id", part->id, "kind",
				   host_part_is_gpu(part) ? "gpu" : "rnic", "name", name);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (*number_of(part, i) >= 0)
			(void)json_object_set_new(object, numbers[i].key,
						  json_integer(*number_of(part, i)));
	}
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		if (text_of(part, i)[0])
			(void)json_object_set_new(object, texts[i].key,
						  json_string(text_of(part, i)));
	}
	if (part->gone)
		(void)json_object_set_new(object, "gone", json_true());
	return object;
}

json_t *host_parts_encode(const struct host_parts *parts)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < parts->n; i++)
		(void)json_array_append_new(list, host_part_encode(&parts->all[i]));
	return list;
}

static void take_text(const json_t *value, char *to, size_t size)
{
	const char *text = json_string_value(value);

	if (text)
		(void)snprintf(to, size, "%s", text);
	(void)ascii_clean(to);
}

static bool decode_one(const json_t *object, struct host_part *ret)
{
	struct host_part part = HOST_PART_INIT;
	size_t i;

	take_text(json_object_get(object, "id"), part.id, sizeof(part.id));
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		const json_t *value = json_object_get(object, numbers[i].key);
		const json_int_t number = json_integer_value(value);

		if (json_is_integer(value) && number >= 0 && number <= HOST_PART_INDEX_MAX)
			*number_in(&part, i) = (int)number;
	}
	for (i = 0; i < ARRAY_SIZE(texts); i++)
		take_text(json_object_get(object, texts[i].key), text_in(&part, i),
			  HOST_PART_TEXT_SIZE);
	part.gone = json_is_true(json_object_get(object, "gone"));
	*ret = part;
	return part.id[0] != '\0';
}

/* --- lists ------------------------------------------------------------------------------------ */

/* GPUs before ports, by index, then by name; parts that are gone come last. */
static int compare(const void *a, const void *b)
{
	const struct host_part *x = a, *y = b;

	if (x->gone != y->gone)
		return x->gone ? 1 : -1;
	if (host_part_is_gpu(x) != host_part_is_gpu(y))
		return host_part_is_gpu(x) ? -1 : 1;
	/* An unknown index counts as the highest. */
	if (x->index != y->index)
		return (unsigned)x->index < (unsigned)y->index ? -1 : 1;
	return strcmp(x->id, y->id);
}

static struct host_part *find_id(const struct host_parts *parts, const char *id)
{
	size_t i;

	for (i = 0; i < parts->n; i++) {
		if (streq(parts->all[i].id, id))
			return &parts->all[i];
	}
	return NULL;
}

/* Appends to a list with room for HOST_PARTS_MAX, unless the part is already in it. */
static void add(struct host_parts *parts, const struct host_part *part)
{
	if (!parts->all)
		parts->all = xcalloc(HOST_PARTS_MAX, sizeof(*parts->all));
	if (parts->n < HOST_PARTS_MAX && !find_id(parts, part->id))
		parts->all[parts->n++] = *part;
}

static void put_in_order(struct host_parts *parts)
{
	if (parts->n == 0)
		return;
	qsort(parts->all, parts->n, sizeof(*parts->all), compare);
	parts->all = xrealloc(parts->all, parts->n, sizeof(*parts->all));
}

static void decode_into(struct host_parts *parts, const json_t *list)
{
	struct host_part part;
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		if (decode_one(json_array_get(list, i), &part))
			add(parts, &part);
	}
}

void host_parts_decode(const json_t *list, struct host_parts *ret)
{
	*ret = (struct host_parts){ 0 };
	decode_into(ret, list);
	put_in_order(ret);
}

/* --- a newer report ---------------------------------------------------------------------------- */

/*
 * Fills in what the newer report does not say: a GPU that does not respond keeps its serial number
 * and, unless it was moved, its slot.
 */
static void fill_up(struct host_part *part, const struct host_part *before)
{
	const bool moved = part->pci[0] && !streq(part->pci, before->pci);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (*number_of(part, i) < 0 && !(moved && numbers[i].of_place))
			*number_in(part, i) = *number_of(before, i);
	}
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!text_of(part, i)[0] && !(moved && texts[i].of_place))
			memcpy(text_in(part, i), text_of(before, i), HOST_PART_TEXT_SIZE);
	}
}

/* True if a GPU is now where that one was. */
static bool is_replaced(const struct host_parts *now, const struct host_part *before)
{
	size_t i;

	for (i = 0; host_part_is_gpu(before) && before->pci[0] && i < now->n; i++) {
		if (host_part_is_gpu(&now->all[i]) && streq(now->all[i].pci, before->pci))
			return true;
	}
	return false;
}

static bool has_index(const struct host_parts *now, const struct host_part *before)
{
	size_t i;

	for (i = 0; host_part_is_gpu(before) && i < now->n; i++) {
		if (host_part_is_gpu(&now->all[i]) && now->all[i].index == before->index)
			return true;
	}
	return false;
}

static bool names_kind(const struct host_parts *now, bool gpus)
{
	size_t i;

	for (i = 0; i < now->n; i++) {
		if (host_part_is_gpu(&now->all[i]) == gpus)
			return true;
	}
	return false;
}

/* Handles known parts that `now` does not name: kept unchanged, gone, or forgotten. */
static void keep_rest(struct host_parts *now, const struct host_parts *before)
{
	const struct host_parts fresh = { now->all, now->n };
	const bool named[] = { names_kind(&fresh, false), names_kind(&fresh, true) };
	size_t i;

	for (i = 0; i < before->n; i++) {
		struct host_part part = before->all[i];

		if (find_id(&fresh, part.id) || is_replaced(&fresh, &part))
			continue;
		part.gone = part.gone || named[host_part_is_gpu(&part)];
		if (part.gone && has_index(&fresh, &part))
			part.index = -1;
		add(now, &part);
	}
}

static bool is_same_part(const struct host_part *a, const struct host_part *b)
{
	bool same = streq(a->id, b->id) && a->gone == b->gone;
	size_t i;

	for (i = 0; same && i < ARRAY_SIZE(numbers); i++)
		same = *number_of(a, i) == *number_of(b, i);
	for (i = 0; same && i < ARRAY_SIZE(texts); i++)
		same = streq(text_of(a, i), text_of(b, i));
	return same;
}

static bool is_same(const struct host_parts *a, const struct host_parts *b)
{
	bool same = a->n == b->n;
	size_t i;

	for (i = 0; same && i < a->n; i++)
		same = is_same_part(&a->all[i], &b->all[i]);
	return same;
}

bool host_parts_learn(struct host_parts *parts, const struct report *report)
{
	struct host_parts now = { 0 };
	size_t i;
	bool changed;

	for (i = 0; i < report->n_samples; i++)
		decode_into(&now, report->samples[i].parts);
	if (now.n == 0)
		return false;
	for (i = 0; i < now.n; i++) {
		const struct host_part *before = find_id(parts, now.all[i].id);

		now.all[i].gone = false;
		if (before)
			fill_up(&now.all[i], before);
	}
	keep_rest(&now, parts);
	put_in_order(&now);
	changed = !is_same(parts, &now);
	host_parts_release(parts);
	*parts = now;
	return changed;
}
