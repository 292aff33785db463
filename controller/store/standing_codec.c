/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/standing_codec.h"

#include <jansson.h>
#include <stdlib.h>

#include "controller/store/coverage_codec.h"
#include "lib/base/pool.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/verdict.h"

static json_t *encode_one(const struct verdict *v)
{
	CLEANUP(freep) char *measured = coverage_codec_encode(v);
	struct verdict bad = *v;

	/* Sorted worst first. */
	while (bad.n_items > 0 && bad.items[bad.n_items - 1].level == VERDICT_PASS)
		bad.n_items--;
	return json_pack("{s:o, s:s}", "verdict", verdict_encode(&bad), "measured", measured);
}

char *standing_codec_encode(const struct verdict *kept, size_t n)
{
	CLEANUP(json_freep) json_t *list = n > 0 ? json_array() : NULL;
	size_t i;

	for (i = 0; i < n; i++)
		(void)json_array_append_new(list, encode_one(&kept[i]));
	return list ? json_dumps(list, JSON_COMPACT) : NULL;
}

static void to_pool(char **at, struct pool *pool)
{
	char *text = *at;

	if (text)
		*at = pool_text(pool, text, strlen(text));
	free(text);
}

static void item_to_pool(struct verdict_item *item, struct pool *pool)
{
	char **const texts[] = { &item->check,	 &item->subject, &item->unit, &item->sentence,
				 &item->profile, &item->time,	 &item->link };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++)
		to_pool(texts[i], pool);
}

static bool decode_one(const struct jval *at, const char *node, struct pool *pool,
		       struct verdict *ret)
{
	struct jval verdict = jval_get(at, "verdict");
	const char *measured = json_string_value(json_object_get(at->value, "measured"));
	size_t more = measured ? coverage_codec_count(measured) : 0, from, i;

	if (verdict_decode(&verdict, ret, NULL) < 0)
		return false;
	free(ret->node);
	ret->node = xstrdup(node);
	ret->borrows = true;
	for (i = 0; i < ret->n_items; i++)
		item_to_pool(&ret->items[i], pool);
	from = ret->n_items;
	ret->items = xrealloc(ret->items, ret->n_items + more + 1, sizeof(*ret->items));
	if (measured)
		coverage_codec_decode(measured, pool, ret);
	for (i = from; i < ret->n_items; i++) {
		ret->items[i].profile = pool_text(pool, ret->profile, strlen(ret->profile));
		ret->items[i].time = pool_text(pool, ret->time, strlen(ret->time));
	}
	return true;
}

size_t standing_codec_decode(const char *text, const char *node, struct pool *pool,
			     struct verdict *ret, size_t max)
{
	CLEANUP(json_freep) json_t *list = json_loads(text, 0, NULL);
	struct jval root = jval_root(list, "kept");
	size_t n = 0, i;

	for (i = 0; i < json_array_size(list) && n < max; i++) {
		struct jval at = jval_at(&root, i);

		n += decode_one(&at, node, pool, &ret[n]);
	}
	return n;
}
