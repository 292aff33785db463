/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/accel/gpu_users.h"
#include "tests/unit/test.h"

static int take(const char *yaml, struct gpu_users *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *doc = NULL;
	int r = yaml_parse(yaml, strlen(yaml), "gpu-users.yaml", &doc, err);

	return r < 0 ? r : gpu_users_take(doc, "gpu-users.yaml", ret, err);
}

static void the_shipped_file_is_read_and_says_where_each_row_is_from(void)
{
	CLEANUP(freep) char *dir = test_source("policies");
	CLEANUP(gpu_users_release) struct gpu_users users = { 0 };
	struct err err = ERR_INIT;
	size_t i;

	(void)setenv("ASSAY_POLICY_DIR", dir, 1);
	CHECK_EQ(gpu_users_load(&users, &err), 0);
	CHECK_STR(err.msg, "");
	CHECK(users.n >= 5);
	for (i = 0; i < users.n; i++)
		CHECK(users.rows[i].source && users.rows[i].source[0] && users.rows[i].note);
}

static void a_process_is_found_by_what_the_kernel_keeps_of_its_name(void)
{
	static const struct {
		const char *comm, *command; /* NULL: not allowed */
	} cases[] = {
		{ "nvidia-cuda-mps", "nvidia-cuda-mps-server" },
		{ "nv-hostengine", "nv-hostengine" },
		{ "nv-hostengin", NULL },
		{ "nv-hostengine2", NULL },
		{ "nvidia-cuda-mp", NULL },
		{ "python3", NULL },
		{ "", NULL },
		{ NULL, NULL },
	};
	CLEANUP(gpu_users_release) struct gpu_users users = { 0 };
	struct err err = ERR_INIT;
	size_t i;

	CHECK_EQ(take("v: 1\nallowed:\n  - {command: nvidia-cuda-mps-server, clients: true}\n"
		      "  - {command: nv-hostengine}\n",
		      &users, &err),
		 0);
	CHECK_STR(err.msg, "");
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct gpu_user *row = gpu_users_find(&users, cases[i].comm);

		CHECK_STR(row ? row->command : NULL, cases[i].command);
	}
	CHECK(users.n == 2 && users.rows[0].clients == 1 && users.rows[1].clients <= 0);
}

static void what_is_wrong_with_the_file_is_one_line_that_names_the_place(void)
{
	static const struct {
		const char *yaml, *words;
	} cases[] = {
		{ "v: 2\nallowed: []\n", "gpu-users.yaml: v: expected 1" },
		{ "allowed: []\n", "gpu-users.yaml: v" },
		{ "v: 1\n", "gpu-users.yaml: allowed" },
		{ "v: 1\nallowed: {}\n", "gpu-users.yaml: allowed: expected a list" },
		{ "v: 1\nallowed: []\nextra: 1\n", "gpu-users.yaml: extra: unknown key" },
		{ "v: 1\nallowed: [{note: x}]\n", "gpu-users.yaml: allowed[0]" },
		{ "v: 1\nallowed: [{command: ''}]\n",
		  "gpu-users.yaml: allowed[0].command: expected" },
		{ "v: 1\nallowed: [{command: /usr/bin/x}]\n",
		  "gpu-users.yaml: allowed[0].command: expected the name" },
		{ "v: 1\nallowed: [{command: x, clients: 3}]\n",
		  "gpu-users.yaml: allowed[0].clients" },
		{ "v: 1\nallowed: [{command: x, pid: 3}]\n", "unknown key" },
		{ "v: 1\nallowed: [{command: nvidia-cuda-mps-server}, {command: "
		  "nvidia-cuda-mps-control}]\n",
		  "allowed[1].command: given twice" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct gpu_users users = { 0 };
		struct err err = ERR_INIT;

		CHECK_EQ(take(cases[i].yaml, &users, &err), -EINVAL);
		CHECK_HAS(err.msg, cases[i].words);
		CHECK(users.rows == NULL);
	}
}

static void without_a_file_nobody_is_allowed(void)
{
	struct gpu_users users = { .n = 7 };
	struct err err = ERR_INIT;

	(void)setenv("ASSAY_POLICY_DIR", test_dir(), 1);
	CHECK_EQ(gpu_users_load(&users, &err), 0);
	CHECK(users.n == 0 && users.rows == NULL);
	free(test_file("gpu-users.yaml", "v: 1\n"));
	CHECK_EQ(gpu_users_load(&users, &err), -EINVAL);
	CHECK_HAS(err.msg, "gpu-users.yaml: allowed");
}

static const struct test tests[] = {
	TEST(the_shipped_file_is_read_and_says_where_each_row_is_from),
	TEST(a_process_is_found_by_what_the_kernel_keeps_of_its_name),
	TEST(what_is_wrong_with_the_file_is_one_line_that_names_the_place),
	TEST(without_a_file_nobody_is_allowed),
};

TEST_SUITE(tests);
