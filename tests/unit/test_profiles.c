/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/profiles.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

/* A file whose only profile is `q` with one probe, to be varied. */
#define WITH_BUDGET(budget) "v: 1\nprofiles: {q: {budget: " budget ", probes: [" GOOD_PROBE "]}}\n"
#define WITH_PROBE(probe) "v: 1\nprofiles: {q: {budget: 45s, probes: [" probe "]}}\n"
#define GOOD_PROBE "{name: a, budget: 1s, active: false}"

static int read_text(const char *text, struct profiles *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;
	int r = yaml_parse(text, strlen(text), "F", &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, "F");
	return profiles_decode(&root, ret, err);
}

static void a_good_file_is_read(void)
{
	static const char text[] =
		"v: 1\n"
		"profiles:\n"
		"  passive:\n"
		"    budget: 30s\n"
		"    probes: [{name: s, budget: 20s, active: false}]\n"
		"  quick:\n"
		"    budget: 45s\n"
		"    probes:\n"
		"      - {name: a, budget: 500ms, active: false}\n"
		"      - {name: b, exec: /bin/b, args: [-x, 'y z'], budget: 44s}\n";
	CLEANUP(profiles_release) struct profiles p = { 0 };
	struct err err = ERR_INIT;
	const struct profile *quick;

	CHECK_EQ(read_text(text, &p, &err), 0);
	CHECK_EQ(p.n, 2);
	quick = profiles_find(&p, "quick");
	CHECK(quick);
	if (!quick)
		return;
	CHECK_EQ(quick->budget_us, 45 * USEC_PER_SEC);
	CHECK_EQ(quick->n_probes, 2);
	CHECK_STR(quick->probes[0].name, "a");
	CHECK_STR(quick->probes[0].exec, NULL);
	CHECK_EQ(quick->probes[0].active, false);
	CHECK_EQ(quick->probes[0].budget_us, 500 * USEC_PER_MSEC);
	CHECK_STR(quick->probes[1].exec, "/bin/b");
	CHECK_EQ(strv_len(quick->probes[1].args), 2);
	CHECK_STR(quick->probes[1].args[1], "y z");
	CHECK(!profiles_find(&p, "full"));
}

static void a_probe_is_active_unless_the_file_says_otherwise(void)
{
	CLEANUP(profiles_release) struct profiles p = { 0 };

	CHECK_EQ(read_text(WITH_PROBE("{name: a, budget: 1s}"), &p, NULL), 0);
	CHECK(p.items[0].probes[0].active);
}

static void what_is_wrong_is_named_with_its_place(void)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "", "F: empty" },
		{ "# nothing\n", "F: empty" },
		{ "[]", "F: expected an object, not a list" },
		{ "v: 1", "F: profiles: missing" },
		{ "profiles: {}", "F: v: missing" },
		{ "v: 2\nnew: key\n", "F: v: expected 1: this program reads version 1 only" },
		{ "v: one\nprofiles: {}", "F: v: expected a whole number, not a string" },
		{ "v: 1\nprofiles: {}", "F: profiles: expected 1 to 32 profiles, not 0" },
		{ "v: 1\nprofiles: [a]", "F: profiles: expected an object, not a list" },
		{ "v: 1\nprofile: {}\n", "F: profile: unknown key; did you mean profiles?" },
		{ "v: 1\nprofiles: {q: 3}", "F: profiles.q: expected an object, not a number" },
		{ "v: 1\nprofiles: {q: {budget: 1s}}", "F: profiles.q.probes: missing" },
		{ "v: 1\nprofiles: {q: {budget: 1s, probes: []}}",
		  "F: profiles.q.probes: expected 1 to 64 probes, not 0" },
		{ "v: 1\nprofiles: {'../x': {budget: 1s, probes: [" GOOD_PROBE "]}}",
		  "F: profiles.../x: a profile's name is 1 to 64 letters, digits, '-' or '_'" },
		{ "v: 1\nprofiles: {watch: {budget: 1s, probes: [" GOOD_PROBE "]}}",
		  "F: profiles.watch: 'watch' is reserved: assayd keeps what it observes "
		  "under that name" },
		{ WITH_BUDGET("45"),
		  "F: profiles.q.budget: expected a duration such as 45s, not a number" },
		{ WITH_BUDGET("0s"), "F: profiles.q.budget: must be longer than 0" },
		{ WITH_BUDGET("500ms"),
		  "F: profiles.q.budget: its probes need 1s, more than 500ms" },
		{ WITH_PROBE("{name: a, budget: 1s, tempo: 3}"),
		  "F: profiles.q.probes[0].tempo: unknown key" },
		{ WITH_PROBE("{name: a, budget: 1s, least: 2s}"),
		  "F: profiles.q.probes[0].least: is more than its budget" },
		{ WITH_PROBE("{budget: 1s}"), "F: profiles.q.probes[0].name: missing" },
		{ WITH_PROBE("{name: a}"), "F: profiles.q.probes[0].budget: missing" },
		{ WITH_PROBE("{name: 3, budget: 1s}"),
		  "F: profiles.q.probes[0].name: expected a string, not a number" },
		{ WITH_PROBE("{name: a/b, budget: 1s}"),
		  "F: profiles.q.probes[0].name: expected 1 to 64 letters, digits, '-' or '_'" },
		{ WITH_PROBE("{name: a, budget: 1s, active: maybe}"),
		  "F: profiles.q.probes[0].active: expected true or false, not a string" },
		{ WITH_PROBE("{name: a, budget: 1s, args: -x}"),
		  "F: profiles.q.probes[0].args: expected a list, not a string" },
		{ WITH_PROBE("{name: a, budget: 1s, args: [1]}"),
		  "F: profiles.q.probes[0].args[0]: expected a string, not a number" },
		{ WITH_PROBE("{name: a, budget: 1s, exec: bin/a}"),
		  "F: profiles.q.probes[0].exec: expected an absolute path, not 'bin/a'" },
		{ WITH_PROBE(GOOD_PROBE ", " GOOD_PROBE),
		  "F: profiles.q.probes[1].name: 'a' is in this profile twice" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(profiles_release) struct profiles p = { 0 };
		struct err err = ERR_INIT;

		CHECK_EQ(read_text(cases[i].text, &p, &err), -EINVAL);
		CHECK_STR(err.msg, cases[i].message);
		CHECK_EQ(p.n, 0);
	}
}

static void a_negative_budget_is_refused_with_the_text(void)
{
	CLEANUP(profiles_release) struct profiles p = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(read_text(WITH_BUDGET("-5s"), &p, &err), -EINVAL);
	CHECK_HAS(err.msg, "F: profiles.q.budget: ");
	CHECK_HAS(err.msg, "-5s");
}

static void the_need_is_the_longest_passive_and_then_each_active(void)
{
	static const struct profile_probe probes[] = {
		{ .budget_us = 3, .active = false },
		{ .budget_us = 10, .active = true },
		{ .budget_us = 7, .active = false },
		{ .budget_us = 20, .active = true },
	};

	CHECK_EQ(profile_need_us(probes, 4), 37);
	CHECK_EQ(profile_need_us(probes, 1), 3);
	CHECK_EQ(profile_need_us(probes, 0), 0);
}

static void more_profiles_than_the_limit_are_refused(void)
{
	CLEANUP(profiles_release) struct profiles p = { 0 };
	CLEANUP(freep) char *text = xstrdup("v: 1\nprofiles:\n");
	struct err err = ERR_INIT;
	int i;

	for (i = 0; i <= PROFILES_MAX; i++) {
		char *longer =
			xasprintf("%s  p%d: {budget: 1s, probes: [" GOOD_PROBE "]}\n", text, i);

		free(text);
		text = longer;
	}
	CHECK_EQ(read_text(text, &p, &err), -EINVAL);
	CHECK_STR(err.msg, "F: profiles: expected 1 to 32 profiles, not 33");
}

static void a_directory_and_an_absent_file_are_named(void)
{
	CLEANUP(profiles_release) struct profiles p = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(profiles_read("/nowhere/profiles.yaml", &p, &err), -ENOENT);
	CHECK_STR(err.msg, "/nowhere/profiles.yaml: No such file or directory");
	CHECK_EQ(profiles_read(test_dir(), &p, &err), -EISDIR);
	CHECK_HAS(err.msg, ": Is a directory");
}

static const struct test tests[] = {
	TEST(a_good_file_is_read),
	TEST(a_probe_is_active_unless_the_file_says_otherwise),
	TEST(what_is_wrong_is_named_with_its_place),
	TEST(a_negative_budget_is_refused_with_the_text),
	TEST(the_need_is_the_longest_passive_and_then_each_active),
	TEST(more_profiles_than_the_limit_are_refused),
	TEST(a_directory_and_an_absent_file_are_named),
};

TEST_SUITE(tests);
