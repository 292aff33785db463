/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "cli/selector.h"
#include "lib/base/err.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

static void a_selector_picks_by_labels(void)
{
	static const struct {
		const char *selector, *labels;
		bool matches;
	} cases[] = {
		{ "rack=r1", "{\"rack\":\"r1\"}", true },
		{ "rack=r1", "{\"rack\":\"r12\"}", false },
		{ "rack=r12", "{\"rack\":\"r1\"}", false },
		{ "rack==r1", "{\"rack\":\"r1\"}", true },
		{ "rack=", "{\"rack\":\"\"}", true },
		{ "rack=", "{}", false },
		{ "rack=r1", "{}", false },
		{ "rack!=r1", "{}", true },
		{ "rack!=r1", "{\"rack\":\"r1\"}", false },
		{ "rack!=r1", "{\"rack\":\"r2\"}", true },
		{ "rack!=", "{\"rack\":\"r2\"}", true },
		{ "rack", "{\"rack\":\"\"}", true },
		{ "rack", "{\"racks\":\"r1\"}", false },
		{ "!rack", "{\"racks\":\"r1\"}", true },
		{ "!rack", "{\"rack\":\"r1\"}", false },
		{ "topology.kubernetes.io/rack=r_1.a-b",
		  "{\"topology.kubernetes.io/rack\":\"r_1.a-b\"}", true },
		{ "rack=r1,pool!=infer,!held", "{\"rack\":\"r1\",\"pool\":\"train\"}", true },
		{ "rack=r1,pool!=infer,!held", "{\"rack\":\"r1\",\"pool\":\"infer\"}", false },
		{ "rack=r1,pool!=infer,!held", "{\"rack\":\"r1\",\"held\":\"x\"}", false },
		{ "rack=1", "{\"rack\":1}", false }, /* labels are texts */
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(json_freep) json_t *labels = NULL;
		struct selector selector = { .n = 0 };

		CHECK_EQ(json_parse(cases[i].labels, strlen(cases[i].labels), "test", &labels, NULL),
			 0);
		CHECK_EQ(selector_parse(cases[i].selector, &selector, NULL), 0);
		CHECK_EQ(selector_matches(&selector, labels), cases[i].matches);
	}
}

static void no_selector_picks_all_and_no_labels_lack_all(void)
{
	const struct selector none = { .n = 0 };
	struct selector selector;

	CHECK(selector_matches(&none, NULL));
	CHECK_EQ(selector_parse("a=b", &selector, NULL), 0);
	CHECK(!selector_matches(&selector, NULL));
	CHECK_EQ(selector_parse("a!=b,!c", &selector, NULL), 0);
	CHECK(selector_matches(&selector, NULL));
}

static void what_is_no_selector_is_refused_with_its_term(void)
{
	static const struct {
		const char *text, *named;
	} cases[] = {
		{ "", "'' is not a selector" },
		{ ",", "'' is not a selector" },
		{ "a=b,", "'' is not a selector" },
		{ "a=b,,c", "'' is not a selector" },
		{ "=b", "'=b' is not a selector" },
		{ "a b", "'a b' is not a selector" },
		{ "x=y,a=b=c,z", "'a=b=c' is not a selector" },
		{ "a===b", "'a===b' is not a selector" },
		{ "!a=b", "'!a=b' is not a selector" },
		{ "!", "'!' is not a selector" },
		{ "a!b", "'a!b' is not a selector" },
		{ "pool in (a,b)", "'pool in (a' is not a selector" },
		{ "a=x/y", "'a=x/y' is not a selector" },
		{ "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "at most 16 terms" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct selector selector = { .n = 7 };
		struct err err = ERR_INIT;

		CHECK_EQ(selector_parse(cases[i].text, &selector, &err), -EINVAL);
		CHECK(strstr(err.msg, cases[i].named));
		CHECK_EQ(selector.n, 7);
	}
	{
		struct selector selector;

		CHECK_EQ(selector_parse("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", &selector, NULL),
			 0);
		CHECK_EQ(selector.n, SELECTOR_TERMS_MAX);
	}
}

static const struct test tests[] = {
	TEST(a_selector_picks_by_labels),
	TEST(no_selector_picks_all_and_no_labels_lack_all),
	TEST(what_is_no_selector_is_refused_with_its_term),
};

TEST_SUITE(tests);
