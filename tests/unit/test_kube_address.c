/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster-internal address of a Node, by which hosts find each other for a test. */
#include <stdlib.h>
#include <string.h>

#include "controller/cluster/kube/kube_node.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

static struct cluster_node node_with(const char *addresses)
{
	CLEANUP(freep)
	char *text = xasprintf("{\"metadata\": {\"name\": \"gpu-1\", \"uid\": \"u\", "
			       "\"resourceVersion\": \"1\"}, \"status\": {\"addresses\": %s}}",
			       addresses);
	CLEANUP(json_freep) json_t *object = NULL;
	struct cluster_node node = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(json_parse(text, strlen(text), "test", &object, &err), 0);
	CHECK_EQ(kube_node_read(object, &cluster_names_usual, &node, &err), 0);
	CHECK_STR(err.msg, "");
	return node;
}

#define ADDRESS(type, address) "{\"type\": \"" type "\", \"address\": \"" address "\"}"

static void the_first_internal_address_is_that_of_the_node(void)
{
	static const struct {
		const char *addresses, *address;
	} rows[] = {
		{ "[]", NULL },
		{ "null", NULL },
		{ "7", NULL },
		{ "[7, {}, {\"type\": \"InternalIP\"}]", NULL },
		{ "[" ADDRESS("Hostname", "gpu-1") ", " ADDRESS("ExternalIP", "1.2.3.4") "]", NULL },
		{ "[" ADDRESS("Hostname", "gpu-1") ", " ADDRESS("InternalIP", "10.0.0.17") "]",
		  "10.0.0.17" },
		{ "[" ADDRESS("InternalIP", "10.0.0.1") ", " ADDRESS("InternalIP", "fd00::1") "]",
		  "10.0.0.1" },
		{ "[" ADDRESS("InternalIP", "fd00::1") ", " ADDRESS("InternalIP", "10.0.0.1") "]",
		  "[fd00::1]" },
		/* What is none goes into no order. */
		{ "[" ADDRESS("InternalIP", "a b,c:1") ", " ADDRESS("InternalIP", "10.0.0.2") "]",
		  "10.0.0.2" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cluster_node node = node_with(rows[i].addresses);
		struct cluster_node copy = cluster_node_copy(&node);

		CHECK_EQ(!node.address, !rows[i].address);
		if (rows[i].address && node.address) {
			CHECK_STR(node.address, rows[i].address);
			CHECK_STR(copy.address, rows[i].address);
		}
		CHECK(cluster_node_same(&node, &copy));
		free(copy.address);
		copy.address = xstrdup("10.9.9.9");
		CHECK(!cluster_node_same(&node, &copy));
		cluster_node_release(&node);
		cluster_node_release(&copy);
	}
}

static const struct test tests[] = {
	TEST(the_first_internal_address_is_that_of_the_node),
};

TEST_SUITE(tests);
