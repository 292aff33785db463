/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/topology/topology_file.h"
#include "tests/unit/test.h"

/* A fresh state directory for one test. */
static char *use_state(const char *name)
{
	char *dir = xasprintf("%s/%s", test_dir(), name);

	(void)setenv("ASSAY_STATE_DIR", dir, 1);
	return dir;
}

static char *digest_of(unsigned n)
{
	return xasprintf("%064x", n);
}

static int keep(unsigned n)
{
	CLEANUP(freep) char *digest = digest_of(n);
	json_t *value = json_pack("{s:s}", "digest", digest);
	int r = topology_file_keep(digest, value, NULL);

	json_decref(value);
	return r;
}

static bool is_kept(unsigned n)
{
	CLEANUP(freep) char *digest = digest_of(n);
	CLEANUP(freep) char *text = NULL;
	size_t len = 0;

	return topology_file_read(digest, &text, &len, NULL) == 0;
}

/* It was used `hours` hours ago. */
static void age(const char *state, unsigned n, long hours)
{
	CLEANUP(freep) char *path = xasprintf("%s/topology/%064x.json", state, n);
	const struct timespec when = { .tv_sec = 1700000000 - hours * 3600 };
	const struct timespec times[2] = { when, when };

	CHECK_EQ(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void what_is_kept_is_read_as_it_was(void)
{
	CLEANUP(freep) char *state = use_state("kept");
	CLEANUP(freep) char *digest = digest_of(1);
	CLEANUP(freep) char *text = NULL;
	CLEANUP(freep) char *expected = xasprintf("{\"digest\":\"%s\"}", digest);
	size_t len = 0;

	CHECK_EQ(keep(1), 0);
	CHECK_EQ(topology_file_read(digest, &text, &len, NULL), 0);
	CHECK_STR(text, expected);
	CHECK_EQ(len, strlen(expected));
	CHECK(!is_kept(2));
}

static void only_the_ones_used_last_are_kept(void)
{
	CLEANUP(freep) char *state = use_state("bounded");
	unsigned i;

	for (i = 1; i <= TOPOLOGY_FILES_MAX; i++) {
		CHECK_EQ(keep(i), 0);
		age(state, i, (long)(100 - i));
	}
	CHECK_EQ(keep(1), 0); /* used again: 2 is the oldest now */
	CHECK_EQ(keep(100), 0);
	CHECK(is_kept(1));
	CHECK(!is_kept(2));
	CHECK(is_kept(3));
	CHECK(is_kept(100));
}

static void what_is_no_digest_is_no_path(void)
{
	static const char *const bad[] = { NULL, "", "..", "../../etc/passwd", "abc" };
	CLEANUP(freep) char *state = use_state("digests");
	CLEANUP(freep) char *upper = xasprintf("%064d", 0);
	CLEANUP(freep) char *longer = xasprintf("%065d", 0);
	json_t *value = json_object();
	char *text = NULL;
	size_t len, i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		CHECK(!topology_digest_ok(bad[i]));
		CHECK_EQ(topology_file_keep(bad[i] ? bad[i] : "", value, NULL), -EINVAL);
		CHECK_EQ(topology_file_read(bad[i] ? bad[i] : "", &text, &len, NULL), -EINVAL);
	}
	CHECK(topology_digest_ok(upper));
	upper[3] = 'F';
	CHECK(!topology_digest_ok(upper));
	upper[3] = '/';
	CHECK(!topology_digest_ok(upper));
	CHECK(!topology_digest_ok(longer));
	CHECK(access(state, F_OK) < 0);
	json_decref(value);
}

static void a_huge_one_is_refused(void)
{
	CLEANUP(freep) char *state = use_state("huge");
	CLEANUP(freep) char *digest = digest_of(1);
	CLEANUP(freep) char *text = xasprintf("%0*d", TOPOLOGY_TEXT_MAX, 0);
	json_t *value = json_pack("{s:s}", "x", text);
	struct err err = ERR_INIT;

	CHECK_EQ(topology_file_keep(digest, value, &err), -E2BIG);
	CHECK_HAS(err.msg, "a topology of ");
	CHECK(!is_kept(1));
	json_decref(value);
}

static const struct test tests[] = {
	TEST(what_is_kept_is_read_as_it_was),
	TEST(only_the_ones_used_last_are_kept),
	TEST(what_is_no_digest_is_no_path),
	TEST(a_huge_one_is_refused),
};

TEST_SUITE(tests);
