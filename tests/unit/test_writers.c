/* SPDX-License-Identifier: Apache-2.0 */
/* Who may be able to change a trusted file. */
#include "lib/sys/writers.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

enum { STRANGER = 54321 };

static void a_file_that_others_can_change_is_refused_with_what_to_do(void)
{
	static const struct {
		mode_t file, dir;
		const char *words; /* NULL: it may be believed */
	} rows[] = {
		{ 0644, 0755, NULL },
		{ 0400, 0700, NULL },
		{ 0644, 01777, NULL }, /* others cannot replace it */
		{ 0664, 0755, "can be changed by its group: chmod go-w " },
		{ 0646, 0755, "can be changed by everybody: chmod go-w " },
		{ 0644, 0775, "can be changed by its group: chmod go-w " },
		{ 0644, 0777, "can be changed by everybody: chmod go-w " },
	};
	CLEANUP(freep) char *path = test_file("believed", "{}");
	CLEANUP(freep) char *copy = xstrdup(path);
	const char *dir = dirname(copy);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = ERR_INIT;

		CHECK_EQ(chmod(path, rows[i].file), 0);
		CHECK_EQ(chmod(dir, rows[i].dir), 0);
		CHECK_EQ(writers_check(path, &err), rows[i].words ? -EACCES : 0);
		CHECK(!rows[i].words || strstr(err.msg, rows[i].words));
		CHECK(!rows[i].words || strstr(err.msg, rows[i].file == 0644 ? dir : path));
	}
	CHECK_EQ(chmod(dir, 0700), 0);
}

static void whoever_can_write_a_directory_far_above_can_swap_it_all(void)
{
	static const struct {
		mode_t far;
		const char *words; /* NULL: it may be believed */
	} rows[] = {
		{ 0755, NULL },
		{ 01777, NULL },
		{ 0777, "can be changed by everybody: chmod go-w " },
		{ 0770, "can be changed by its group: chmod go-w " },
	};
	CLEANUP(freep) char *near_far = test_file("near", "{}"), *link = NULL;
	CLEANUP(freep) char *far = xasprintf("%s.d", near_far);
	CLEANUP(freep) char *dir = xasprintf("%s/state", far);
	CLEANUP(freep) char *path = xasprintf("%s/believed", dir);
	size_t i;

	CHECK_EQ(mkdir(far, 0755), 0);
	CHECK_EQ(mkdir(dir, 0755), 0);
	CHECK_EQ(rename(near_far, path), 0);
	link = xasprintf("%s.link", near_far);
	CHECK_EQ(symlink(dir, link), 0);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *by_link = xasprintf("%s/believed", link);
		const char *ways[] = { path, by_link };
		size_t k;

		CHECK_EQ(chmod(far, rows[i].far), 0);
		for (k = 0; k < ARRAY_SIZE(ways); k++) {
			struct err err = ERR_INIT;

			CHECK_EQ(writers_check(ways[k], &err), rows[i].words ? -EACCES : 0);
			CHECK(!rows[i].words || strstr(err.msg, rows[i].words));
			CHECK(!rows[i].words || strstr(err.msg, far));
		}
	}
	CHECK_EQ(unlink(link), 0);
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(rmdir(dir), 0);
	CHECK_EQ(rmdir(far), 0);
}

static void a_file_of_another_user_is_refused(void)
{
	CLEANUP(freep) char *path = test_file("of-another", "{}");
	struct err err = ERR_INIT;

	if (geteuid() != 0) {
		test_skip("only root can give a file away");
		return;
	}
	CHECK_EQ(chown(path, STRANGER, 0), 0);
	CHECK_EQ(writers_check(path, &err), -EACCES);
	CHECK_HAS(err.msg, "belongs to user 54321, who may change it: chown root ");
}

static void one_that_is_not_there_is_an_error_of_its_own(void)
{
	CHECK_EQ(writers_check("/nowhere/believed", NULL), -ENOENT);
}

static const struct test tests[] = {
	TEST(a_file_that_others_can_change_is_refused_with_what_to_do),
	TEST(whoever_can_write_a_directory_far_above_can_swap_it_all),
	TEST(a_file_of_another_user_is_refused),
	TEST(one_that_is_not_there_is_an_error_of_its_own),
};

TEST_SUITE(tests);
