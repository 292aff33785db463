/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/drift.h"

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

/* Drift of hosts of "sku:key=value" texts, as compact JSON. */
static char *drift_of(const char *const *hosts, size_t n)
{
	struct drift *drift = drift_new();
	CLEANUP(json_freep) json_t *items = NULL;
	size_t i;

	for (i = 0; i < n; i++) {
		CLEANUP(freep) char *name = xasprintf("h%zu", i);
		CLEANUP(freep) char *sku = xstrndup(hosts[i], strcspn(hosts[i], ":"));

		CLEANUP(json_freep)
		json_t *node = json_pack("{s:s, s:s*, s:{s:s, s:s}}", "node", name, "sku",
					 *sku ? sku : NULL, "env", "kernel",
					 strchr(hosts[i], ':') + 1, "machine", name);

		drift_add(drift, node);
	}
	items = drift_items(drift);
	drift_free(drift);
	return json_dumps(items, JSON_COMPACT);
}

static void who_differs_from_most_is_named(void)
{
	static const struct {
		const char *hosts[5];
		size_t n;
		const char *items;
	} rows[] = {
		{ { "" }, 0, "[]" },
		{ { "a:6", "a:6", "a:6" }, 3, "[]" },
		{ { "a:6", "a:6", "a:5" },
		  3,
		  "[{\"sku\":\"a\",\"key\":\"kernel\",\"majority\":\"6\",\"hosts\":3,\"agree\":2,"
		  "\"nodes\":[{\"node\":\"h2\",\"value\":\"5\"}]}]" },
		/* Nobody is compared with another SKU, or without one. */
		{ { "a:6", "a:6", "b:5", "b:5" }, 4, "[]" },
		{ { "a:6", "a:6", "a:6", ":5" }, 4, "[]" },
		/* Half is no majority, and two are no fleet: all are told, nobody is right. */
		{ { "a:6", "a:5" },
		  2,
		  "[{\"sku\":\"a\",\"key\":\"kernel\",\"majority\":null,\"hosts\":2,\"agree\":0,"
		  "\"nodes\":[{\"node\":\"h1\",\"value\":\"5\"},{\"node\":\"h0\",\"value\":\"6\"}]}"
		  "]" },
		{ { "a:6", "a:5", "a:6", "a:5" },
		  4,
		  "[{\"sku\":\"a\",\"key\":\"kernel\",\"majority\":null,\"hosts\":4,\"agree\":0,"
		  "\"nodes\":[{\"node\":\"h1\",\"value\":\"5\"},{\"node\":\"h3\",\"value\":\"5\"},"
		  "{\"node\":\"h0\",\"value\":\"6\"},{\"node\":\"h2\",\"value\":\"6\"}]}]" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *items = drift_of(rows[i].hosts, rows[i].n);

		CHECK_STR(items, rows[i].items);
	}
}

static const struct test tests[] = { TEST(who_differs_from_most_is_named) };

TEST_SUITE(tests);
