/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules compared with small cases worked out by hand and with the claims of their papers. */
#include <errno.h>
#include <math.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/remedy/pipe_1f1b.h"
#include "lib/remedy/pipe_schedule.h"
#include "tests/unit/test.h"

enum { STAGES = 8, CHUNKS = 4, VIRTUAL = STAGES * CHUNKS };

static void fill(double *list, size_t n, double value)
{
	size_t i;

	for (i = 0; i < n; i++)
		list[i] = value;
}

static double time_of(const struct pipe_schedule_wish *wish)
{
	struct pipe_schedule schedule = { 0 };
	double time;

	CHECK_EQ(pipe_schedule_play(wish, &schedule, NULL), 0);
	time = schedule.time;
	pipe_schedule_release(&schedule);
	return time;
}

/*
 * Two stages, two micro-batches, F = 1, B = 2 and W = 1 apart. Stage 0: F0 0-1, F1 1-2, waits for
 * B0 of stage 1, which is F0 1-2, B0 2-4, F1 4-5, B1 5-7: B0 4-6, W0 6-7, B1 7-9, W1 9-10.
 */
static void weights_are_done_where_nobody_waits(void)
{
	const double forward[] = { 1, 1 }, backward[] = { 2, 2 }, weight[] = { 1, 1 };
	const struct pipe_schedule_wish wish = { .kind = PIPE_SCHEDULE_ZB_H1,
						 .stages = 2,
						 .microbatches = 2,
						 .chunks = 1,
						 .forward = forward,
						 .backward = backward,
						 .weight = weight };
	struct pipe_schedule schedule = { 0 };

	CHECK_EQ(pipe_schedule_play(&wish, &schedule, NULL), 0);
	CHECK_NEAR(schedule.backward[0], 6, 1e-12);
	CHECK_NEAR(schedule.weight[0], 7, 1e-12);
	CHECK_NEAR(schedule.backward[1], 9, 1e-12);
	CHECK_NEAR(schedule.backward[3], 7, 1e-12);
	/* Stage 1 has both its weights at its end. */
	CHECK_NEAR(schedule.weight[2], 8, 1e-12);
	CHECK_NEAR(schedule.weight[3], 9, 1e-12);
	CHECK_NEAR(schedule.time, 10, 1e-12);
	CHECK_NEAR(schedule.idle[0], 2, 1e-12);
	CHECK_NEAR(schedule.idle[1], 2, 1e-12);
	pipe_schedule_release(&schedule);
}

/*
 * Two stages of two chunks, two micro-batches, F = 1, B = 2. Stage 0 warms up with all its
 * forwards: chunk 0 at 0-1 and 1-2, chunk 1 at 2-3 and 3-4. Stage 1 with two: chunk 0 at 1-2 and
 * 2-3, chunk 1 at 3-4, back 4-6, at 6-7, back 7-9. Stage 0 goes back through chunk 1 at 6-8 and
 * 9-11, so that stage 1 does chunk 0 at 9-11 and 11-13, stage 0 at 11-13 and 13-15.
 */
static void chunks_take_turns(void)
{
	double forward[4], backward[4];
	struct pipe_schedule_wish wish = { .kind = PIPE_SCHEDULE_INTERLEAVED,
					   .stages = 2,
					   .microbatches = 2,
					   .chunks = 2,
					   .forward = forward,
					   .backward = backward };
	struct pipe_schedule schedule = { 0 };

	fill(forward, 4, 1);
	fill(backward, 4, 2);
	CHECK_EQ(pipe_schedule_play(&wish, &schedule, NULL), 0);
	CHECK_NEAR(schedule.forward[0], 1, 1e-12);
	CHECK_NEAR(schedule.forward[2], 2, 1e-12);     /* stage 1, chunk 0, micro-batch 0 */
	CHECK_NEAR(schedule.forward[4 + 1], 4, 1e-12); /* stage 0, chunk 1, micro-batch 1 */
	CHECK_NEAR(schedule.forward[6], 4, 1e-12);     /* stage 1, chunk 1, micro-batch 0 */
	CHECK_NEAR(schedule.backward[6], 6, 1e-12);
	CHECK_NEAR(schedule.forward[6 + 1], 7, 1e-12);
	CHECK_NEAR(schedule.backward[6 + 1], 9, 1e-12);
	CHECK_NEAR(schedule.backward[4], 8, 1e-12); /* stage 0, chunk 1 */
	CHECK_NEAR(schedule.backward[2], 11, 1e-12);
	CHECK_NEAR(schedule.time, 15, 1e-12);
	pipe_schedule_release(&schedule);
}

static void transfers_delay_and_occupy_nobody(void)
{
	const double forward[] = { 1, 2 }, backward[] = { 2, 4 }, transfer[] = { 0.5 };
	const struct pipe_schedule_wish wish = { .stages = 2,
						 .microbatches = 1,
						 .chunks = 1,
						 .forward = forward,
						 .backward = backward,
						 .transfer = transfer };

	CHECK_NEAR(time_of(&wish), 10, 1e-12);
}

/* (P - 1)(F + B) of idleness under 1F1B, a v-th of it interleaved. */
static void interleaving_leaves_a_part_of_the_idleness(void)
{
	double forward[VIRTUAL], backward[VIRTUAL];
	size_t stages, chunks, rounds;

	for (stages = 2; stages <= STAGES; stages++) {
		for (chunks = 1; chunks <= CHUNKS; chunks++) {
			for (rounds = 1; rounds <= 3; rounds++) {
				struct pipe_schedule_wish wish = { .kind = PIPE_SCHEDULE_INTERLEAVED,
								   .stages = stages,
								   .microbatches = stages * rounds,
								   .chunks = chunks,
								   .forward = forward,
								   .backward = backward };
				double work = (double)wish.microbatches * 3;

				fill(forward, VIRTUAL, 1.0 / (double)chunks);
				fill(backward, VIRTUAL, 2.0 / (double)chunks);
				CHECK_NEAR(time_of(&wish) - work,
					   3.0 * (double)(stages - 1) / (double)chunks, 1e-9);
			}
		}
	}
}

/* (P - 1)(F + B - W), and no more activations at once than 1F1B has at its first stage. */
static void the_idleness_of_zb_h1_is_a_third(void)
{
	double ones[STAGES], kept;
	size_t stages, microbatches, p;

	fill(ones, STAGES, 1);
	for (stages = 1; stages <= STAGES; stages++) {
		for (microbatches = 2 * stages; microbatches <= 3 * stages; microbatches++) {
			for (kept = 0; kept <= 1; kept += 0.5) {
				const struct pipe_schedule_wish wish = { .kind = PIPE_SCHEDULE_ZB_H1,
									 .stages = stages,
									 .microbatches =
										 microbatches,
									 .chunks = 1,
									 .forward = ones,
									 .backward = ones,
									 .weight = ones,
									 .activation = ones,
									 .kept = kept };
				struct pipe_schedule schedule = { 0 };

				CHECK_EQ(pipe_schedule_play(&wish, &schedule, NULL), 0);
				CHECK_NEAR(schedule.time,
					   3.0 * (double)microbatches + (double)stages - 1, 1e-9);
				for (p = 0; p < stages; p++) {
					CHECK_NEAR(schedule.idle[p], (double)stages - 1, 1e-9);
					CHECK_NEAR(schedule.peak[p],
						   (double)(stages - p) + kept * (double)p, 1e-9);
				}
				pipe_schedule_release(&schedule);
			}
		}
	}
}

/* A stage holds its warm-up and one more: 2 (P - 1 - p) + (v - 1) P + 1 of the chunks. */
static void interleaving_holds_more_at_once(void)
{
	double ones[12];
	const struct pipe_schedule_wish wish = { .kind = PIPE_SCHEDULE_INTERLEAVED,
						 .stages = 4,
						 .microbatches = 16,
						 .chunks = 3,
						 .forward = ones,
						 .backward = ones,
						 .activation = ones };
	struct pipe_schedule schedule = { 0 };
	size_t p;

	fill(ones, 12, 1);
	CHECK_EQ(pipe_schedule_play(&wish, &schedule, NULL), 0);
	for (p = 0; p < 4; p++)
		CHECK_NEAR(schedule.peak[p], 2.0 * (double)(3 - p) + 9, 1e-12);
	pipe_schedule_release(&schedule);
}

static void activations_beyond_the_room_are_told(void)
{
	double ones[4], room[] = { 4, 3, 2, 1 };
	struct pipe_schedule_wish wish = { .stages = 4,
					   .microbatches = 9,
					   .chunks = 1,
					   .forward = ones,
					   .backward = ones,
					   .activation = ones,
					   .room = room };
	struct pipe_schedule schedule = { .time = 7 };
	struct err err = ERR_INIT;

	fill(ones, 4, 1);
	CHECK_EQ(pipe_schedule_play(&wish, &schedule, &err), 0);
	pipe_schedule_release(&schedule);
	schedule.time = 7;
	room[1] = 2.5;
	CHECK_EQ(pipe_schedule_play(&wish, &schedule, &err), -ERANGE);
	CHECK_STR(err.msg, "stage 1 holds activations of 3, 0.5 more than the 2.5 it has room for");
	CHECK_NEAR(schedule.time, 7, 0);
}

/* Stages of all sizes, by a seed. */
static void no_schedule_is_faster_than_its_slowest_stage(void)
{
	double forward[VIRTUAL], backward[VIRTUAL], last[3] = { 0 };
	uint64_t seed = 5;
	size_t round, i, kind;

	for (round = 0; round < test_times(2000, 300); round++) {
		struct pipe_schedule_wish wish = { .stages = 1 + round % STAGES,
						   .forward = forward,
						   .backward = backward,
						   .weight = backward };
		for (i = 0; i < VIRTUAL; i++) {
			seed = seed * 6364136223846793005U + 1442695040888963407U;
			forward[i] = 0.5 + (double)(seed >> 40) / (1 << 24);
			backward[i] = 2 * forward[i];
		}
		for (kind = PIPE_SCHEDULE_1F1B; kind <= PIPE_SCHEDULE_ZB_H1; kind++) {
			struct pipe_schedule schedule = { 0 };

			wish.kind = (enum pipe_schedule_kind)kind;
			wish.chunks = kind == PIPE_SCHEDULE_INTERLEAVED ? 1 + round % CHUNKS : 1;
			wish.microbatches = wish.stages * (1 + round % 5);
			CHECK_EQ(pipe_schedule_play(&wish, &schedule, NULL), 0);
			for (i = 0; i < wish.stages; i++)
				CHECK(schedule.idle[i] > -1e-9);
			for (i = 0; i < wish.stages * wish.chunks * wish.microbatches; i++)
				CHECK(schedule.backward[i] > schedule.forward[i]);
			last[kind] = schedule.time;
			pipe_schedule_release(&schedule);
		}
		CHECK_NEAR(last[PIPE_SCHEDULE_1F1B],
			   pipe_1f1b(forward, backward, wish.stages, wish.microbatches, NULL), 1e-9);
	}
}

static void what_is_out_of_bounds_is_told(void)
{
	const double one[] = { 1, 1, 1, 1 };
	struct pipe_schedule_wish wish = {
		.stages = 2, .microbatches = 3, .chunks = 2, .forward = one, .backward = one
	};
	struct pipe_schedule schedule = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(pipe_schedule_play(&wish, &schedule, &err), -EINVAL);
	CHECK_STR(err.msg, "2 chunks of a stage: 1f1b has one");
	wish.kind = PIPE_SCHEDULE_INTERLEAVED;
	CHECK_EQ(pipe_schedule_play(&wish, &schedule, &err), -ERANGE);
	CHECK_STR(err.msg, "3 micro-batches are 1 more than a multiple of 2 stages");
	wish.stages = 0;
	CHECK_EQ(pipe_schedule_play(&wish, &schedule, &err), -EINVAL);
	wish = (struct pipe_schedule_wish){ .stages = PIPE_SCHEDULE_STAGES_MAX,
					    .chunks = 1,
					    .microbatches = PIPE_SCHEDULE_WORK_MAX };
	CHECK_EQ(pipe_schedule_play(&wish, &schedule, &err), -EINVAL);
	CHECK(isnan(pipe_1f1b(one, one, PIPE_SCHEDULE_STAGES_MAX, PIPE_SCHEDULE_WORK_MAX, NULL)));
	CHECK_EQ(pipe_schedule_kind("zb-h1"), PIPE_SCHEDULE_ZB_H1);
	CHECK_EQ(pipe_schedule_kind("gpipe"), -1);
}

static const struct test tests[] = {
	TEST(weights_are_done_where_nobody_waits),
	TEST(chunks_take_turns),
	TEST(transfers_delay_and_occupy_nobody),
	TEST(interleaving_leaves_a_part_of_the_idleness),
	TEST(the_idleness_of_zb_h1_is_a_third),
	TEST(interleaving_holds_more_at_once),
	TEST(activations_beyond_the_room_are_told),
	TEST(no_schedule_is_faster_than_its_slowest_stage),
	TEST(what_is_out_of_bounds_is_told),
};

TEST_SUITE(tests);
