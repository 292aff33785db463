/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_value.h"

#include <errno.h>
#include <stdlib.h>

enum { ITEMS_LEAST = 4, DECIMAL = 10 };

const struct hang_value *hang_value_get(const struct hang_value *dict, const char *key)
{
	size_t i, n = MIN(hang_value_size(dict), (size_t)HANG_VALUE_KEYS_MAX);

	for (i = 0; i < n && dict->kind == HANG_VALUE_DICT; i++)
		if (streq(hang_value_text(hang_value_key(dict, i)), key))
			return hang_value_of(dict, i);
	return NULL;
}

size_t hang_value_size(const struct hang_value *v)
{
	if (v && v->kind == HANG_VALUE_LIST)
		return v->n;
	return v && v->kind == HANG_VALUE_DICT ? v->n / 2 : 0;
}

const struct hang_value *hang_value_at(const struct hang_value *list, size_t i)
{
	return list && list->kind == HANG_VALUE_LIST && i < list->n ? list->items[i] : NULL;
}

const struct hang_value *hang_value_key(const struct hang_value *dict, size_t i)
{
	return dict->items[2 * i];
}

const struct hang_value *hang_value_of(const struct hang_value *dict, size_t i)
{
	return dict->items[2 * i + 1];
}

const char *hang_value_text(const struct hang_value *v)
{
	return v && v->kind == HANG_VALUE_TEXT ? v->text : "";
}

bool hang_value_number(const struct hang_value *v, int64_t *ret)
{
	const char *text = hang_value_text(v);
	char *end = NULL;
	int64_t number;

	if (v && v->kind == HANG_VALUE_INT) {
		*ret = v->number;
		return true;
	}
	if (text[0] != '-' && (text[0] < '0' || text[0] > '9'))
		return false;
	errno = 0;
	number = strtoll(text, &end, DECIMAL);
	if (errno || *end)
		return false;
	*ret = number;
	return true;
}

bool hang_value_is_true(const struct hang_value *v)
{
	return v && (v->kind == HANG_VALUE_BOOL || v->kind == HANG_VALUE_INT) && v->number != 0;
}

void hang_value_reserve(struct pool *pool, struct hang_value *list, size_t more)
{
	size_t want = MAX(list->alloc * 2, (size_t)ITEMS_LEAST);
	const struct hang_value **items;

	if (list->n + more <= list->alloc)
		return;
	want = MAX(want, list->n + more);
	items = pool_take(pool, want * sizeof(*items));
	if (list->n > 0)
		memcpy(items, list->items, list->n * sizeof(*items));
	list->items = items;
	list->alloc = want;
}

static struct hang_value *make(struct pool *pool, enum hang_value_kind kind)
{
	struct hang_value *v = pool_take(pool, sizeof(*v));

	v->kind = (uint8_t)kind;
	v->closed = true;
	return v;
}

static const struct hang_value *make_text(struct pool *pool, const char *text, size_t n)
{
	struct hang_value *v = make(pool, HANG_VALUE_TEXT);

	v->text = pool_text(pool, text, n);
	v->n = n;
	return v;
}

/* Converts containers; parsing has limited the depth of the argument. */
static const struct hang_value *make_container(struct pool *pool, json_t *json)
{
	bool is_list = json_is_array(json);
	struct hang_value *v = make(pool, is_list ? HANG_VALUE_LIST : HANG_VALUE_DICT);
	const char *key;
	json_t *item;
	size_t i;

	if (is_list) {
		hang_value_reserve(pool, v, json_array_size(json));
		json_array_foreach(json, i, item) v->items[v->n++] = hang_value_json(pool, item);
		return v;
	}
	hang_value_reserve(pool, v, 2 * json_object_size(json));
	json_object_foreach(json, key, item)
	{
		v->items[v->n++] = make_text(pool, key, strlen(key));
		v->items[v->n++] = hang_value_json(pool, item);
	}
	return v;
}

const struct hang_value *hang_value_json(struct pool *pool, json_t *json)
{
	struct hang_value *v;

	if (json_is_array(json) || json_is_object(json))
		return make_container(pool, json);
	if (json_is_string(json))
		return make_text(pool, json_string_value(json), json_string_length(json));
	v = make(pool, json_is_integer(json)   ? HANG_VALUE_INT
		       : json_is_real(json)    ? HANG_VALUE_REAL
		       : json_is_boolean(json) ? HANG_VALUE_BOOL
					       : HANG_VALUE_NONE);
	v->number = json_is_true(json) ? 1 : json_integer_value(json);
	v->real = json_real_value(json);
	return v;
}
