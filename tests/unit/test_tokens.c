/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/auth/tokens.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

/* SHA-256 of "test", "abc" and "submit". */
#define TEST_SUM "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
#define ABC_SUM "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define SUBMIT_SUM "75490bd7b93e6fa7d18cfdea90cc6bcb983d5f3ea326249d2709ca6c94bc07ba"

static int read_text(const char *text, struct tokens *ret, struct err *err)
{
	CLEANUP(freep) char *path = test_file("tokens.yaml", text);

	return tokens_read(path, ret, err);
}

static void a_token_says_who_somebody_is(void)
{
	CLEANUP(tokens_release) struct tokens a = { 0 };
	struct identity who = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(read_text("v: 1\ntokens:\n"
			   "- {sha256: " TEST_SUM ", node: gpu-17}\n"
			   "- {sha256: " ABC_SUM ", role: operate, name: ann@example}\n"
			   "- {sha256: " SUBMIT_SUM ", role: submit, jobs: 'llm-*'}\n",
			   &a, &err),
		 0);
	CHECK(tokens_identify(&a, "test", NULL, &who));
	CHECK_EQ(who.role, ROLE_NODE);
	CHECK_STR(who.node, "gpu-17");
	CHECK(who.name == NULL);
	CHECK(tokens_identify(&a, "abc", NULL, &who));
	CHECK_EQ(who.role, ROLE_OPERATE);
	CHECK(who.node == NULL);
	CHECK_STR(who.name, "ann@example");
	CHECK(who.jobs == NULL);
	CHECK(tokens_identify(&a, "submit", NULL, &who));
	CHECK_EQ(who.role, ROLE_SUBMIT);
	CHECK_STR(who.jobs, "llm-*");
	CHECK(!tokens_identify(&a, "", NULL, &who));
	CHECK(!tokens_identify(&a, "abcd", NULL, &who));
	CHECK(!tokens_identify(&a, NULL, NULL, &who));
	/* A certificate counts only where they are asked for, and beside no wrong token. */
	CHECK(!tokens_identify(&a, NULL, "gpu-1", &who));
	a.certificates = true;
	CHECK(tokens_identify(&a, NULL, "gpu-1", &who));
	CHECK_EQ(who.role, ROLE_NODE);
	CHECK_STR(who.node, "gpu-1");
	CHECK(!tokens_identify(&a, "wrong", "gpu-1", &who));
	CHECK(!tokens_identify(&a, NULL, "../x", &who));
}

static void bad_files_are_refused_with_the_place(void)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{ "v: 2\ntokens: []\n", "v:" },
		{ "v: 1\n", "tokens" },
		{ "v: 1\ntokens: {}\n", "tokens" },
		{ "v: 1\ntokens: [{sha256: abc, role: read}]\n", "tokens[0].sha256: expected 64" },
		{ "v: 1\ntokens: [{sha256: " ABC_SUM "}]\n", "tokens[0]: expected either" },
		{ "v: 1\ntokens: [{sha256: " ABC_SUM ", role: read, node: a}]\n",
		  "tokens[0]: expected either" },
		{ "v: 1\ntokens: [{sha256: " ABC_SUM ", role: root}]\n",
		  "tokens[0].role: expected read" },
		{ "v: 1\ntokens: [{sha256: " ABC_SUM ", node: a/b}]\n", "tokens[0].node" },
		{ "v: 1\ntokens: [{sha256: " ABC_SUM ", role: read, name: 'a b'}]\n",
		  "tokens[0].name: expected 1 to 64" },
		{ "v: 1\ntokens: [{sha256: " ABC_SUM ", role: read, name: ''}]\n",
		  "tokens[0].name: expected 1 to 64" },
		{ "v: 1\ntokens: [{sha256: " ABC_SUM ", role: read, x: 1}]\n", "tokens[0].x" },
		{ "v: 1\ntokens: [{sha256: " ABC_SUM ", role: read}, {sha256: " ABC_SUM
		  ", role: admin}]\n",
		  "twice" },
		{ "v: 1\ntokens: [{sha256: " ABC_SUM ", role: submit}]\n",
		  "tokens[0]: jobs (a pattern" },
		{ "v: 1\ntokens: [{sha256: " ABC_SUM ", role: submit, jobs: ''}]\n",
		  "tokens[0]: jobs (a pattern" },
		{ "v: 1\ntokens: [{sha256: " ABC_SUM ", role: read, jobs: x}]\n",
		  "tokens[0]: jobs (a pattern" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tokens a = { 0 };
		struct err err = ERR_INIT;

		CHECK_EQ(read_text(rows[i].text, &a, &err), -EINVAL);
		CHECK_HAS(err.msg, rows[i].words);
	}
}

static const struct test tests[] = {
	TEST(a_token_says_who_somebody_is),
	TEST(bad_files_are_refused_with_the_place),
};

TEST_SUITE(tests);
