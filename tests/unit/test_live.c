/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/live.h"

#include "tests/unit/test.h"

static void a_closed_connection_makes_suspect_at_once(void)
{
	CLEANUP(live_release) struct live l = { 0 };

	CHECK_EQ(live_state(&l, "a", 0), LIVE_NONE);
	live_begin(&l, "a");
	CHECK_EQ(live_state(&l, "a", USEC_PER_DAY), LIVE_CONNECTED);
	live_end(&l, "a", true, 1000);
	CHECK_EQ(live_state(&l, "a", 1000), LIVE_SUSPECT);
	live_begin(&l, "a");
	CHECK_EQ(live_state(&l, "a", 1000), LIVE_CONNECTED);
	CHECK_EQ(live_state(&l, "b", 1000), LIVE_NONE);
}

static void an_answered_call_must_be_renewed_in_time(void)
{
	CLEANUP(live_release) struct live l = { 0 };

	live_begin(&l, "a");
	live_end(&l, "a", false, 1000);
	CHECK_EQ(live_state(&l, "a", 1000 + LIVE_RENEW_US), LIVE_CONNECTED);
	CHECK_EQ(live_state(&l, "a", 1001 + LIVE_RENEW_US), LIVE_SUSPECT);
}

static void a_second_call_keeps_it_alive_when_the_first_is_cut(void)
{
	CLEANUP(live_release) struct live l = { 0 };

	live_begin(&l, "a");
	live_begin(&l, "a");
	live_end(&l, "a", true, 1000);
	CHECK_EQ(live_state(&l, "a", USEC_PER_DAY), LIVE_CONNECTED);
	live_end(&l, "a", true, 2000);
	live_end(&l, "a", true, 3000); /* one too many */
	CHECK_EQ(live_state(&l, "a", 3000), LIVE_SUSPECT);
	CHECK_EQ(l.n, 1);
}

/* Names come and go where hosts do: those that went take nobody's place. */
static void a_full_table_has_room_for_who_is_in_it_and_for_who_takes_anothers_place(void)
{
	CLEANUP(live_release) struct live l = { 0 };

	live_begin(&l, "a");
	live_begin(&l, "b");
	CHECK(live_fits(&l, "a", 2) && live_fits(&l, "b", 2) && !live_fits(&l, "c", 2));
	live_forget(&l, "a"); /* it holds a call */
	CHECK_EQ(l.n, 2);
	live_end(&l, "a", true, 1000);
	live_forget(&l, "a");
	live_forget(&l, "nobody");
	CHECK_EQ(l.n, 1);
	CHECK_EQ(live_state(&l, "a", 1000), LIVE_NONE);
	CHECK(live_fits(&l, "c", 2));
}

static const struct test tests[] = {
	TEST(a_full_table_has_room_for_who_is_in_it_and_for_who_takes_anothers_place),
	TEST(a_closed_connection_makes_suspect_at_once),
	TEST(an_answered_call_must_be_renewed_in_time),
	TEST(a_second_call_keeps_it_alive_when_the_first_is_cut),
};

TEST_SUITE(tests);
