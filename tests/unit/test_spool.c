/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agents/run/spool.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"
#include "lib/sys/file.h"
#include "tests/unit/test.h"

/* A state directory of its own for each test. */
static void fresh_state(const char *name)
{
	CLEANUP(freep) char *dir = xasprintf("%s/%s", test_dir(), name);

	(void)setenv("ASSAY_STATE_DIR", dir, 1);
}

static char node[] = "n1", boot[] = "b1", when[] = "2026-11-21T00:00:00.000Z", quick[] = "quick";

static int put(uint64_t seq, int level, struct err *err)
{
	struct report report = {
		.node = node, .boot_id = boot, .seq = seq, .time = when, .profile = quick
	};
	struct verdict verdict = { .level = level };

	return spool_put(&report, &verdict, err);
}

static size_t count(void)
{
	CLEANUP(freep) uint64_t *seqs = NULL;
	size_t n = 0;

	CHECK_EQ(spool_list(&seqs, &n, NULL), 0);
	return n;
}

static void what_is_put_is_listed_read_and_done_in_order(void)
{
	CLEANUP(freep) uint64_t *seqs = NULL;
	CLEANUP(freep) char *text = NULL;
	struct err err = ERR_INIT;
	size_t n, len;

	fresh_state("order");
	CHECK_EQ(put(10, VERDICT_PASS, &err), 0);
	CHECK_EQ(put(9, VERDICT_FAIL, &err), 0);
	CHECK_EQ(put(100, VERDICT_WARN, &err), 0);
	CHECK_EQ(spool_list(&seqs, &n, &err), 0);
	CHECK_EQ(n, 3);
	CHECK(n == 3 && seqs[0] == 9 && seqs[1] == 10 && seqs[2] == 100);
	CHECK_EQ(spool_read(10, &text, &len, &err), 0);
	CHECK_HAS(text, "\"seq\":10");
	CHECK_EQ(len, strlen(text));
	CHECK_EQ(spool_done(10, &err), 0);
	CHECK_EQ(spool_done(10, &err), 0);
	CHECK_EQ(count(), 2);
	CHECK_STR(err.msg, "");
}

static void a_report_without_a_number_is_refused(void)
{
	struct err err = ERR_INIT;

	fresh_state("unnumbered");
	CHECK_EQ(put(0, VERDICT_PASS, &err), -EINVAL);
	CHECK_HAS(err.msg, "without a number");
}

static void a_torn_or_foreign_file_is_set_aside_not_lost(void)
{
	CLEANUP(freep) char *torn = NULL;
	CLEANUP(freep) char *foreign = NULL;
	CLEANUP(freep) char *aside = NULL;
	CLEANUP(freep) char *text = NULL;
	struct err err = ERR_INIT;
	size_t len;

	fresh_state("torn");
	CHECK_EQ(put(1, VERDICT_PASS, &err), 0);
	torn = test_file("torn/spool/7.json", "{\"v\":1,\"kind\":\"repo");
	foreign = test_file("torn/spool/8.json", "{\"v\":1,\"kind\":\"report\",\"node\":\"n\","
						 "\"boot_id\":\"b\",\"seq\":9,\"time\":\"t\","
						 "\"profile\":\"quick\"}");
	CHECK_EQ(count(), 3);
	CHECK_EQ(spool_read(7, &text, &len, &err), -EINVAL);
	CHECK_EQ(spool_read(8, &text, &len, &err), -EINVAL);
	CHECK_HAS(err.msg, "holds report 9");
	CHECK_EQ(count(), 1);
	aside = xasprintf("%s/torn/spool/bad/7.json", test_dir());
	CHECK_EQ(access(aside, R_OK), 0);
	CHECK_EQ(spool_read(7, &text, &len, &err), -ENOENT);
}

static char *aside_path(uint64_t seq, const char *suffix)
{
	return xasprintf("%s/aside/spool/bad/%" PRIu64 ".%s", test_dir(), seq, suffix);
}

static bool is_aside(uint64_t seq, const char *suffix)
{
	CLEANUP(freep) char *path = aside_path(seq, suffix);

	return access(path, F_OK) == 0;
}

/* What spool_set_aside() leaves, without its look at all that is there each time. */
static void lay_aside(uint64_t seq)
{
	CLEANUP(freep) char *report = xasprintf("aside/spool/bad/%" PRIu64 ".json", seq);
	CLEANUP(freep) char *why = xasprintf("aside/spool/bad/%" PRIu64 ".why", seq);

	free(test_file(report, "{}"));
	free(test_file(why, "403 not allowed\n"));
}

/* The oldest ones are dropped, each with its reason; a report that was put back leaves none behind. */
static void what_is_set_aside_is_bounded_and_says_why(void)
{
	CLEANUP(freep) char *why = aside_path(SPOOL_BAD_MAX, "why");
	CLEANUP(freep) char *put_back = aside_path(5, "json");
	CLEANUP(freep) char *text = NULL;
	struct err err = ERR_INIT;
	uint64_t seq;
	size_t len;

	fresh_state("aside");
	for (seq = 1; seq <= SPOOL_BAD_MAX - 8; seq++)
		lay_aside(seq);
	for (; seq <= SPOOL_BAD_MAX + 2; seq++) {
		CLEANUP(freep) char *name = xasprintf("aside/spool/%" PRIu64 ".json", seq);

		free(test_file(name, "{}"));
		CHECK_EQ(spool_set_aside(seq, "403 not allowed", &err), 0);
	}
	CHECK_EQ(spool_aside(), SPOOL_BAD_MAX);
	CHECK(!is_aside(2, "json") && !is_aside(2, "why"));
	CHECK(is_aside(3, "json") && is_aside(SPOOL_BAD_MAX + 2, "why"));
	CHECK_EQ(file_read(AT_FDCWD, why, 100, &text, &len, &err), 0);
	CHECK_STR(text, "403 not allowed\n");
	CHECK_EQ(unlink(put_back), 0);
	free(test_file("aside/spool/9000.json", "{}"));
	CHECK_EQ(spool_set_aside(9000, "422 bad", &err), 0);
	CHECK(!is_aside(5, "why") && is_aside(9000, "why"));
	CHECK_EQ(spool_set_aside(9001, "gone meanwhile", &err), 0);
	CHECK(!is_aside(9001, "why"));
	CHECK_STR(err.msg, "");
}

/* What spool_put() leaves, without its look at the whole spool each time. */
static void lay_down(uint64_t seq, bool failure)
{
	CLEANUP(freep) char *report = xasprintf("full/spool/%" PRIu64 ".json", seq);
	CLEANUP(freep) char *keep = xasprintf("full/spool/%" PRIu64 ".keep", seq);

	free(test_file(report, "{}"));
	if (failure)
		free(test_file(keep, ""));
}

static void when_full_passes_go_first_and_failures_last(void)
{
	CLEANUP(freep) uint64_t *seqs = NULL;
	struct err err = ERR_INIT;
	/* Each is put where all that is there is looked at first. */
	const uint64_t over = test_times(200, 40);
	uint64_t seq;
	size_t n, i, failures = 0;

	fresh_state("full");
	/* Every eighth is a failure, the oldest ones among them. */
	for (seq = 1; seq <= SPOOL_FILES_MAX - 8; seq++)
		lay_down(seq, seq % 8 == 1);
	for (; seq <= SPOOL_FILES_MAX + over; seq++)
		CHECK_EQ(put(seq, seq % 8 == 1 ? VERDICT_FAIL : VERDICT_PASS, &err), 0);
	CHECK_EQ(spool_list(&seqs, &n, &err), 0);
	CHECK_EQ(n, SPOOL_FILES_MAX);
	for (i = 0; i < n; i++)
		failures += seqs[i] % 8 == 1;
	CHECK_EQ(failures, (SPOOL_FILES_MAX + over + 7) / 8);
	CHECK_EQ(seqs[0], 1);
	CHECK_EQ(seqs[1], 9);
	CHECK_EQ(seqs[n - 1], SPOOL_FILES_MAX + over);
}

static void other_files_in_the_spool_are_left_alone(void)
{
	CLEANUP(freep) char *a = NULL;
	CLEANUP(freep) char *b = NULL;
	CLEANUP(freep) char *c = NULL;

	fresh_state("others");
	CHECK_EQ(put(3, VERDICT_PASS, NULL), 0);
	a = test_file("others/spool/notes.tmp", "x");
	b = test_file("others/spool/-4.json", "x");
	c = test_file("others/spool/03.json", "x");
	CHECK_EQ(count(), 1);
	CHECK_EQ(access(a, F_OK) + access(b, F_OK) + access(c, F_OK), 0);
}

static void what_a_killed_writer_left_is_removed(void)
{
	CLEANUP(freep) char *left = test_file("killed/spool/7.json.4711.tmp", "{\"v\":1,\"ki");

	fresh_state("killed");
	CHECK_EQ(access(left, F_OK), 0);
	CHECK_EQ(put(8, VERDICT_PASS, NULL), 0);
	CHECK(access(left, F_OK) < 0);
	CHECK_EQ(count(), 1);
}

static void a_directory_that_cannot_be_written_is_an_error_with_its_path(void)
{
	CLEANUP(freep) char *file = test_file("blocked", "a file where the directory should be");
	struct err err = ERR_INIT;

	(void)setenv("ASSAY_STATE_DIR", file, 1);
	CHECK(put(1, VERDICT_PASS, &err) < 0);
	CHECK_HAS(err.msg, "blocked");
}

/* A file size that is not allowed gets no better by what others leave. */
static void a_file_that_may_not_be_so_large_costs_no_other_report(void)
{
	struct rlimit before, tiny;
	struct err err = ERR_INIT;

	fresh_state("limited");
	CHECK_EQ(put(1, VERDICT_PASS, &err), 0);
	CHECK_EQ(put(2, VERDICT_PASS, &err), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	CHECK_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
	tiny = (struct rlimit){ 64, before.rlim_max };
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &tiny), 0);
	CHECK_EQ(put(3, VERDICT_PASS, &err), -EFBIG);
	CHECK_EQ(put(4, VERDICT_FAIL, &err), -EFBIG);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
	CHECK_HAS(err.msg, "File too large");
	CHECK_EQ(count(), 2);
	CHECK_EQ(spool_lost(), 0);
}

static void two_writers_at_once_lose_nothing(void)
{
	int child, status = -1;

	fresh_state("two");
	child = fork();
	if (child == 0) {
		uint64_t seq;
		int bad = 0;

		for (seq = 1; seq <= 100; seq++)
			bad += put(2 * seq, VERDICT_PASS, NULL) < 0;
		_exit(bad != 0);
	}
	for (uint64_t seq = 1; seq <= 100; seq++)
		CHECK_EQ(put(2 * seq + 1, VERDICT_FAIL, NULL), 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_EQ(count(), 200);
}

static const struct test tests[] = {
	TEST(what_is_set_aside_is_bounded_and_says_why),
	TEST(what_is_put_is_listed_read_and_done_in_order),
	TEST(a_report_without_a_number_is_refused),
	TEST(a_torn_or_foreign_file_is_set_aside_not_lost),
	TEST(when_full_passes_go_first_and_failures_last),
	TEST(other_files_in_the_spool_are_left_alone),
	TEST(what_a_killed_writer_left_is_removed),
	TEST(a_directory_that_cannot_be_written_is_an_error_with_its_path),
	TEST(a_file_that_may_not_be_so_large_costs_no_other_report),
	TEST(two_writers_at_once_lose_nothing),
};

TEST_SUITE(tests);
