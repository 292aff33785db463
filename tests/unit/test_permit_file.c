/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agents/assayd/order_meeting.h"
#include "agents/assayd/permit_file.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "probes/all_reduce/reduce_permit.h"
#include "probes/rdma/oob.h"
#include "tests/unit/test.h"

#define TOKEN "0123456789abcdefghijklmnopqrstuv"

enum { PERMISSIONS = 07777 };

static char *peers[] = { (char[]){ "a:1" }, (char[]){ "[::1]:7500" }, NULL };
static char *nobody[] = { NULL };

static struct order_meeting meeting_of(char **passed)
{
	static char token[] = TOKEN;

	return (struct order_meeting){ .peers = peers, .passed = passed, .token = token };
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 ? 0 : st.st_mode & PERMISSIONS;
}

static void fresh_run(void)
{
	static int n;
	CLEANUP(freep) char *dir = xasprintf("%s/run%d", test_dir(), n++);

	(void)setenv("ASSAY_RUN_DIR", dir, 1);
}

static void both_probes_read_what_is_written(void)
{
	CLEANUP(reduce_permit_release) struct reduce_permit permit = { .token = NULL };
	const struct order_meeting all = meeting_of(peers), pair = meeting_of(nobody);
	CLEANUP(freep) char *path = NULL, *token = NULL, *of_pair = NULL;
	struct err err = ERR_INIT;

	fresh_run();
	path = permit_file_path();
	CHECK_EQ(permit_file_write(&all, &err), 0);
	CHECK_EQ(reduce_permit_read(path, &permit, &err), 0);
	CHECK_STR(permit.token, TOKEN);
	CHECK_EQ(reduce_permit_check(&permit, peers, &err), 0);
	CHECK_EQ(oob_token_read(path, &token, &err), 0);
	CHECK_STR(token, TOKEN);
	CHECK_EQ(permit_file_write(&pair, &err), 0);
	CHECK_EQ(oob_token_read(path, &of_pair, &err), 0);
	CHECK_STR(of_pair, TOKEN);
	CHECK_STR(err.msg, "");
}

static void it_is_for_us_alone_whatever_the_umask(void)
{
	static const mode_t masks[] = { 0, 022, 077 };
	const struct order_meeting all = meeting_of(peers);
	struct err err = ERR_INIT;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		CLEANUP(freep) char *path = NULL, *dir = NULL;
		mode_t before;

		fresh_run();
		path = permit_file_path();
		dir = xasprintf("%.*s", (int)(strrchr(path, '/') - path), path);
		(void)mkdir(getenv("ASSAY_RUN_DIR"), 0755);
		before = umask(masks[i]);
		CHECK_EQ(permit_file_write(&all, &err), 0);
		(void)umask(before);
		CHECK_EQ(mode_of(path), 0600);
		CHECK_EQ(mode_of(dir), 0700);
	}
}

static void it_is_removed_with_what_was_left_of_a_write(void)
{
	const struct order_meeting all = meeting_of(peers);
	CLEANUP(freep) char *path = NULL, *left = NULL;
	struct err err = ERR_INIT;
	FILE *file;

	fresh_run();
	permit_file_remove(); /* nothing there is fine */
	path = permit_file_path();
	CHECK_EQ(permit_file_write(&all, &err), 0);
	left = xasprintf("%.*s/.permit.tmp", (int)(strrchr(path, '/') - path), path);
	file = fopen(left, "w");
	CHECK(file && fclose(file) == 0);
	permit_file_remove();
	CHECK_EQ(access(path, F_OK), -1);
	CHECK_EQ(access(left, F_OK), -1);
}

static void a_directory_that_is_another_is_not_followed(void)
{
	const struct order_meeting all = meeting_of(peers);
	CLEANUP(freep) char *path = NULL, *dir = NULL;
	struct err err = ERR_INIT;

	fresh_run();
	path = permit_file_path();
	dir = xasprintf("%.*s", (int)(strrchr(path, '/') - path), path);
	CHECK_EQ(mkdir(getenv("ASSAY_RUN_DIR"), 0755), 0);
	CHECK_EQ(symlink("/", dir), 0);
	CHECK(permit_file_write(&all, &err) < 0);
	CHECK_HAS(err.msg, "cannot use ");
	permit_file_remove();
}

static const struct test tests[] = {
	TEST(both_probes_read_what_is_written),
	TEST(it_is_for_us_alone_whatever_the_umask),
	TEST(it_is_removed_with_what_was_left_of_a_write),
	TEST(a_directory_that_is_another_is_not_followed),
};

TEST_SUITE(tests);
