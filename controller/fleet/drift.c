/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/drift.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* By SKU, key and value: {"n", "nodes": [names]}, with up to DRIFT_NODES_MAX names. */
struct drift {
	json_t *skus;
};

struct drift *drift_new(void)
{
	struct drift *d = xcalloc(1, sizeof(*d));

	d->skus = json_object();
	return d;
}

void drift_free(struct drift *d)
{
	if (d)
		json_decref(d->skus);
	free(d);
}

/* Returns the object under the key, creating it if missing. Borrowed. */
static json_t *below(json_t *object, const char *key)
{
	json_t *found = json_object_get(object, key);

	if (!found) {
		found = json_object();
		(void)json_object_set_new(object, key, found);
	}
	return found;
}

static void count(json_t *of_value, const char *node)
{
	json_t *n = json_object_get(of_value, "n"), *nodes = json_object_get(of_value, "nodes");

	if (!n) {
		n = json_integer(0);
		nodes = json_array();
		(void)json_object_set_new(of_value, "n", n);
		(void)json_object_set_new(of_value, "nodes", nodes);
	}
	(void)json_integer_set(n, json_integer_value(n) + 1);
	if (json_array_size(nodes) < DRIFT_NODES_MAX)
		(void)json_array_append_new(nodes, json_string(node));
}

void drift_add(struct drift *d, const json_t *node)
{
	const char *name = json_string_value(json_object_get(node, "node"));
	const char *sku = json_string_value(json_object_get(node, "sku"));
	json_t *env = json_object_get(node, "env"), *value, *keys;
	const char *key;

	if (!name || !sku)
		return;
	keys = below(d->skus, sku);
	json_object_foreach(env, key, value)
	{
		/* The machine ID differs on every host. */
		if (json_is_string(value) && !streq(key, "machine"))
			count(below(below(keys, key), json_string_value(value)), name);
	}
}

/* --- output --- */

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted keys of an object: new memory with borrowed texts. */
static const char **sorted_keys(json_t *object, size_t *ret_n)
{
	const char **keys = xcalloc(json_object_size(object) + 1, sizeof(*keys));
	const char *key;
	json_t *value;
	size_t n = 0;

	json_object_foreach(object, key, value) keys[n++] = key;
	qsort(keys, n, sizeof(*keys), compare_texts);
	*ret_n = n;
	return keys;
}

static json_int_t hosts_of(const json_t *values, const char *value)
{
	return json_integer_value(json_object_get(json_object_get(values, value), "n"));
}

/* Add the nodes with that value, as far as there is room. */
static void tell(json_t *nodes, const json_t *values, const char *value)
{
	const json_t *names = json_object_get(json_object_get(values, value), "nodes");
	size_t i;

	for (i = 0; i < json_array_size(names) && json_array_size(nodes) < DRIFT_NODES_MAX; i++)
		(void)json_array_append_new(
			nodes,
			json_pack("{s:O, s:s}", "node", json_array_get(names, i), "value", value));
}

static json_t *item_of(const char *sku, const char *key, json_t *of_key)
{
	size_t n, i;
	CLEANUP(freep) const char **values = sorted_keys(of_key, &n);
	json_int_t hosts = 0, agree = 0;
	const char *majority = NULL;
	json_t *nodes = json_array();

	for (i = 0; i < n; i++)
		hosts += hosts_of(of_key, values[i]);
	for (i = 0; i < n; i++) {
		if (2 * hosts_of(of_key, values[i]) > hosts && hosts >= DRIFT_HOSTS_MIN)
			majority = values[i];
	}
	for (i = 0; i < n; i++) {
		if (!streq(values[i], majority))
			tell(nodes, of_key, values[i]);
	}
	if (majority)
		agree = hosts_of(of_key, majority);
	return json_pack("{s:s, s:s, s:s?, s:I, s:I, s:o}", "sku", sku, "key", key, "majority",
			 majority, "hosts", hosts, "agree", agree, "nodes", nodes);
}

json_t *drift_items(const struct drift *d)
{
	size_t n_skus, n_keys, i, j;
	CLEANUP(freep) const char **skus = sorted_keys(d->skus, &n_skus);
	json_t *items = json_array();

	for (i = 0; i < n_skus; i++) {
		json_t *of_sku = json_object_get(d->skus, skus[i]);
		CLEANUP(freep) const char **keys = sorted_keys(of_sku, &n_keys);

		for (j = 0; j < n_keys; j++) {
			json_t *of_key = json_object_get(of_sku, keys[j]);

			if (json_object_size(of_key) > 1)
				(void)json_array_append_new(items,
							    item_of(skus[i], keys[j], of_key));
		}
	}
	return items;
}
