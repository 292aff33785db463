/* SPDX-License-Identifier: Apache-2.0 */
/* The full measurement between ports on the simulated fabric: results for good ones and for a bad
 * one. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "probes/all_to_all/all_to_all.h"
#include "probes/all_to_all/all_to_all_rnics.h"
#include "probes/rnic_pair/pair_plan.h"
#include "tests/unit/pair_fabric.h"
#include "tests/unit/test.h"

enum { N = 4, SAMPLES_MAX = 64, PATHS = N * N };

#define LINK_RATE 1e9

static struct bench {
	struct pair_fabric fabric;
	struct sim_path paths[PATHS];
	struct pair_plan *ports;
	struct all_to_all_plan plan;
	struct sample samples[SAMPLES_MAX];
	size_t n;
} bench;

static int keep(void *context UNUSED, struct sample *s)
{
	CHECK(bench.n < SAMPLES_MAX);
	bench.samples[bench.n++] = *s;
	*s = sample_init();
	return 0;
}

static void lay_links(void)
{
	struct rdma_sim *sim = &bench.fabric.sim;
	unsigned i, j;

	for (i = 0; i < 2 * N; i++)
		sim->links[i] = (struct sim_link){ .bytes_per_s = LINK_RATE };
	for (i = 0; i < N; i++) {
		for (j = 0; j < N; j++) {
			const struct pair_side *side = &bench.ports->sides[i];
			struct sim_path *p = &bench.paths[sim->n_paths++];

			*p = (struct sim_path){ .port = 1,
						.at = side->source.at,
						.bytes = side->source.bytes,
						.links = { i, N + j },
						.n_links = 2,
						.factor = 1 };
			memcpy(p->device, side->port->device, RDMA_NAME_SIZE);
			memcpy(p->to, bench.ports->sides[j].port->device, RDMA_NAME_SIZE);
		}
	}
	sim->n_links = (size_t)2 * N;
	sim->paths = bench.paths;
}

static void bench_open(void)
{
	unsigned i;

	bench = (struct bench){ .n = 0 };
	pair_fabric_open(&bench.fabric, N);
	pair_fabric_keep_core();
	bench.fabric.sim.moves = true;
	bench.fabric.sim.poll_s = 100e-9;
	bench.ports = xcalloc(1, sizeof(*bench.ports));
	bench.ports->engine = &bench.fabric.sim.engine;
	bench.ports->n_sides = N;
	for (i = 0; i < N; i++)
		bench.ports->sides[i] = bench.fabric.sides[i];
	lay_links();
	bench.plan = (struct all_to_all_plan){ .kind = &all_to_all_rnics,
					       .size = ALL_TO_ALL_SIZE_MAX,
					       .seed = 1,
					       .full = true,
					       .known = (double)NAN,
					       .deadline_us = 60 * USEC_PER_SEC,
					       .emit = keep,
					       .ports = bench.ports,
					       .depth = 16 };
}

static void bench_close(void)
{
	size_t i;

	for (i = 0; i < bench.n; i++)
		sample_release(&bench.samples[i]);
	free(bench.ports);
	pair_fabric_close(&bench.fabric);
}

static void run(void)
{
	struct err err = ERR_INIT;

	CHECK_EQ(all_to_all_run_rnics(&bench.plan, &err), 0);
	CHECK_STR(err.msg, "");
}

static const struct sample *find(const char *check, const char *subject)
{
	static const struct sample none = { .value = -1 };
	size_t i;

	for (i = 0; i < bench.n; i++) {
		if (streq(bench.samples[i].check, check) && streq(bench.samples[i].subject, subject))
			return &bench.samples[i];
	}
	CHECK_STR(subject, "among the samples");
	return &none;
}

static size_t count(const char *check)
{
	size_t n = 0, i;

	for (i = 0; i < bench.n; i++)
		n += streq(bench.samples[i].check, check);
	return n;
}

static void good_ports_are_measured_and_right(void)
{
	const struct sample *total, *correct;

	bench_open();
	run();
	correct = find("all_to_all.rnic_correct", "rnics");
	CHECK_EQ(correct->ok, TRI_YES);
	CHECK(correct->n > 0);
	total = find("all_to_all.rnic_busbw", "rnics");
	CHECK_NEAR(total->value, LINK_RATE, 0.05 * LINK_RATE);
	CHECK(!total->note);
	CHECK_NEAR(bench.plan.known, total->value, 1);
	CHECK_EQ(count("all_to_all.rnic_size_bw"), 1); /* 64 KiB; 1 MiB is all there is */
	CHECK_EQ(count("all_to_all.rnic_pair_bw"), N * (N - 1));
	CHECK_NEAR(find("all_to_all.rnic_pair_bw", "sim1:1>sim3:1")->value, LINK_RATE,
		   0.05 * LINK_RATE);
	CHECK_STR(find("all_to_all.rnic_pair_bw", "sim1:1>sim3:1")->code, "rail:1>3");
	bench_close();
}

static void quick_measures_no_pairs_of_good_ports(void)
{
	bench_open();
	bench.plan.full = false;
	run();
	CHECK_EQ(count("all_to_all.rnic_pair_bw"), 0);
	bench_close();
}

static void what_a_slow_port_sends_is_slow_to_everybody(void)
{
	unsigned to;

	bench_open();
	bench.fabric.sim.links[2].bytes_per_s = LINK_RATE / 2;
	/* It did twice that before: so pairs are looked at. */
	bench.plan.full = false;
	bench.plan.known = LINK_RATE;
	run();
	CHECK_NEAR(find("all_to_all.rnic_busbw", "rnics")->value, LINK_RATE / 2, 0.05 * LINK_RATE);
	CHECK_HAS(find("all_to_all.rnic_busbw", "rnics")->note, "the pairs of sim2:1 reach ");
	for (to = 0; to < N; to++) {
		char subject[64];

		if (to == 2)
			continue;
		(void)snprintf(subject, sizeof(subject), "sim2:1>sim%u:1", to);
		CHECK_NEAR(find("all_to_all.rnic_pair_bw", subject)->value, LINK_RATE / 2,
			   0.05 * LINK_RATE);
		(void)snprintf(subject, sizeof(subject), "sim%u:1>sim2:1", to);
		CHECK_NEAR(find("all_to_all.rnic_pair_bw", subject)->value, LINK_RATE,
			   0.05 * LINK_RATE);
	}
	bench_close();
}

static void nothing_into_a_port_names_it(void)
{
	const struct sample *late;

	bench_open();
	bench.fabric.sim.links[N + 1].bytes_per_s = 1;
	run();
	late = find("all_to_all.rnic_correct", "sim1:1");
	CHECK_EQ(late->state, SAMPLE_TIMEOUT);
	CHECK_HAS(late->note, "had not arrived when time ran out");
	CHECK_EQ(bench.n, 1);
	bench_close();
}

static void a_port_that_is_not_ready_keeps_all_from_it(void)
{
	static const struct {
		int code, state;
		const char *subject;
	} cases[] = { { EBUSY, SAMPLE_BUSY, "rnics" }, { ENETDOWN, SAMPLE_SET_UP, "rnics" } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		bench_open();
		(void)err_set(&bench.ports->sides[2].err, cases[i].code, "why it is not ready");
		run();
		CHECK(bench.n > 0);
		CHECK_EQ(bench.samples[0].state, cases[i].state);
		CHECK_STR(bench.samples[0].note, "why it is not ready");
		bench_close();
	}
}

static void one_port_is_nothing_to_measure(void)
{
	struct err err = ERR_INIT;

	bench_open();
	bench.ports->n_sides = 1;
	CHECK_EQ(all_to_all_run_rnics(&bench.plan, &err), -ENODEV);
	CHECK_HAS(err.msg, "at least two active RDMA ports, and there is 1");
	bench_close();
}

/* The first byte that goes out is changed on its way; and what is sent to try it again fails. */
static struct {
	struct rdma_ops real;
	unsigned sends;
	bool flipped;
} trouble;

static int post_in_trouble(struct rdma_queue *q, const struct rdma_work *work, size_t n,
			   struct err *err)
{
	struct rdma_sim *sim = &bench.fabric.sim;
	int r;

	/* One send a block ends each operation. */
	trouble.sends += work[n - 1].opcode == RDMA_SEND;
	if (trouble.sends > N * (N - 1) && !sim->fail_at) {
		sim->fail_at = sim->requests + 1;
		sim->fail_status = RDMA_RETRY_EXCEEDED;
	}
	r = trouble.real.post(q, work, n, err);
	if (!trouble.flipped)
		*(unsigned char *)(uintptr_t)work[0].remote ^= 1;
	trouble.flipped = true;
	return r;
}

static void wrong_data_is_told_though_it_cannot_be_tried_again(void)
{
	const struct sample *s;

	bench_open();
	trouble.real = bench.fabric.ops;
	trouble.sends = 0;
	trouble.flipped = false;
	bench.fabric.ops.post = post_in_trouble;
	run();
	s = find("all_to_all.rnic_correct", "rnics");
	CHECK_EQ(s->value, 1);
	CHECK_EQ(s->ok, TRI_NO);
	CHECK_EQ(s->severity, SEVERITY_WARN);
	CHECK_HAS(s->note, "what sim0:1 sent to sim1:1: element ");
	CHECK_HAS(s->note, "the result of repeating it is unknown");
	bench_close();
}

static const struct test tests[] = {
	TEST(good_ports_are_measured_and_right),
	TEST(quick_measures_no_pairs_of_good_ports),
	TEST(what_a_slow_port_sends_is_slow_to_everybody),
	TEST(nothing_into_a_port_names_it),
	TEST(a_port_that_is_not_ready_keeps_all_from_it),
	TEST(one_port_is_nothing_to_measure),
	TEST(wrong_data_is_told_though_it_cannot_be_tried_again),
};

TEST_SUITE(tests);
