/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/trace_queue.h"

#include <stdio.h>

#include "tests/unit/test.h"

#define MIB (UINT64_C(1) << 20)

static int dropped[TRACE_QUEUE_PARTS];
static size_t n_dropped;

static void on_dropped(void *context UNUSED, const struct trace_queue_part *part)
{
	dropped[n_dropped++] = part->fd;
}

/* A part of `job` whose descriptor is its number, and so is when it came. */
static enum trace_refusal add(struct trace_queue *q, const char *job, int64_t step, unsigned part,
			      int number)
{
	struct trace_queue_part p = { .run = 1,
				      .step = step,
				      .part = part,
				      .of = 64,
				      .since_us = (uint64_t)number,
				      .fd = number,
				      .size = MIB };

	(void)snprintf(p.job, sizeof(p.job), "%s", job);
	return trace_queue_add(q, &p, on_dropped, NULL);
}

static struct trace_queue make(uint64_t bytes)
{
	n_dropped = 0;
	return (struct trace_queue){ .bytes_max = bytes };
}

static void the_newest_four_windows_of_a_job_wait(void)
{
	struct trace_queue q = make(64 * MIB);
	int i;

	for (i = 0; i < 12; i++)
		CHECK_EQ(add(&q, "a", 100 + i / 2, (unsigned)(1 + i % 2), i), TRACE_TAKEN);
	CHECK_EQ(q.n, 8);
	CHECK_EQ(q.bytes, 8 * MIB);
	CHECK_EQ(n_dropped, 4); /* both parts of the two oldest */
	for (i = 0; i < 4; i++)
		CHECK_EQ(dropped[i], i);
	/* Another job has windows of its own. */
	CHECK_EQ(add(&q, "b", 100, 1, 20), TRACE_TAKEN);
	CHECK_EQ(q.n, 9);
	CHECK_EQ(n_dropped, 4);
	trace_queue_release(&q);
}

static void a_part_waits_once(void)
{
	struct trace_queue q = make(64 * MIB);

	CHECK_EQ(add(&q, "a", 100, 1, 0), TRACE_TAKEN);
	CHECK_EQ(add(&q, "a", 100, 1, 1), TRACE_TWICE);
	CHECK_EQ(add(&q, "a", 100, 2, 2), TRACE_TAKEN);
	CHECK_EQ(add(&q, "a", 101, 1, 3), TRACE_TAKEN);
	CHECK_EQ(q.n, 3);
	trace_queue_release(&q);
}

static void what_is_too_much_goes_the_oldest_window_first(void)
{
	struct trace_queue q = make(4 * MIB);

	CHECK_EQ(add(&q, "b", 1, 1, 0), TRACE_TAKEN);
	CHECK_EQ(add(&q, "a", 1, 1, 1), TRACE_TAKEN);
	CHECK_EQ(add(&q, "b", 1, 2, 2), TRACE_TAKEN);
	CHECK_EQ(add(&q, "a", 2, 1, 3), TRACE_TAKEN);
	CHECK_EQ(add(&q, "a", 2, 2, 4), TRACE_TAKEN);
	CHECK_EQ(n_dropped, 2); /* the window that has the oldest part goes whole */
	CHECK_EQ(dropped[0], 0);
	CHECK_EQ(dropped[1], 2);
	CHECK_EQ(add(&q, "a", 2, 3, 5), TRACE_TAKEN);
	CHECK_EQ(add(&q, "a", 2, 4, 6), TRACE_TAKEN);
	CHECK_EQ(n_dropped, 3);
	/* A window that alone is too much does not push itself out. */
	CHECK_EQ(add(&q, "a", 2, 5, 7), TRACE_STALE);
	CHECK_EQ(q.n, 4);
	CHECK_EQ(n_dropped, 3);
	trace_queue_release(&q);
}

static void there_is_an_end_of_parts_and_an_empty_queue_holds_nothing(void)
{
	struct trace_queue q = make(1024 * MIB);
	unsigned i;

	for (i = 0; i < TRACE_QUEUE_PARTS; i++)
		CHECK_EQ(add(&q, "a", 1, i + 1, (int)i), TRACE_TAKEN);
	CHECK_EQ(add(&q, "a", 1, i + 1, (int)i), TRACE_STALE);
	CHECK_EQ(add(&q, "b", 1, 1, (int)i), TRACE_TAKEN);
	CHECK_EQ(n_dropped, TRACE_QUEUE_PARTS);
	CHECK_EQ(q.n, 1);
	trace_queue_remove(&q, 0);
	CHECK(!q.parts);
	CHECK_EQ(q.bytes, 0);
}

static const struct test tests[] = {
	TEST(the_newest_four_windows_of_a_job_wait),
	TEST(a_part_waits_once),
	TEST(what_is_too_much_goes_the_oldest_window_first),
	TEST(there_is_an_end_of_parts_and_an_empty_queue_holds_nothing),
};

TEST_SUITE(tests);
