/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/glob.h"

#include <fnmatch.h>
#include <string.h>
#include <time.h>

#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

static const char *const patterns[] = {
	"",
	"*",
	"**",
	"?",
	"gemm.*",
	"gemm.rate",
	"*.correct",
	"all_*",
	"*a*b*c*",
	"[abc]",
	"[!abc]*",
	"[^a]",
	"[]a]",
	"[a-c]x",
	"[c-a]",
	"[a",
	"a[",
	"\\*",
	"\\a",
	"a\\",
	"[\\]a]",
	"[[:digit:]]*",
	"[[:alpha:]_]",
	"[[:nothing:]]",
	"x?y",
	"*.b",
	"a*a*a*b",
	"[a-]",
	"[-a]",
	"xid:7?",
};
static const char *const texts[] = {
	"",
	"a",
	"b",
	"gemm.rate",
	"gemm.",
	"gemm",
	"memory.correct",
	"all_reduce.busbw",
	"abc",
	"xaxbxcx",
	"]",
	"-",
	"ax",
	"bx",
	"[a",
	"a[",
	"*",
	"\\",
	"a\\",
	"7up",
	"_",
	"xay",
	"x.b",
	".b",
	"aaaab",
	"aaaa",
	"xid:79",
	"\xc3\xa9",
};

static void patterns_match_as_fnmatch_has_them(void)
{
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(patterns); i++) {
		for (j = 0; j < ARRAY_SIZE(texts); j++) {
			CLEANUP(freep)
			char *pair = xasprintf("%s  %s", patterns[i], texts[j]);
			bool same = glob_match(patterns[i], texts[j]) ==
				    (fnmatch(patterns[i], texts[j], 0) == 0);

			CHECK_STR(same ? "" : pair, "");
		}
	}
}

/* Of a few letters, so that many match. */
static void fill(struct random *chance, char *text, size_t size, const char *letters)
{
	size_t n = random_below(chance, size), i;

	for (i = 0; i < n; i++)
		text[i] = letters[random_below(chance, strlen(letters))];
	text[n] = '\0';
}

static void so_do_patterns_at_random(void)
{
	char pattern[9], text[9];
	struct random chance = random_seeded(7);
	unsigned matched = 0, i;

	for (i = 0; i < 300000; i++) {
		bool ours;

		fill(&chance, pattern, sizeof(pattern), "ab*?");
		fill(&chance, text, sizeof(text), "ab");
		ours = glob_match(pattern, text);
		matched += ours;
		if (ours != (fnmatch(pattern, text, 0) == 0))
			CHECK_STR(pattern, text);
	}
	CHECK(matched > 10000 && matched < 200000);
}

static void a_pattern_has_so_many_steps_and_bytes(void)
{
	char text[GLOB_BYTES_MAX + 2];

	memset(text, 'a', sizeof(text));
	text[GLOB_BYTES_MAX] = '\0';
	CHECK(glob_ok(text));
	text[GLOB_BYTES_MAX] = 'a';
	text[GLOB_BYTES_MAX + 1] = '\0';
	CHECK(!glob_ok(text));
	text[GLOB_STEPS_MAX + 1] = '\0';
	text[0] = '*';
	CHECK(glob_ok(text));
	CHECK(glob_match(text, text + 1));
	text[GLOB_STEPS_MAX + 1] = 'a';
	text[GLOB_STEPS_MAX + 2] = '\0';
	CHECK(!glob_ok(text));
	CHECK(!glob_match(text, text));
	CHECK(glob_ok("[ab][ab][ab][ab][ab][ab][ab][ab]"));
	CHECK(!glob_ok("[ab][ab][ab][ab][ab][ab][ab][ab][ab]"));
}

/* By what a plain comparison of the same length takes, in the same run: fnmatch() needs years. */
/* CPU time of this thread, so that other load does not count. */
static uint64_t worked_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * USEC_PER_SEC + (uint64_t)t.tv_nsec / 1000;
}

static void no_pattern_takes_longer_than_the_text(void)
{
	static const char stars[] = "*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b";
	enum { LENGTH = 1 << 20 };
	CLEANUP(freep) char *text = xcalloc(LENGTH + 1, 1);
	uint64_t start_us = worked_us(), one_us, stars_us;

	memset(text, 'a', LENGTH);
	CHECK(!glob_match("*b", text));
	one_us = worked_us() - start_us;
	start_us = worked_us();
	CHECK(!glob_match(stars, text));
	stars_us = worked_us() - start_us;
	CHECK(stars_us < 20 * one_us + 20 * USEC_PER_MSEC);
}

static const struct test tests[] = {
	TEST(patterns_match_as_fnmatch_has_them),
	TEST(so_do_patterns_at_random),
	TEST(a_pattern_has_so_many_steps_and_bytes),
	TEST(no_pattern_takes_longer_than_the_text),
};

TEST_SUITE(tests);
