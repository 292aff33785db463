/* SPDX-License-Identifier: Apache-2.0 */
/* A checkpoint is not a hang, a state no pause can explain soon is one, and progress ends it. */
#include "lib/policy/hung.h"

#include "tests/unit/test.h"

#define T0 (1000000 * USEC_PER_SEC)
#define MINUTES(n) ((n)*USEC_PER_MIN)

/* Hosts say each minute from `from` to `until` that it stands still since `since`; minutes of T0. */
static enum hung_state say(struct hung *h, unsigned from, unsigned until,
			   const struct hung_sight *like)
{
	unsigned minute;

	for (minute = from; minute <= until; minute++) {
		struct hung_sight sight = *like;

		sight.heard_us = T0 + MINUTES(minute);
		(void)hung_judge(h, &sight, T0 + MINUTES(minute));
	}
	return h->state;
}

/* Nobody says anything any more. */
static enum hung_state fall_silent(struct hung *h, unsigned heard, unsigned now)
{
	const struct hung_sight sight = { .heard_us = T0 + MINUTES(heard), .since_us = T0 };

	return hung_judge(h, &sight, T0 + MINUTES(now));
}

static const struct hung_sight still = { .since_us = T0 };
static const struct hung_sight sure = { .since_us = T0, .sure = true };
static const struct hung_sight busy = { .since_us = T0, .traffic = true };
static const struct hung_sight surely_busy = { .since_us = T0, .traffic = true, .sure = true };

static void nothing_heard_is_nothing(void)
{
	struct hung h = { 0 };
	const struct hung_sight none = { 0 };

	CHECK_EQ(hung_judge(&h, &none, T0), HUNG_MOVES);
	CHECK_EQ(h.still_us, 0);
}

static void it_hangs_after_ten_minutes_and_not_before(void)
{
	struct hung h = { 0 };

	CHECK_EQ(say(&h, 1, 9, &still), HUNG_QUIET);
	CHECK_EQ(say(&h, 10, 10, &still), HUNG_HUNG);
	CHECK_EQ(h.still_us, T0);
}

static void what_no_pause_does_is_a_hang_after_two(void)
{
	struct hung h = { 0 };

	CHECK_EQ(say(&h, 1, 1, &sure), HUNG_QUIET);
	CHECK_EQ(say(&h, 2, 2, &sure), HUNG_HUNG);
}

static void bytes_on_the_network_are_no_hang(void)
{
	struct hung h = { 0 }, other = { 0 };

	CHECK_EQ(say(&h, 1, 60, &busy), HUNG_QUIET);
	CHECK_EQ(say(&other, 1, 2, &surely_busy), HUNG_HUNG);
}

static void a_checkpoint_that_ends_is_learned(void)
{
	struct hung h = { 0 };
	struct hung_sight again = still;

	CHECK_EQ(say(&h, 1, 8, &still), HUNG_QUIET);
	CHECK_EQ(fall_silent(&h, 8, 10), HUNG_QUIET);
	CHECK_EQ(fall_silent(&h, 8, 12), HUNG_MOVES);
	CHECK_EQ(h.pause_us, MINUTES(8));
	again.since_us = T0 + MINUTES(20);
	CHECK_EQ(say(&h, 21, 35, &again), HUNG_QUIET);
	CHECK_EQ(say(&h, 36, 36, &again), HUNG_HUNG);
}

static void a_hang_that_falls_silent_is_over_and_teaches_nothing(void)
{
	struct hung h = { 0 };

	CHECK_EQ(say(&h, 1, 30, &still), HUNG_HUNG);
	CHECK_EQ(fall_silent(&h, 30, 32), HUNG_HUNG);
	CHECK_EQ(fall_silent(&h, 30, 34), HUNG_MOVES);
	CHECK_EQ(h.pause_us, 0);
}

static void one_that_moves_is_none_and_its_pause_is_learned_up_to_an_hour(void)
{
	struct hung h = { 0 };
	struct hung_sight moved = { .since_us = T0,
				    .heard_us = T0 + MINUTES(90),
				    .moved_us = T0 + MINUTES(91) };

	CHECK_EQ(say(&h, 1, 90, &still), HUNG_HUNG);
	CHECK_EQ(hung_judge(&h, &moved, T0 + MINUTES(91)), HUNG_MOVES);
	CHECK_EQ(h.pause_us, HUNG_PAUSE_MAX_US);
	/* Something is said to stand still after the move: from then on. */
	moved.heard_us = T0 + MINUTES(92);
	CHECK_EQ(hung_judge(&h, &moved, T0 + MINUTES(92)), HUNG_QUIET);
	CHECK_EQ(h.still_us, T0 + MINUTES(91));
}

static void what_began_long_before_it_is_heard_of_counts(void)
{
	struct hung h = { 0 };

	CHECK_EQ(say(&h, 15, 15, &still), HUNG_HUNG);
}

static void a_clock_that_goes_back_does_no_harm(void)
{
	struct hung h = { 0 };
	const struct hung_sight sight = { .since_us = T0 + MINUTES(5), .heard_us = T0 + MINUTES(6) };

	CHECK_EQ(hung_judge(&h, &sight, T0), HUNG_QUIET);
}

static const struct test tests[] = {
	TEST(nothing_heard_is_nothing),
	TEST(it_hangs_after_ten_minutes_and_not_before),
	TEST(what_no_pause_does_is_a_hang_after_two),
	TEST(bytes_on_the_network_are_no_hang),
	TEST(a_checkpoint_that_ends_is_learned),
	TEST(a_hang_that_falls_silent_is_over_and_teaches_nothing),
	TEST(one_that_moves_is_none_and_its_pause_is_learned_up_to_an_hour),
	TEST(what_began_long_before_it_is_heard_of_counts),
	TEST(a_clock_that_goes_back_does_no_harm),
};

TEST_SUITE(tests);
