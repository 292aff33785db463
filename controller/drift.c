/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/drift.h"

#include <stdlib.h>

#include "lib/xalloc.h"

/* One (sku, key, value) of one host. All borrowed. */
struct fact {
	const char *sku, *key, *value, *node;
};

static int compare_facts(const void *a, const void *b)
{
	const struct fact *x = a, *y = b;
	int r = strcmp(x->sku, y->sku);

	if (r == 0)
		r = strcmp(x->key, y->key);
	if (r == 0)
		r = strcmp(x->value, y->value);
	return r ? r : strcmp(x->node, y->node);
}

static size_t count_facts(const json_t *nodes)
{
	size_t n = 0, i;

	for (i = 0; i < json_array_size(nodes); i++)
		n += json_object_size(json_object_get(json_array_get(nodes, i), "env"));
	return n;
}

/* The facts of one host; what has no SKU or is no text is left out. */
static size_t add_facts(json_t *node, struct fact *facts)
{
	const char *name = json_string_value(json_object_get(node, "node"));
	const char *sku = json_string_value(json_object_get(node, "sku"));
	json_t *env = json_object_get(node, "env"), *value;
	const char *key;
	size_t n = 0;

	if (!name || !sku)
		return 0;
	json_object_foreach(env, key, value)
	{
		/* Every host is a machine of its own. */
		if (json_is_string(value) && !streq(key, "machine"))
			facts[n++] = (struct fact){ sku, key, json_string_value(value), name };
	}
	return n;
}

static bool same_key(const struct fact *a, const struct fact *b)
{
	return streq(a->sku, b->sku) && streq(a->key, b->key);
}

/* The value of more than half of `n` sorted facts, or NULL; `ret_agree` of them have it. */
static const char *majority(const struct fact *facts, size_t n, size_t *ret_agree)
{
	const char *middle = facts[n / 2].value; /* only this one can be it */
	size_t agree = 0, i;

	for (i = 0; i < n; i++)
		agree += streq(facts[i].value, middle);
	*ret_agree = agree;
	return 2 * agree > n && n >= DRIFT_HOSTS_MIN ? middle : NULL;
}

static json_t *item_of(const struct fact *facts, size_t n)
{
	size_t agree = 0, i;
	const char *value = majority(facts, n, &agree);
	json_t *nodes = json_array();

	for (i = 0; i < n && json_array_size(nodes) < DRIFT_NODES_MAX; i++) {
		if (!value || !streq(facts[i].value, value))
			(void)json_array_append_new(nodes,
						    json_pack("{s:s, s:s}", "node", facts[i].node,
							      "value", facts[i].value));
	}
	return json_pack("{s:s, s:s, s:s?, s:I, s:I, s:o}", "sku", facts->sku, "key", facts->key,
			 "majority", value, "hosts", (json_int_t)n, "agree",
			 (json_int_t)(value ? agree : 0), "nodes", nodes);
}

json_t *drift_find(const json_t *nodes)
{
	CLEANUP(freep)
	struct fact *facts = xcalloc(count_facts(nodes) + 1, sizeof(*facts));
	json_t *items = json_array();
	size_t n = 0, i, first = 0;

	for (i = 0; i < json_array_size(nodes); i++)
		n += add_facts(json_array_get(nodes, i), &facts[n]);
	qsort(facts, n, sizeof(*facts), compare_facts);
	for (i = 1; i <= n; i++) {
		if (i < n && same_key(&facts[first], &facts[i]))
			continue;
		/* Sorted: all the same when the first and the last are. */
		if (!streq(facts[first].value, facts[i - 1].value))
			(void)json_array_append_new(items, item_of(&facts[first], i - first));
		first = i;
	}
	return items;
}
