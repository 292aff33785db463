/* SPDX-License-Identifier: Apache-2.0 */
/* From the rings of a process to its part of a trace: its steps, its size, and invalid input. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/ring/ring_optrace.h"
#include "lib/ring/ring_steps.h"
#include "tests/attribution/ring_world.h"
#include "tests/unit/test.h"

enum { STEPS = 24, SEEDS = 20, SEEDS_FULL = 400 };

static struct job job_of(int dp, int pp, int tp, uint64_t seed)
{
	return (struct job){ .seed = seed,
			     .last_stage = 1,
			     .noise = 0.02,
			     .link_d = -1,
			     .dp = dp,
			     .pp = pp,
			     .mb = 8,
			     .vpp = 1,
			     .tp = tp,
			     .steps = STEPS,
			     .forward_ns = 30 * MS,
			     .backward_ns = 60 * MS,
			     .transfer_ns = 0.5 * MS,
			     .slow_group = -1 };
}

static struct ring_shape shape_of(const struct job *job, size_t worker)
{
	return (struct ring_shape){ (unsigned)job->dp, (unsigned)job->pp, (unsigned)job->tp,
				    job_rank(job, (int)worker % job->dp, (int)worker / job->dp) };
}

static int write(const struct job *job, const struct ring_world *world, size_t worker,
		 const struct ring_optrace_options *options, struct ring_part *ret, struct err *err)
{
	const struct ring_shape shape = shape_of(job, worker);

	return ring_optrace(world->ranks[worker].rings, world->ranks[worker].n, &shape, options,
			    ret, err);
}

/* Lines that have both, the second one after the first. */
static size_t count_both(const struct ring_part *part, const char *text, const char *later)
{
	const char *at = strbuf_text(&part->text);
	size_t n = 0;

	while ((at = strstr(at, text)) != NULL) {
		const char *end = strchr(at, '\n'), *found = strstr(at, later);

		n += found && (!end || found < end);
		at++;
	}
	return n;
}

/* Lines that have this text. */
static size_t count(const struct ring_part *part, const char *text)
{
	return count_both(part, text, "");
}

static const struct ring_optrace_options twenty = { .job = "research/llm-7",
						    .steps = 20,
						    .after = -1 };

static void a_part_has_what_the_rank_did(void)
{
	const struct job job = job_of(4, 4, 2, 1);
	const struct ring_world_options o = { .offset_ns = 3 * MS, .tensor_ops = 4 };
	CLEANUP(ring_world_freep) struct ring_world *world = ring_world_new(&job, &o);
	struct ring_part part;
	struct err err = ERR_INIT;

	/* Replica 2 of stage 1: rank (1 * 4 + 2) * 2. */
	CHECK_EQ(write(&job, world, 6, &twenty, &part, &err), 0);
	CHECK_STR(err.msg, "");
	CHECK_EQ(part.part, 7);
	CHECK_EQ(part.of, 16);
	CHECK_EQ(part.n_steps, 20);
	CHECK_EQ(part.left_out, 0);
	CHECK_EQ(part.last_step - part.step, 19);
	CHECK(starts_with(strbuf_text(&part.text),
			  "{\"type\": \"meta\", \"format\": \"optrace/1\", \"job\": "
			  "\"research/llm-7\", \"dp_size\": 4, \"pp_size\": 4, \"tp_size\": 2, "
			  "\"vpp_size\": 1, \"dsp_size\": 1, \"world_size\": 32, \"time_unit\": "
			  "\"s\"}\n"));
	CHECK_HAS(
		strbuf_text(&part.text),
		"\"dp_rank\":2,\"stage\":1,\"rank\":12,\"optype\":\"forward-compute\",\"seq_id\":7,"
		"\"mb_id\":7,\"mc\":0,\"gmc\":1,\"start_ts\":17900000");
	CHECK_EQ(count(&part, "forward-compute"), 20 * 8);
	CHECK_EQ(count(&part, "backward-compute"), 20 * 8);
	CHECK_EQ(count(&part, "forward-recv"), 20 * 8);
	CHECK_EQ(count(&part, "backward-send"), 20 * 8);
	CHECK_EQ(count(&part, "params-all-gather"), 20);
	CHECK_EQ(count(&part, "grads-reduce-scatter"), 20);
	CHECK_EQ(count(&part, "optimizer-clip-main-grad"), 20);
	CHECK_EQ(count(&part, "\"optimizer\""), 20);
	CHECK_EQ(part.n_lines, 20 * (6 * 8 + 4));
	CHECK_EQ(part.n_collectives, 20 * (4 * 8 + 3));
	/* The clock of the host, which is right here, and not the GPU's. */
	CHECK(part.first_s > 1790000000 && part.last_s < 1790000000 + 60);
	CHECK(part.clock_us < 20);
	ring_part_release(&part);
}

/*
 * Its first forward is taken to last as others, whichever stage is slow: none takes nothing. (What
 * it was before its send is the optimizer's, which may be left with nothing.)
 */
static void a_first_stage_that_gathers_nothing_computes(void)
{
	int pp, slow;

	for (pp = 2; pp <= 8; pp *= 2) {
		for (slow = 0; slow < pp; slow++) {
			struct job job = job_of(1, pp, 1, 3);
			const struct ring_world_options o = { .resolution_ns = 1000 };
			CLEANUP(ring_world_freep) struct ring_world *world = NULL;
			struct ring_part part;
			struct err err = ERR_INIT;

			job.slow[job.n_slow++] = (struct job_slow){ 0, slow, 0, STEPS, 2.7 };
			world = ring_world_new(&job, &o);
			CHECK_EQ(write(&job, world, 0, &twenty, &part, &err), 0);
			CHECK_EQ(count(&part, "forward-compute"), 20 * 8);
			CHECK_EQ(count_both(&part, "forward-compute", "\"duration\":0.000000"), 0);
			ring_part_release(&part);
		}
	}
}

static void a_peer_within_a_tensor_group_has_none(void)
{
	const struct job job = job_of(4, 1, 2, 1);
	const struct ring_world_options o = { .offset_ns = 0 };
	CLEANUP(ring_world_freep) struct ring_world *world = ring_world_new(&job, &o);
	struct ring_shape shape = shape_of(&job, 1);
	struct ring_part part;
	struct err err = ERR_INIT;

	shape.rank++;
	CHECK_EQ(ring_optrace(world->ranks[1].rings, world->ranks[1].n, &shape, &twenty, &part,
			      &err),
		 -ENOTUNIQ);
	CHECK_STR(err.msg, "rank 3 is a peer within a tensor-parallel group");
}

/* All ranks number a step alike, whatever each has lost. */
static void all_ranks_take_the_same_steps(void)
{
	const size_t seeds = test_times(SEEDS_FULL, SEEDS);
	size_t seed, worker, parts = 0, steps = 0;

	for (seed = 0; seed < seeds; seed++) {
		const struct job job =
			job_of(4, 1 + (int)(seed % 4), 1 + (int)(seed % 2), 820001 + seed);
		const struct ring_world_options o = { .offset_ns = 3 * MS,
						      .drift = 5e-6,
						      .resolution_ns = 1000,
						      .lost = 0.0005,
						      .bad = 0.0005,
						      .tensor_ops = 2,
						      .evaluate_every = 9,
						      .evaluations = 2 };
		const struct ring_optrace_options every = {
			.job = "j", .steps = 8, .every = 12, .after = -1
		};
		CLEANUP(ring_world_freep) struct ring_world *world = ring_world_new(&job, &o);
		int64_t first = -1;

		for (worker = 0; worker < world->n_ranks; worker++) {
			struct ring_part part;
			struct err err = ERR_INIT;

			if (write(&job, world, worker, &every, &part, &err) < 0) {
				CHECK_STR(err.msg, "");
				continue;
			}
			parts++;
			steps += part.n_steps;
			/* Whole steps only, and from the window that begins where 12 divides. */
			CHECK_EQ(part.step / 12, part.last_step / 12);
			CHECK(part.last_step % 12 < 8);
			CHECK(first < 0 || first == part.step / 12);
			first = part.step / 12;
			ring_part_release(&part);
		}
	}
	printf("%zu parts of %zu jobs: %.2f of 8 steps whole where 1 of 1000 operations is lost or "
	       "foreign\n",
	       parts, seeds, (double)steps / (double)parts);
	CHECK(steps > parts * 6);
}

static void a_window_is_written_once(void)
{
	const struct job job = job_of(4, 1, 1, 5);
	const struct ring_world_options o = { .offset_ns = 0 };
	CLEANUP(ring_world_freep) struct ring_world *world = ring_world_new(&job, &o);
	struct ring_optrace_options options = { .job = "", .steps = 4, .every = 10, .after = -1 };
	struct ring_part part;
	struct err err = ERR_INIT;

	CHECK_EQ(write(&job, world, 0, &options, &part, &err), 0);
	CHECK_EQ(part.step, 10);
	CHECK_EQ(part.last_step, 13);
	options.after = part.last_step;
	ring_part_release(&part);
	CHECK_EQ(write(&job, world, 0, &options, &part, &err), -EAGAIN);
	options.every = 0;
	CHECK_EQ(write(&job, world, 0, &options, &part, &err), 0);
	CHECK_EQ(part.last_step, STEPS - 2);
	CHECK_EQ(part.n_steps, 4);
	ring_part_release(&part);
}

/* No more than 2 KiB of a rank and step, packed: a line takes at most 11.5 bytes (docs/optrace.md). */
static void many_collectives_are_pooled(void)
{
	enum { LAYERS = 500, OPS = (2 * LAYERS + 1) * 6 };
	const struct ring_comm comms[2] = { { .n_ranks = 8, .rank = 3, .comm_id = 1 },
					    { .n_ranks = 8, .rank = 3, .comm_id = 2 } };
	CLEANUP(freep) struct ring_op *ops = xcalloc(OPS, sizeof(*ops));
	struct ring_op clips[6];
	const struct ring_view rings[2] = { { &comms[0], ops, 6 * 2 * LAYERS },
					    { &comms[1], clips, 6 } };
	const struct ring_shape shape = { 8, 1, 1, 3 };
	const struct ring_optrace_options options = { .job = "", .steps = 3, .after = -1 };
	uint64_t at = 1000 * (uint64_t)MS, seqs[RING_FUNCS] = { 0 };
	struct ring_part part;
	struct err err = ERR_INIT;
	size_t i, step, n = 0;

	for (step = 0; step < 6; step++) {
		for (i = 0; i < 2 * LAYERS; i++) {
			const uint8_t func = i % 3 == 0 || i < LAYERS ? RING_ALL_GATHER
								      : RING_REDUCE_SCATTER;

			at += 100001;
			ops[n] = (struct ring_op){ .number = n,
						   .seq = seqs[func]++,
						   .func = func,
						   .bytes = 1 << 20,
						   .enqueued_ns = at,
						   .peer = -1,
						   .gpu_start_ns = at,
						   .gpu_stop_ns = at + 60000,
						   .host_stop_ns = at + 65000 };
			n++;
		}
		at += 200000;
		clips[step] = (struct ring_op){ .number = step,
						.seq = step,
						.func = RING_ALL_REDUCE,
						.bytes = 4,
						.enqueued_ns = at,
						.peer = -1,
						.gpu_start_ns = at,
						.gpu_stop_ns = at + 60000,
						.host_stop_ns = at + 65000 };
		at += 10 * (uint64_t)MS;
	}
	CHECK_EQ(ring_optrace(rings, 2, &shape, &options, &part, &err), 0);
	CHECK_STR(err.msg, "");
	printf("%d collectives of a step are %zu lines\n", 2 * LAYERS + 1,
	       part.n_lines / part.n_steps);
	CHECK(part.n_lines <= part.n_steps * 184);
	CHECK_EQ(part.n_collectives, part.n_steps * (2 * LAYERS + 1));
	ring_part_release(&part);
}

/* Gradients in buckets of one size, and nothing else: a step begins behind the longest gap. */
static void a_job_of_equal_all_reduces_is_cut_at_its_longest_gaps(void)
{
	enum { BUCKETS = 5, ALL = 10 * BUCKETS };
	const struct ring_comm comm = { .n_ranks = 4, .rank = 1, .comm_id = 1 };
	struct ring_op ops[ALL];
	const struct ring_view ring = { &comm, ops, ALL };
	const struct ring_shape shape = { 4, 1, 1, 1 };
	const struct ring_optrace_options options = { .job = "", .steps = 6, .after = -1 };
	uint64_t at = 1000 * (uint64_t)MS;
	struct ring_part part;
	struct err err = ERR_INIT;
	size_t i;

	for (i = 0; i < ALL; i++) {
		at += (i % BUCKETS == 0 ? 50 : 4) * (uint64_t)MS + i % 7 * 1001;
		ops[i] = (struct ring_op){ .number = i,
					   .seq = 100 + i,
					   .func = RING_ALL_REDUCE,
					   .bytes = 1 << 25,
					   .peer = -1,
					   .enqueued_ns = at,
					   .gpu_start_ns = at,
					   .gpu_stop_ns = at + MS,
					   .host_stop_ns = at + MS + 5000 };
	}
	CHECK_EQ(ring_optrace(&ring, 1, &shape, &options, &part, &err), 0);
	CHECK_STR(err.msg, "");
	CHECK_EQ(part.last_step - part.step, 5);
	CHECK_EQ(count(&part, "grads-reduce-scatter"), 6 * BUCKETS);
	CHECK_EQ(count(&part, "forward-compute"), 6);
	CHECK_EQ(count(&part, "backward-compute"), 6 * (BUCKETS - 1));
	ring_part_release(&part);
}

static void what_cannot_be_written_is_said(void)
{
	const struct job job = job_of(4, 2, 1, 7);
	const struct ring_world_options o = { .no_kernels = true },
					coarse = { .resolution_ns = MS },
					plain = { .offset_ns = 0 };
	CLEANUP(ring_world_freep) struct ring_world *blind = ring_world_new(&job, &o);
	CLEANUP(ring_world_freep) struct ring_world *slow = ring_world_new(&job, &coarse);
	CLEANUP(ring_world_freep) struct ring_world *world = ring_world_new(&job, &plain);
	struct ring_optrace_options options = twenty;
	struct job other = job;
	struct ring_part part;
	struct err err = ERR_INIT;

	CHECK_EQ(write(&job, blind, 0, &twenty, &part, &err), -ENODATA);
	CHECK_HAS(err.msg, "nothing marks the end of a step");
	CHECK_EQ(write(&job, slow, 0, &twenty, &part, &err), -ENODATA);
	CHECK_HAS(err.msg, "counts in steps of 1000 us");
	other.dp = 2;
	CHECK_EQ(write(&other, world, 0, &twenty, &part, &err), -ENODATA);
	CHECK_HAS(err.msg, "none of 3 communicators connects the 2 replicas");
	options.steps = 2;
	CHECK_EQ(write(&job, world, 0, &options, &part, &err), -EINVAL);
	CHECK_HAS(err.msg, "2 steps in a part: expected 3 to 64");
	options = (struct ring_optrace_options){ .job = "", .steps = 30, .after = -1 };
	CHECK_EQ(write(&job, world, 0, &options, &part, &err), -EAGAIN);
	CHECK_HAS(err.msg, "the next 30 wait");
}

/* A stage that meets one that is no neighbour has several model chunks. */
static void chunks_are_refused(void)
{
	const struct job job = job_of(2, 4, 1, 9);
	const struct ring_world_options o = { .offset_ns = 0 };
	CLEANUP(ring_world_freep) struct ring_world *world = ring_world_new(&job, &o);
	struct ring_part part;
	struct err err = ERR_INIT;
	struct ring_op *ops = world->ops[1];
	size_t i;

	for (i = 0; i < world->ranks[0].rings[1].n; i++)
		ops[i].peer = ops[i].func == RING_RECV ? 3 : 1;
	CHECK_EQ(write(&job, world, 0, &twenty, &part, &err), -ENODATA);
	CHECK_HAS(err.msg, "stage 0 exchanges data with stage 3, which is not its neighbour");
}

/* Whatever a ring says, nothing but a sentence comes of it. */
static void rings_of_anybody_do_no_harm(void)
{
	const size_t seeds = test_times(20 * SEEDS_FULL, 10 * SEEDS);
	size_t seed, i, j, written = 0;

	for (seed = 0; seed < seeds; seed++) {
		struct job job = job_of(2, 1 + (int)(seed % 3), 1 + (int)(seed % 2), 830001 + seed);
		const struct ring_world_options o = { .offset_ns = 3 * MS, .tensor_ops = 1 };
		CLEANUP(ring_world_freep) struct ring_world *world = NULL;
		const double part_of = job_chance(&job, 1, 0, 0, 0);
		struct ring_part part;

		job.steps = 8;
		job.mb = 3;
		world = ring_world_new(&job, &o);
		for (i = 0; i < world->ranks[0].n; i++) {
			struct ring_op *ops = world->ops[i];

			for (j = 0; j < world->ranks[0].rings[i].n; j++) {
				const double chance = job_chance(&job, 2, i, j, 0);
				uint64_t *const words[] = {
					&ops[j].seq,	     &ops[j].bytes,
					&ops[j].enqueued_ns, &ops[j].gpu_start_ns,
					&ops[j].gpu_stop_ns, &ops[j].host_stop_ns
				};

				if (chance > part_of * 0.1)
					continue;
				*words[(size_t)(job_chance(&job, 3, i, j, 0) * 6)] =
					(uint64_t)(job_chance(&job, 4, i, j, 0) * 0x1p63) * 2;
				ops[j].peer = (int32_t)(job_chance(&job, 5, i, j, 0) * 8) - 2;
				ops[j].func = (uint8_t)(job_chance(&job, 6, i, j, 0) * RING_FUNCS);
			}
		}
		if (write(&job, world, 0,
			  &(struct ring_optrace_options){ .job = "\"\\\n", .steps = 3, .after = -1 },
			  &part, NULL) == 0) {
			written++;
			ring_part_release(&part);
		}
	}
	printf("%zu of %zu spoilt processes could be written still\n", written, seeds);
}

static const struct test tests[] = {
	TEST(a_part_has_what_the_rank_did),
	TEST(a_first_stage_that_gathers_nothing_computes),
	TEST(a_peer_within_a_tensor_group_has_none),
	TEST(all_ranks_take_the_same_steps),
	TEST(a_window_is_written_once),
	TEST(many_collectives_are_pooled),
	TEST(a_job_of_equal_all_reduces_is_cut_at_its_longest_gaps),
	TEST(what_cannot_be_written_is_said),
	TEST(chunks_are_refused),
	TEST(rings_of_anybody_do_no_harm),
};

TEST_SUITE(tests);
