/* SPDX-License-Identifier: Apache-2.0 */
/* Copies to and from GPUs, on a simulated engine and clock: two nodes, faults of one GPU or one node. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/topology/topology.h"
#include "probes/memory/gpu.h"
#include "probes/memory/gpu_run.h"
#include "tests/fakes/accel_sim.h"
#include "tests/unit/test.h"

enum { SAMPLES_MAX = 128, GPUS = 3, COPY = 65536, MEMORY = 16 << 20, OWN = GPU_OWN_FACTOR * COPY };

static const double rate = 2e9;

struct bench {
	struct accel_sim sim;
	struct gpu_plan plan;
	struct numa_node nodes[2];
	struct numa_host host;
	struct sample samples[SAMPLES_MAX];
	size_t n;
	const char *comes_after; /* the subject after which somebody computes on the last GPU; NULL */
};

static int keep(void *context, struct sample *s)
{
	struct bench *b = context;

	CHECK(b->n < SAMPLES_MAX);
	if (b->comes_after && streq(s->subject, b->comes_after))
		b->sim.user_pid[GPUS - 1] = 4242;
	b->samples[b->n++] = *s;
	*s = sample_init();
	return 0;
}

static struct bench *bench_new(unsigned n_nodes)
{
	struct bench *b = xcalloc(1, sizeof(*b));
	unsigned i;

	b->sim = (struct accel_sim){
		.n_devices = GPUS, .seed = 7, .spread = 0.004, .copy_bytes_per_s = rate
	};
	for (i = 0; i < n_nodes; i++)
		b->nodes[i] = (struct numa_node){ .id = i, .total_bytes = 1 << 30 };
	b->host = (struct numa_host){ .nodes = b->nodes, .n = n_nodes };
	b->plan = (struct gpu_plan){
		.ops = accel_sim_ops(&b->sim),
		.seed = 3,
		.copy_bytes = COPY,
		.host = &b->host,
		.emit = keep,
		.context = b,
	};
	return b;
}

static void run_for(struct bench *b, uint64_t us)
{
	struct err err = ERR_INIT;

	CHECK_EQ(b->plan.ops->open(&b->plan.accel, &err), 0);
	b->plan.deadline_us = b->plan.ops->now_us(b->plan.accel) + us;
	CHECK_EQ(gpu_run(&b->plan, &err), 0);
	CHECK_STR(err.msg, "");
	b->plan.ops->close(b->plan.accel);
	CHECK_EQ(b->sim.alive, 0);
}

static void bench_free(struct bench *b)
{
	size_t i;

	for (i = 0; i < b->n; i++)
		sample_release(&b->samples[i]);
	free(b);
}

static const struct sample *find(const struct bench *b, const char *check, const char *subject)
{
	size_t i;

	for (i = 0; i < b->n; i++) {
		if (streq(b->samples[i].check, check) && streq(b->samples[i].subject, subject))
			return &b->samples[i];
	}
	CHECK(false);
	return &b->samples[0];
}

static bool is_rate(const struct sample *s, double wanted)
{
	return s->state == SAMPLE_MEASURED && fabs(s->value / wanted - 1) < 0.02 && s->w.n >= 8;
}

static void every_way_is_measured_near_and_far_alone_and_at_once(void)
{
	struct bench *b = bench_new(2);
	const struct sample *s;

	run_for(b, 3000000);
	/* Of each GPU: 3 ways near, 2 far, within, 2 with the others, to 2 others, 2 small ones. */
	CHECK_EQ(b->n, GPUS * 12);
	s = find(b, "memory.h2d_bw", "numa:0>cpu:1");
	CHECK(is_rate(s, rate));
	CHECK_STR(s->from, "numa:0");
	CHECK_STR(s->to, "gpu:cpu:1");
	CHECK_STR(s->locality, "node");
	CHECK_EQ(json_integer_value(json_object_get(s->params, "size")), COPY);
	CHECK(!json_object_get(s->params, "at_once") && !s->with);
	s = find(b, "memory.d2h_bw", "cpu:1>numa:1");
	CHECK(is_rate(s, rate));
	CHECK_STR(s->from, "gpu:cpu:1");
	CHECK_STR(s->to, "numa:1");
	CHECK_STR(s->locality, "sys");
	CHECK(is_rate(find(b, "memory.bidir_bw", "numa:0>cpu:2"), 2 * rate));
	CHECK(is_rate(find(b, "memory.device_bw", "cpu:0"), 2 * rate));
	s = find(b, "memory.h2d_bw", "numa:0>cpu:0*3");
	CHECK(is_rate(s, rate));
	CHECK_EQ(json_integer_value(json_object_get(s->params, "at_once")), 3);
	CHECK(s->with && streq(s->with[0], "cpu:1") && streq(s->with[1], "cpu:2") && !s->with[2]);
	bench_free(b);
}

static void with_one_node_nothing_is_far(void)
{
	struct bench *b = bench_new(1);
	size_t i;

	run_for(b, 3000000);
	CHECK_EQ(b->n, GPUS * 10);
	for (i = 0; i < b->n; i++)
		CHECK(!streq(b->samples[i].locality, "sys"));
	bench_free(b);
}

static void a_slow_gpu_is_slow_and_no_other(void)
{
	struct bench *b = bench_new(2);

	b->sim.slow_copy[1] = 0.5;
	run_for(b, 3000000);
	CHECK(is_rate(find(b, "memory.h2d_bw", "numa:0>cpu:1"), rate / 2));
	CHECK(is_rate(find(b, "memory.d2h_bw", "cpu:1>numa:0*3"), rate / 2));
	CHECK(is_rate(find(b, "memory.h2d_bw", "numa:0>cpu:0*3"), rate));
	CHECK(is_rate(find(b, "memory.d2h_bw", "cpu:2>numa:0"), rate));
	bench_free(b);
}

static void a_slow_far_node_is_slow_from_all_and_the_near_one_is_not(void)
{
	struct bench *b = bench_new(2);
	unsigned i;

	b->sim.far_copy = 0.4;
	run_for(b, 3000000);
	for (i = 0; i < GPUS; i++) {
		CLEANUP(freep) char *near = xasprintf("numa:0>cpu:%u", i);
		CLEANUP(freep) char *far = xasprintf("numa:1>cpu:%u", i);

		CHECK(is_rate(find(b, "memory.h2d_bw", near), rate));
		CHECK(is_rate(find(b, "memory.h2d_bw", far), 0.4 * rate));
	}
	bench_free(b);
}

static void a_node_without_memory_to_pin_is_told_of_and_no_gpu_blamed(void)
{
	struct bench *b = bench_new(2);
	const struct sample *s;

	b->sim.fail_node = 1;
	run_for(b, 3000000);
	s = find(b, "memory.h2d_bw", "numa:1>cpu:1");
	CHECK_EQ(s->state, SAMPLE_SET_UP);
	CHECK_STR(s->note, "memory of numa:1 cannot be bound");
	CHECK_EQ(s->ok, TRI_UNKNOWN);
	CHECK(is_rate(find(b, "memory.d2h_bw", "cpu:1>numa:0*3"), rate));
	bench_free(b);
}

static void a_copy_that_hangs_takes_its_gpu_out_and_no_other(void)
{
	struct bench *b = bench_new(1);
	const struct sample *s;

	b->sim.hang_at_us[1] = (uint64_t)1e9 + 500000; /* its clock starts at 1e9 */
	run_for(b, 3000000);
	s = find(b, "memory.d2h_bw", "cpu:1>numa:0*3");
	CHECK_EQ(s->state, SAMPLE_TIMEOUT);
	CHECK_HAS(s->note, "windows of copies in time");
	CHECK(is_rate(find(b, "memory.d2h_bw", "cpu:0>numa:0*3"), rate));
	CHECK(is_rate(find(b, "memory.d2h_bw", "cpu:2>numa:0*3"), rate));
	bench_free(b);
}

static void a_gpu_that_others_use_is_busy(void)
{
	struct bench *b = bench_new(1);
	const struct sample *s;

	b->sim.user_pid[2] = 4242;
	run_for(b, 3000000);
	s = find(b, "memory.device_bw", "cpu:2");
	CHECK_EQ(s->state, SAMPLE_BUSY);
	CHECK_STR(s->note, "pid 4242 (stress) computes on it");
	CHECK(is_rate(find(b, "memory.device_bw", "cpu:1"), 2 * rate));
	bench_free(b);
}

/* It comes after the copies from 0 to 1, before those from 0 to 2: 2 is asked too, not the sender
 * alone. */
static void who_comes_to_the_other_end_makes_it_busy(void)
{
	struct bench *b = bench_new(1);
	const struct sample *s;

	b->comes_after = "cpu:0>cpu:1";
	run_for(b, 3000000);
	CHECK(is_rate(find(b, "memory.p2p_bw", "cpu:0>cpu:1"), rate));
	s = find(b, "memory.p2p_bw", "cpu:0>cpu:2");
	CHECK_EQ(s->state, SAMPLE_BUSY);
	CHECK_STR(s->note, "pid 4242 (stress) computes on it");
	bench_free(b);
}

static void without_time_every_sample_says_so(void)
{
	struct bench *b = bench_new(1);
	size_t i;

	run_for(b, 1000);
	CHECK_EQ(b->n, GPUS * 10);
	for (i = 0; i < b->n; i++) {
		CHECK_EQ(b->samples[i].state, SAMPLE_TIMEOUT);
		CHECK_HAS(b->samples[i].note, "too little time");
	}
	bench_free(b);
}

static void each_pair_of_gpus_is_measured_and_says_which_way_it_went(void)
{
	static const bool no_peers[] = { false, true };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(no_peers); i++) {
		struct bench *b = bench_new(1);
		const struct sample *s;

		b->sim.no_peers = no_peers[i];
		b->sim.slow_copy[2] = 0.5;
		run_for(b, 3000000);
		s = find(b, "memory.p2p_bw", "cpu:1>cpu:0");
		CHECK(is_rate(s, rate));
		CHECK_STR(s->from, "gpu:cpu:1");
		CHECK_STR(s->to, "gpu:cpu:0");
		CHECK(!s->path);
		CHECK_EQ(json_is_true(json_object_get(s->params, "direct")), !no_peers[i]);
		CHECK(is_rate(find(b, "memory.p2p_bw", "cpu:2>cpu:0"), rate / 2));
		bench_free(b);
	}
}

/* All but what is left for others, rounded down to copies. */
enum { TRIED = MEMORY / 100 * 98 / COPY * COPY };

static void memory_that_keeps_what_is_written_is_good(void)
{
	struct bench *b = bench_new(1);
	const struct sample *s;

	b->plan.pattern = true;
	b->sim.memory_bytes = MEMORY;
	run_for(b, 300000);
	s = find(b, "memory.pattern", "cpu:1");
	CHECK_EQ(s->ok, TRI_YES);
	CHECK(s->value == 0);
	CHECK_EQ(s->n, TRIED / sizeof(uint64_t));
	CHECK_STR(s->note, "0.0 GB, 98 % of its memory");
	bench_free(b);
}

/* What others have on it may grow meanwhile. */
static void of_a_gpu_that_is_not_ours_alone_half_is_tried(void)
{
	struct bench *b = bench_new(1);

	b->plan.pattern = b->plan.run_busy = true;
	b->sim.memory_bytes = MEMORY;
	run_for(b, 300000);
	CHECK_EQ(find(b, "memory.pattern", "cpu:0")->n, MEMORY / 2 / sizeof(uint64_t));
	bench_free(b);
}

static void when_the_time_is_over_it_says_how_far_it_came(void)
{
	struct bench *b = bench_new(1);
	const struct sample *s;

	b->plan.pattern = true;
	b->sim.memory_bytes = UINT64_C(16) * MEMORY;
	run_for(b, 300000);
	s = find(b, "memory.pattern", "cpu:0");
	CHECK_EQ(s->ok, TRI_YES);
	CHECK(s->n >= COPY / sizeof(uint64_t) && s->n < 16 * TRIED / sizeof(uint64_t));
	CHECK_HAS(s->note, "% of its memory: time ran out");
	bench_free(b);
}

static void a_wrong_word_names_its_gpu_and_whether_it_is_wrong_again(void)
{
	static const struct {
		unsigned count;
		int severity;
		const char *code, *offset;
	} cases[] = { { 0, SEVERITY_FATAL, "pattern:reproduced", "offset 0x28: expected 0x" },
		      { 1, SEVERITY_WARN, "pattern:once", "offset 0x" } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench *b = bench_new(1);
		const struct sample *s;

		b->plan.pattern = true;
		b->sim.memory_bytes = MEMORY;
		b->sim.damage_above = OWN; /* not what rates are of */
		b->sim.fault =
			(struct accel_sim_fault){ .device = 1, .row = 5, .count = cases[i].count };
		run_for(b, 300000);
		s = find(b, "memory.pattern", "cpu:1");
		CHECK_EQ(s->ok, TRI_NO);
		CHECK_EQ(s->severity, cases[i].severity);
		CHECK_STR(s->code, cases[i].code);
		CHECK_HAS(s->note, cases[i].offset);
		CHECK_EQ(find(b, "memory.pattern", "cpu:0")->ok, TRI_YES);
		CHECK_EQ(find(b, "memory.pattern", "cpu:2")->ok, TRI_YES);
		bench_free(b);
	}
}

/* The host sees the last strip alone: the GPU copied the fault there, and halving leads back. */
static void a_bit_that_is_stuck_is_found_wherever_it_is(void)
{
	static const size_t places[] = {
		0, 5 * COPY + 77, 16 * COPY, TRIED / 2 + 1234, TRIED - 20 * COPY - 1, TRIED - 1
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		struct bench *b = bench_new(1);
		CLEANUP(freep)
		char *offset = xasprintf("the first, at offset 0x%zx:", places[i] / 8 * 8);
		const struct sample *s;

		b->plan.pattern = true;
		b->sim.memory_bytes = MEMORY;
		b->sim.damage_above = OWN;
		b->sim.stuck_at = places[i] + 1;
		b->sim.fault.device = 2;
		run_for(b, 300000);
		s = find(b, "memory.pattern", "cpu:2");
		CHECK_EQ(s->ok, TRI_NO);
		CHECK_STR(s->code, "pattern:reproduced");
		CHECK_HAS(s->note, offset);
		CHECK_EQ(find(b, "memory.pattern", "cpu:0")->ok, TRI_YES);
		bench_free(b);
	}
}

static void an_address_line_that_does_not_work_is_found(void)
{
	size_t line;

	for (line = COPY; line <= MEMORY / 2; line *= 2) {
		struct bench *b = bench_new(1);

		b->plan.pattern = true;
		b->sim.memory_bytes = MEMORY;
		b->sim.damage_above = OWN;
		b->sim.address_line = line;
		b->sim.fault.device = 0;
		run_for(b, 300000);
		CHECK_EQ(find(b, "memory.pattern", "cpu:0")->ok, TRI_NO);
		CHECK_EQ(find(b, "memory.pattern", "cpu:1")->ok, TRI_YES);
		bench_free(b);
	}
}

static const struct test tests[] = {
	TEST(every_way_is_measured_near_and_far_alone_and_at_once),
	TEST(with_one_node_nothing_is_far),
	TEST(a_slow_gpu_is_slow_and_no_other),
	TEST(a_slow_far_node_is_slow_from_all_and_the_near_one_is_not),
	TEST(a_node_without_memory_to_pin_is_told_of_and_no_gpu_blamed),
	TEST(a_copy_that_hangs_takes_its_gpu_out_and_no_other),
	TEST(a_gpu_that_others_use_is_busy),
	TEST(who_comes_to_the_other_end_makes_it_busy),
	TEST(without_time_every_sample_says_so),
	TEST(each_pair_of_gpus_is_measured_and_says_which_way_it_went),
	TEST(memory_that_keeps_what_is_written_is_good),
	TEST(of_a_gpu_that_is_not_ours_alone_half_is_tried),
	TEST(when_the_time_is_over_it_says_how_far_it_came),
	TEST(a_wrong_word_names_its_gpu_and_whether_it_is_wrong_again),
	TEST(a_bit_that_is_stuck_is_found_wherever_it_is),
	TEST(an_address_line_that_does_not_work_is_found),
};

TEST_SUITE(tests);
