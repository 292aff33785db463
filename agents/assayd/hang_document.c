/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/hang_document.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"

enum { GROUPS_MAX = 4096 }; /* per host's document */

static json_t *find(json_t *ranks, json_int_t rank)
{
	json_t *one;
	size_t i;

	json_array_foreach(ranks, i, one)
	{
		if (json_integer_value(json_object_get(one, "rank")) == rank)
			return one;
	}
	return NULL;
}

json_t *hang_document_rank(json_t *ranks, json_int_t rank)
{
	json_t *one = find(ranks, rank);

	if (one)
		return one;
	one = json_pack("{s:I, s:[]}", "rank", rank, "sources");
	(void)json_array_append_new(ranks, one);
	return one;
}

void hang_document_source(json_t *rank, const char *source)
{
	json_t *sources = json_object_get(rank, "sources"), *one;
	size_t i;

	json_array_foreach(sources, i, one)
	{
		if (streq(json_string_value(one), source))
			return;
	}
	(void)json_array_append_new(sources, json_string(source));
}

/* Index of an equal group, or of the one added; -1: no room. */
static json_int_t add_group(json_t *groups, json_t *group)
{
	json_t *one;
	size_t i;

	json_array_foreach(groups, i, one)
	{
		if (json_equal(one, group))
			return (json_int_t)i;
	}
	if (json_array_size(groups) >= GROUPS_MAX)
		return -1;
	(void)json_array_append(groups, group);
	return (json_int_t)json_array_size(groups) - 1;
}

/* "positions" or "ops", with their groups renumbered by `places`. */
static void add_items(json_t *to, const json_t *from, const char *key, const json_t *places)
{
	const json_t *items = json_object_get(from, key);
	json_t *into = json_object_get(to, key), *item;
	size_t i;

	if (json_array_size(items) && !into) {
		into = json_array();
		(void)json_object_set_new(to, key, into);
	}
	json_array_foreach(items, i, item)
	{
		const json_int_t at = json_integer_value(json_object_get(item, "group"));
		json_t *place = at < 0 ? NULL : json_array_get(places, (size_t)at);
		json_t *copy;

		if (!place || json_integer_value(place) < 0)
			continue;
		copy = json_copy(item);
		(void)json_object_set(copy, "group", place);
		(void)json_array_append_new(into, copy);
	}
}

void hang_document_add(json_t *groups, json_t *ranks, const json_t *from)
{
	CLEANUP(json_freep) json_t *places = json_array();
	json_t *one, *to, *source;
	size_t i, k;

	json_array_foreach(json_object_get(from, "groups"), i, one)(void)
		json_array_append_new(places, json_integer(add_group(groups, one)));
	json_array_foreach(json_object_get(from, "ranks"), i, one)
	{
		to = find(ranks, json_integer_value(json_object_get(one, "rank")));
		if (!to)
			continue;
		json_array_foreach(json_object_get(one, "sources"), k, source)
			hang_document_source(to, json_string_value(source));
		add_items(to, one, "positions", places);
		add_items(to, one, "ops", places);
	}
}

static void say_missing(json_t *document, const char *what)
{
	json_t *missing = json_object_get(document, "missing");

	if (!missing) {
		missing = json_array();
		(void)json_object_set_new(document, "missing", missing);
	}
	(void)json_array_append_new(missing, json_string(what));
}

static char *line_within(const json_t *document, size_t size)
{
	CLEANUP(freep) char *line = json_line(document);

	return strlen(line) <= size ? TAKE(line) : NULL;
}

char *hang_document_line(json_t *document, size_t size)
{
	json_t *ranks = json_object_get(document, "ranks"), *rank;
	char *line = line_within(document, size);
	size_t i;

	if (line)
		return line;
	json_array_foreach(ranks, i, rank)(void) json_object_del(rank, "ops");
	say_missing(document, "operations: left out, as the document was too large");
	line = line_within(document, size);
	if (line)
		return line;
	json_array_foreach(ranks, i, rank)(void) json_object_del(rank, "positions");
	(void)json_object_set_new(document, "groups", json_array());
	say_missing(document, "positions: left out, as the document was too large");
	return line_within(document, size);
}
