/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"
#include "lib/sys/state.h"
#include "tests/unit/test.h"

enum { WRITERS = 8 };

/* A fresh state directory for one test. */
static char *use_state(const char *name)
{
	char *dir = xasprintf("%s/%s", test_dir(), name);

	(void)setenv("ASSAY_STATE_DIR", dir, 1);
	return dir;
}

static void numbers_start_at_one_and_go_up(void)
{
	CLEANUP(freep) char *dir = use_state("fresh/below");
	uint64_t seq = 77, i;

	for (i = 1; i <= 20; i++) {
		CHECK_EQ(state_next_seq(&seq, NULL), 0);
		CHECK_EQ(seq, i);
	}
}

static void a_damaged_number_is_refused_not_restarted(void)
{
	static const char *const cases[] = {
		"", "\n", "abc\n", "-1\n", "1 2\n", "1.5\n", "99999999999999999999\n"
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) char *dir = use_state("damaged");
		CLEANUP(freep) char *path = test_file("damaged/seq", cases[i]);
		struct err err = ERR_INIT;
		uint64_t seq = 77;

		CHECK_EQ(state_next_seq(&seq, &err), -EINVAL);
		CHECK_EQ(seq, 77);
		CHECK_HAS(err.msg,
			  "damaged/seq does not hold a number: write the last number used");
	}
}

static void a_number_that_cannot_be_read_is_no_new_start(void)
{
	CLEANUP(freep) char *dir = use_state("unreadable");
	CLEANUP(freep) char *path = test_file("unreadable/seq/inside", "");
	struct err err = ERR_INIT;
	uint64_t seq = 77;

	CHECK_EQ(state_next_seq(&seq, &err), -EISDIR);
	CHECK_EQ(seq, 77);
	CHECK_HAS(err.msg, "unreadable/seq: Is a directory");
}

/* Take numbers and write each into `fd` (a pipe: 8 bytes are atomic); 0: until killed. */
static void take_numbers(int fd, unsigned count)
{
	unsigned i;

	for (i = 0; count == 0 || i < count; i++) {
		uint64_t seq = 0;
		int r;

		do { /* on a busy disk the others hold the lock for long */
			r = state_next_seq(&seq, NULL);
		} while (r == -ETIMEDOUT);
		if (r < 0 || write(fd, &seq, sizeof(seq)) != sizeof(seq))
			_exit(1);
	}
	_exit(0);
}

/* Mark `seq` as seen; false when it was, or is not in 1..limit. */
static bool first_time(bool *seen, uint64_t limit, uint64_t seq)
{
	if (seq == 0 || seq > limit || seen[seq])
		return false;
	seen[seq] = true;
	return true;
}

static void processes_never_get_the_same_number(void)
{
	unsigned each = test_full() ? 200 : 25, total = WRITERS * each, got = 0, repeated = 0;
	CLEANUP(freep) char *dir = use_state("many");
	CLEANUP(freep) bool *seen = xcalloc(total + 1, sizeof(bool));
	pid_t children[WRITERS];
	uint64_t seq = 0;
	int ends[2];
	size_t i;

	CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
	for (i = 0; i < WRITERS; i++) {
		children[i] = fork();
		if (children[i] == 0)
			take_numbers(ends[1], each);
	}
	(void)close(ends[1]);
	for (; read(ends[0], &seq, sizeof(seq)) == sizeof(seq); got++)
		repeated += !first_time(seen, total, seq);
	(void)close(ends[0]);
	for (i = 0; i < WRITERS; i++) {
		int status = -1;

		CHECK_EQ(waitpid(children[i], &status, 0), children[i]);
		CHECK_EQ(status, 0);
	}
	CHECK_EQ(got, total);
	CHECK_EQ(repeated, 0);
}

enum { FIRST_MS = 60000 }; /* for a first number, on a busy machine */

/*
 * One life of a process that takes numbers: killed at a random moment within
 * 20 ms, of its start or (`told`) of its first number. Returns the last number it told, else
 * `last`; counts numbers not above those before.
 */
static uint64_t one_life(uint64_t last, bool told, unsigned *repeated)
{
	struct timespec moment = { .tv_nsec = (random() % 20000) * 1000 };
	uint64_t seq = 0;
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		abort();
	child = fork();
	if (child == 0)
		take_numbers(ends[1], 0);
	(void)close(ends[1]);
	if (told)
		CHECK_EQ(poll(&(struct pollfd){ .fd = ends[0], .events = POLLIN }, 1, FIRST_MS), 1);
	(void)ppoll(NULL, 0, &moment, NULL);
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	while (read(ends[0], &seq, sizeof(seq)) == sizeof(seq)) {
		*repeated += seq <= last;
		last = seq;
	}
	(void)close(ends[0]);
	return last;
}

static void a_kill_at_any_moment_repeats_no_number(void)
{
	unsigned lives = test_full() ? 200 : 40, repeated = 0, i;
	CLEANUP(freep) char *dir = use_state("killed");
	uint64_t last = 0, seq = 0;

	srandom(1);
	for (i = 0; i < lives; i++)
		last = one_life(last, i % 2, &repeated);
	CHECK_EQ(repeated, 0);
	CHECK(last > 0);
	CHECK_EQ(state_next_seq(&seq, NULL), 0);
	CHECK(seq > last);
}

static void what_is_saved_is_loaded(void)
{
	CLEANUP(freep) char *dir = use_state("saved");
	CLEANUP(json_freep) json_t *value = json_pack("{s:[i,s]}", "a", 1, "b");
	CLEANUP(json_freep) json_t *back = NULL;
	struct err err = ERR_INIT;

	CHECK_EQ(state_load("last/quick.json", &back, &err), -ENOENT);
	CHECK_EQ(state_save("last/quick.json", value, &err), 0);
	CHECK_EQ(state_load("last/quick.json", &back, &err), 0);
	CHECK(json_equal(value, back));
}

static void damaged_state_says_where(void)
{
	CLEANUP(freep) char *dir = use_state("torn");
	CLEANUP(freep) char *path = test_file("torn/verdict.json", "{\"v\":1,");
	CLEANUP(json_freep) json_t *back = NULL;
	struct err err = ERR_INIT;

	CHECK_EQ(state_load("verdict.json", &back, &err), -EINVAL);
	CHECK(!back);
	CHECK_HAS(err.msg, "torn/verdict.json: line 1: ");
}

static void saving_below_a_file_says_why(void)
{
	CLEANUP(freep) char *path = test_file("plain", "");
	CLEANUP(freep) char *dir = use_state("plain");
	CLEANUP(json_freep) json_t *value = json_object();
	struct err err = ERR_INIT;
	uint64_t seq = 77;

	CHECK_EQ(state_save("x.json", value, &err), -ENOTDIR);
	CHECK_HAS(err.msg, "cannot make directory");
	CHECK_EQ(state_next_seq(&seq, &err), -ENOTDIR);
	CHECK_EQ(seq, 77);
}

static const struct test tests[] = {
	TEST(numbers_start_at_one_and_go_up),
	TEST(a_damaged_number_is_refused_not_restarted),
	TEST(a_number_that_cannot_be_read_is_no_new_start),
	TEST(processes_never_get_the_same_number),
	TEST(a_kill_at_any_moment_repeats_no_number),
	TEST(what_is_saved_is_loaded),
	TEST(damaged_state_says_where),
	TEST(saving_below_a_file_says_why),
};

TEST_SUITE(tests);
