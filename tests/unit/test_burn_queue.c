/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/burn_queue.h"

#include <errno.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

#define START_US (100 * USEC_PER_DAY)

static void ask(struct burn_queue *q, const char *node, const char *domain)
{
	CHECK_EQ(burn_queue_add(q, node, domain, START_US, NULL), 0);
}

static void two_of_a_rack_burn_at_once_ten_seconds_apart(void)
{
	struct burn_queue q = { 0 };
	uint64_t now_us = START_US;

	ask(&q, "a1", "a");
	ask(&q, "a2", "a");
	ask(&q, "a3", "a");
	ask(&q, "b1", "b");
	CHECK(burn_queue_may(&q, "a1", now_us));
	burn_queue_begin(&q, "a1", "burn-1", now_us);
	CHECK(!burn_queue_may(&q, "a1", now_us)); /* it burns */
	CHECK(!burn_queue_may(&q, "a2", now_us + BURN_APART_US - 1));
	CHECK(burn_queue_may(&q, "b1", now_us));
	now_us += BURN_APART_US;
	CHECK(burn_queue_may(&q, "a2", now_us));
	burn_queue_begin(&q, "a2", "burn-2", now_us);
	CHECK(!burn_queue_may(&q, "a3", now_us + USEC_PER_MIN));
	CHECK_EQ(burn_queue_before(&q, "a3"), 2);
	CHECK(!burn_queue_answered(&q, "a1", "burn-2")); /* each host for itself */
	CHECK(!burn_queue_answered(&q, "a3", ""));
	CHECK(burn_queue_answered(&q, "a1", "burn-1"));
	CHECK(burn_queue_may(&q, "a3", now_us + USEC_PER_MIN));
	CHECK(!burn_queue_may(&q, "a9", now_us));
	burn_queue_release(&q);
}

static void hosts_of_no_known_rack_count_as_one(void)
{
	struct burn_queue q = { 0 };

	ask(&q, "x1", "");
	ask(&q, "x2", "");
	burn_queue_begin(&q, "x1", "burn-1", START_US);
	CHECK(!burn_queue_may(&q, "x2", START_US));
	burn_queue_release(&q);
}

static void what_brings_nothing_or_waits_for_ever_goes(void)
{
	struct burn_queue q = { 0 };
	struct err err = ERR_INIT;

	ask(&q, "a1", "a");
	ask(&q, "a2", "a");
	CHECK_EQ(burn_queue_add(&q, "a1", "a", START_US, &err), -EALREADY);
	CHECK_STR(err.msg, "a1 is already burning, or waiting to burn");
	burn_queue_begin(&q, "a1", "burn-1", START_US);
	CHECK_EQ(burn_queue_expire(&q, START_US + BURN_ORDER_US - 1), 0);
	CHECK_EQ(burn_queue_expire(&q, START_US + BURN_ORDER_US), 1);
	CHECK_EQ(q.n, 1);
	CHECK_EQ(burn_queue_expire(&q, START_US + BURN_WAIT_US), 1);
	CHECK_EQ(q.n, 0);
	burn_queue_release(&q);
}

static void there_is_room_for_so_many_and_who_is_gone_makes_some(void)
{
	struct burn_queue q = { 0 };
	struct err err = ERR_INIT;
	unsigned i;

	for (i = 0; i < BURN_QUEUE_MAX; i++) {
		CLEANUP(freep) char *name = xasprintf("n%u", i);

		ask(&q, name, "");
	}
	CHECK_EQ(burn_queue_add(&q, "more", "", START_US, &err), -EDQUOT);
	burn_queue_drop(&q, "n7");
	burn_queue_drop(&q, "n7");
	CHECK_EQ(burn_queue_add(&q, "more", "", START_US, &err), 0);
	CHECK_EQ(burn_queue_before(&q, "n8"), 7);
	burn_queue_release(&q);
}

static const struct test tests[] = {
	TEST(two_of_a_rack_burn_at_once_ten_seconds_apart),
	TEST(hosts_of_no_known_rack_count_as_one),
	TEST(what_brings_nothing_or_waits_for_ever_goes),
	TEST(there_is_room_for_so_many_and_who_is_gone_makes_some),
};

TEST_SUITE(tests);
