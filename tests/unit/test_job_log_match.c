/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/job_log_match.h"

#include <errno.h>
#include <stdio.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

static struct job_log_pattern two[] = {
	{ "special", "CUDA out of memory", "more than it has" },
	{ "general", "CUDA", "a word of CUDA" },
};
static const struct job_log_patterns patterns = { two, 2 };

/* Give the text in pieces of `piece` bytes. */
static void play(const char *text, size_t piece, struct job_log_match *ret)
{
	const size_t length = strlen(text);
	size_t at;

	*ret = (struct job_log_match){ .n = 0 };
	for (at = 0; at < length; at += piece)
		job_log_match_add(ret, &patterns, text + at, MIN(piece, length - at));
}

static void of_a_line_the_first_pattern_counts_however_it_comes(void)
{
	static const char text[] =
		"step 1\nCUDA out of memory, CUDA\nCUDA error\n\ncuda\nCUDA has not";
	struct job_log_match match;
	size_t piece;

	for (piece = 1; piece <= sizeof(text); piece++) {
		play(text, piece, &match);
		CHECK_EQ(match.counts[0], 1);
		CHECK_EQ(match.counts[1], 1); /* the last line has not ended */
	}
	job_log_match_add(&match, &patterns, " ended\n", 7);
	CHECK_EQ(match.counts[1], 2);
}

static void of_a_long_line_the_beginning_is_looked_at(void)
{
	struct job_log_match match = { .n = 0 };
	char *line = xcalloc(3 * JOB_LOG_LINE_MAX, 1);

	memset(line, 'x', 3 * JOB_LOG_LINE_MAX);
	memcpy(line + JOB_LOG_LINE_MAX - 4, "CUDA", 4);
	memcpy(line + 2 * JOB_LOG_LINE_MAX, "CUDA out of memory", 18);
	job_log_match_add(&match, &patterns, line, 3 * JOB_LOG_LINE_MAX);
	job_log_match_add(&match, &patterns, "\n", 1);
	CHECK_EQ(match.counts[0], 0);
	CHECK_EQ(match.counts[1], 1);
	memcpy(line + JOB_LOG_LINE_MAX - 4, "xCUD", 4);
	line[JOB_LOG_LINE_MAX] = 'A';
	job_log_match_add(&match, &patterns, line, 3 * JOB_LOG_LINE_MAX);
	job_log_match_add(&match, &patterns, "\n", 1);
	CHECK_EQ(match.counts[1], 1);
	free(line);
}

/* A NUL ends no line, and hides nothing behind it. */
static void bytes_are_bytes(void)
{
	struct job_log_match match = { .n = 0 };

	job_log_match_add(&match, &patterns, "a\0CUDA\n", 7);
	CHECK_EQ(match.counts[1], 1);
}

static void refused(const char *text, const char *words)
{
	struct job_log_patterns read = { .n = 0 };
	json_t *value = json_loads(text, 0, NULL);
	const struct jval root = jval_root(value, "p.yaml");
	struct err err = ERR_INIT;

	CHECK_EQ(job_log_match_decode(&root, &read, &err), -EINVAL);
	CHECK_STR(err.msg, words);
	json_decref(value);
}

static void a_file_of_patterns_is_read_strictly(void)
{
	refused("{\"v\": 2, \"patterns\": []}", "p.yaml: v: expected 1");
	refused("{\"v\": 1, \"patterns\": []}",
		"p.yaml: patterns: expected a list of 1 to 128 patterns");
	refused("{\"v\": 1, \"patterns\": [{\"name\": \"a\", \"text\": \"\", \"says\": \"b\"}]}",
		"p.yaml: patterns[0].text: expected a text of 1 to 127 printable bytes");
	refused("{\"v\": 1, \"patterns\": [{\"name\": \"a\", \"text\": \"t\"}]}",
		"p.yaml: patterns[0].says: missing");
	refused("{\"v\": 1, \"patterns\": [{\"name\": \"a\", \"text\": \"t\", \"says\": \"b\", "
		"\"x\": 1}]}",
		"p.yaml: patterns[0].x: unknown key");
}

static const struct test tests[] = {
	TEST(of_a_line_the_first_pattern_counts_however_it_comes),
	TEST(of_a_long_line_the_beginning_is_looked_at),
	TEST(bytes_are_bytes),
	TEST(a_file_of_patterns_is_read_strictly),
};

TEST_SUITE(tests);
