/* SPDX-License-Identifier: Apache-2.0 */
/* Tested speeds of hosts: the file, and the speed assigned to a worker. */
#include "attribution/speeds.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "attribution/trace.h"
#include "attribution/trace_job.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

/* As if a file said so. */
static int read_text(const char *text, struct speeds *ret, struct err *err)
{
	char path[] = "/tmp/speedsXXXXXX";
	int fd = mkstemp(path), r;

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	(void)close(fd);
	r = speeds_read(path, ret, err);
	(void)unlink(path);
	return r;
}

static void what_a_file_says_is_read(void)
{
	CLEANUP(speeds_release) struct speeds speeds = { .n = 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(read_text("{\"v\": 1, \"spread\": 0.03, \"low\": 0.9, \"later\": 1,"
			   " \"ranks\": [[0, 8, 0.98], [8, 4, 1], [16, 8, 1.02]]}",
			   &speeds, &err),
		 0);
	CHECK_EQ(speeds.n, 3);
	CHECK_NEAR(speeds.good.spread, 0.03, 0);
	CHECK_NEAR(speeds.good.low, 0.9, 0);
	CHECK_EQ(speeds.spans[1].first, 8);
	CHECK_EQ(speeds.spans[1].n, 4);
	CHECK_NEAR(speeds.spans[1].speed, 1, 0);
}

static void a_worker_has_the_speed_of_its_slowest_rank_or_none(void)
{
	static const struct speeds_span spans[] = {
		{ 0, 4, 0.98 }, { 4, 4, 0.91 }, { 8, 7, 1 }, { 16, 100, 1.02 }
	};
	const struct speeds speeds = { .spans = (struct speeds_span *)(uintptr_t)spans,
				       .n = ARRAY_SIZE(spans) };
	struct trace_worker workers[] = {
		{ .rank = 0 }, { .rank = 8 }, { .rank = 16 }, { .rank = 112 }
	};
	const struct trace_job job = { .dp = 4, .pp = 1, .tp = 8, .dsp = 1, .workers = workers };
	CLEANUP(freep) double *found = speeds_of_workers(&speeds, &job);

	CHECK_NEAR(found[0], 0.91, 0);
	CHECK(isnan(found[1])); /* nobody knows of its last rank */
	CHECK_NEAR(found[2], 1.02, 0);
	CHECK(isnan(found[3])); /* they end before it does */
}

static void what_is_none_is_refused_with_its_place(void)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "[]", "expected an object" },
		{ "{\"v\": 2, \"ranks\": []}", "v: expected 1" },
		{ "{\"v\": 1}", "ranks: expected a list" },
		{ "{\"v\": 1, \"ranks\": {}}", "ranks: expected a list" },
		{ "{\"v\": 1, \"ranks\": [1]}", "ranks[0]: expected [first rank" },
		{ "{\"v\": 1, \"ranks\": [[0, 1]]}", "ranks[0]: expected [first rank" },
		{ "{\"v\": 1, \"ranks\": [[0, 1, \"x\"]]}", "ranks[0]: expected [first rank" },
		{ "{\"v\": 1, \"ranks\": [[-1, 1, 1]]}", "rank -1 is invalid" },
		{ "{\"v\": 1, \"ranks\": [[0, 8, 1], [7, 1, 1]]}", "ranks[1]: rank 7" },
		{ "{\"v\": 1, \"ranks\": [[0, 0, 1]]}", "0 is not a valid number" },
		{ "{\"v\": 1, \"ranks\": [[0, 9999999999, 1]]}",
		  "9999999999 is not a valid number" },
		{ "{\"v\": 1, \"ranks\": [[0, 1, 0]]}", "expected a speed from" },
		{ "{\"v\": 1, \"ranks\": [[0, 1, 101]]}", "expected a speed from" },
		{ "{\"v\": 1, \"spread\": 0, \"ranks\": []}", "spread: expected a number" },
		{ "{\"v\": 1, \"spread\": \"x\", \"ranks\": []}", "spread: expected a number" },
		{ "{\"v\": 1, \"low\": 1.1, \"ranks\": []}", "low: expected a number" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct speeds speeds = { .n = 1 };
		struct err err = ERR_INIT;

		CHECK_EQ(read_text(rows[i].text, &speeds, &err), -EINVAL);
		CHECK(strstr(err.msg, rows[i].says) != NULL);
		CHECK(!speeds.spans);
	}
}

static const struct test tests[] = {
	TEST(what_a_file_says_is_read),
	TEST(a_worker_has_the_speed_of_its_slowest_rank_or_none),
	TEST(what_is_none_is_refused_with_its_place),
};

TEST_SUITE(tests);
