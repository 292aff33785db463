/* SPDX-License-Identifier: Apache-2.0 */
/* The names with a prefix, and the allowed prefixes. */
#include "controller/cluster/cluster_names.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

static void the_usual_names_are_those_of_the_usual_prefix(void)
{
	struct cluster_names none = cluster_names_of(NULL);
	struct cluster_names told = cluster_names_of(CLUSTER_PREFIX);

	CHECK(memcmp(&none, &cluster_names_usual, sizeof(none)) == 0);
	CHECK(memcmp(&told, &cluster_names_usual, sizeof(told)) == 0);
	CHECK_STR(told.cordon, "assay.dev/cordon");
	CHECK_STR(told.healthy, "assay.dev/Healthy");
}

static void every_name_is_behind_the_prefix(void)
{
	const struct cluster_names names = cluster_names_of("gpu.example.com");
	const char *const expected[] = {
		names.prefix,
		"gpu.example.com",
		names.cordon,
		"gpu.example.com/cordon",
		names.override,
		"gpu.example.com/override-until",
		names.drain,
		"gpu.example.com/drain",
		names.managed,
		"gpu.example.com/managed",
		names.testing,
		"gpu.example.com/testing",
		names.unverified,
		"gpu.example.com/unverified",
		names.unhealthy,
		"gpu.example.com/unhealthy",
		names.healthy,
		"gpu.example.com/Healthy",
		names.ledger,
		"gpu.example.com/ledger",
		names.ledger_writer,
		"gpu.example.com/ledger-writer",
		names.stop,
		"gpu.example.com/stop",
		names.not_our_mark,
		"its annotation gpu.example.com/cordon is not one that Assay wrote",
		names.not_our_hold,
		"its taint gpu.example.com/testing is not one that Assay set",
		names.opted_out,
		"it has opted out (label gpu.example.com/managed)",
		names.undo_verified,
		"kubectl taint node NODE gpu.example.com/unverified=:NoSchedule",
	};
	size_t i;

	_Static_assert(sizeof(struct cluster_names) ==
			       ARRAY_SIZE(expected) / 2 * (size_t)CLUSTER_NAME_SIZE,
		       "each of them is here");
	for (i = 0; i < ARRAY_SIZE(expected); i += 2)
		CHECK_STR(expected[i], expected[i + 1]);
}

static void the_longest_prefix_is_not_cut(void)
{
	char prefix[SUBDOMAIN_MAX + 2];
	struct cluster_names names;

	memset(prefix, 'a', SUBDOMAIN_MAX + 1);
	prefix[SUBDOMAIN_MAX + 1] = '\0';
	CHECK(cluster_prefix_wrong(prefix) != NULL);
	prefix[SUBDOMAIN_MAX] = '\0';
	CHECK(cluster_prefix_wrong(prefix) == NULL);
	names = cluster_names_of(prefix);
	CHECK_EQ(strlen(names.prefix), SUBDOMAIN_MAX);
	CHECK_EQ(strlen(names.override), SUBDOMAIN_MAX + strlen("/override-until"));
	CHECK_HAS(names.not_our_mark, "/cordon is not one that Assay wrote");
	CHECK_HAS(names.undo_verified, "/unverified=:NoSchedule");
}

static void a_prefix_is_a_domain_of_ones_own(void)
{
	static const struct {
		const char *prefix, *words; /* NULL: nothing is wrong */
	} rows[] = {
		{ "assay.dev", NULL },
		{ "a", NULL },
		{ "0-9.example.com", NULL },
		{ "a--b.c", NULL },
		{ "mykubernetes.io", NULL },
		{ "kubernetes.io.example.com", NULL },
		{ "", "a DNS subdomain" },
		{ ".", "a DNS subdomain" },
		{ "a.", "a DNS subdomain" },
		{ ".a", "a DNS subdomain" },
		{ "a..b", "a DNS subdomain" },
		{ "-a", "a DNS subdomain" },
		{ "a-", "a DNS subdomain" },
		{ "a-.b", "a DNS subdomain" },
		{ "a.-b", "a DNS subdomain" },
		{ "A.b", "a DNS subdomain" },
		{ "a_b", "a DNS subdomain" },
		{ "a b", "a DNS subdomain" },
		{ "a\n", "a DNS subdomain" },
		{ "g\xc3\xbc.de", "a DNS subdomain" },
		{ "assay.dev/", "without a slash" },
		{ "/", "without a slash" },
		{ "k8s.io", "a domain of your own" },
		{ "kubernetes.io", "a domain of your own" },
		{ "node.kubernetes.io", "a domain of your own" },
		{ "remediation.medik8s.io", "a domain of your own" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *words = cluster_prefix_wrong(rows[i].prefix);

		if (rows[i].words)
			CHECK_HAS(words ? words : rows[i].prefix, rows[i].words);
		else
			CHECK_STR(words ? words : "", "");
	}
}

static const struct test tests[] = {
	TEST(the_usual_names_are_those_of_the_usual_prefix),
	TEST(every_name_is_behind_the_prefix),
	TEST(the_longest_prefix_is_not_cut),
	TEST(a_prefix_is_a_domain_of_ones_own),
};

TEST_SUITE(tests);
