/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_path.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

/* `n` letters, and a dot after every `label` of them; new memory. */
static char *long_name(size_t n, size_t label)
{
	char *name = xcalloc(n + 1, 1);
	size_t i;

	for (i = 0; i < n; i++)
		name[i] = (i + 1) % (label + 1) ? 'a' : '.';
	return name;
}

static void names_are_put_where_they_belong(void)
{
	struct err err = ERR_INIT;
	char path[KUBE_PATH_MAX];

	CHECK_EQ(kube_path(path, &err, "/api/v1/nodes"), 0);
	CHECK_STR(path, "/api/v1/nodes");
	CHECK_EQ(kube_path(path, &err, "/api/v1/nodes/%s/status", "gpu-0.rack-1.example"), 0);
	CHECK_STR(path, "/api/v1/nodes/gpu-0.rack-1.example/status");
	CHECK_EQ(kube_path(path, &err, "/api/v1/namespaces/%s/pods/%s", "a", "0"), 0);
	CHECK_STR(path, "/api/v1/namespaces/a/pods/0");
}

static void the_longest_names_are_whole(void)
{
	CLEANUP(freep) char *name = long_name(253, 63);
	CLEANUP(freep) char *want = xasprintf("/n/%s/p/%s/%s", name, name, name);
	struct err err = ERR_INIT;
	char path[KUBE_PATH_MAX];

	CHECK_EQ(kube_path(path, &err, "/n/%s/p/%s/%s", name, name, name), 0);
	CHECK_STR(path, want);
}

static void a_path_too_long_is_refused_and_not_cut(void)
{
	CLEANUP(freep) char *name = long_name(253, 63);
	struct err err = ERR_INIT;
	char path[KUBE_PATH_MAX] = "as it was";

	CHECK_EQ(kube_path(path, &err, "/%s/%s/%s/%s/%s", name, name, name, name, name), -EINVAL);
	CHECK_HAS(err.msg, "more than 1023 bytes");
	CHECK_STR(path, "as it was");
}

static void what_is_no_name_makes_no_path(void)
{
	CLEANUP(freep) char *too_long = long_name(254, 63);
	const char *const bad[] = { "",	   ".",	       "..", "a/b", "../secrets", "a..b", "-a",
				    "a-",  "a.-b",     "A",  "a b", "a?b",	  "a%2f", "a_b",
				    "a\n", "\xc3\xa4", ".a", "a.",  too_long };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err err = ERR_INIT;
		char path[KUBE_PATH_MAX] = "as it was";

		CHECK_EQ(kube_path(path, &err, "/api/v1/nodes/%s", bad[i]), -EINVAL);
		CHECK_HAS(err.msg, "is not a valid Kubernetes name");
		CHECK_STR(path, "as it was");
	}
}

static void only_names_are_taken(void)
{
	struct err err = ERR_INIT;
	char path[KUBE_PATH_MAX];

	CHECK_EQ(kube_path(path, &err, "/api/%d", 7), -EINVAL);
	CHECK_HAS(err.msg, "/api/%d");
}

static void a_query_is_encoded(void)
{
	static const struct {
		const char *text, *encoded;
	} rows[] = {
		{ "", "" },
		{ "abcXYZ019-._~", "abcXYZ019-._~" },
		{ "spec.nodeName=gpu-0,status.phase!=Failed",
		  "spec.nodeName%3Dgpu-0%2Cstatus.phase%21%3DFailed" },
		{ "a b&c+d/e%f", "a%20b%26c%2Bd%2Fe%25f" },
		{ "\xc3\xa4\x7f\n", "%C3%A4%7F%0A" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *encoded = kube_encode(rows[i].text);

		CHECK_STR(encoded, rows[i].encoded);
	}
}

static const struct test tests[] = {
	TEST(names_are_put_where_they_belong),
	TEST(the_longest_names_are_whole),
	TEST(a_path_too_long_is_refused_and_not_cut),
	TEST(what_is_no_name_makes_no_path),
	TEST(only_names_are_taken),
	TEST(a_query_is_encoded),
};

TEST_SUITE(tests);
