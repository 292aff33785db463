/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts in an all-reduce: the results of each, and what happens to all if one fails. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "probes/all_reduce/reduce_emit.h"
#include "probes/all_reduce/reduce_meet.h"
#include "probes/all_reduce/reduce_part.h"
#include "probes/all_reduce/reduce_run.h"
#include "probes/coll/coll_data.h"
#include "probes/rnic_pair/pair_gpu.h"
#include "probes/rnic_pair/pair_plan.h"
#include "tests/fakes/accel_sim.h"
#include "tests/unit/reduce_fleet.h"
#include "tests/unit/test.h"

#define GPU_OPEN_US (60 * USEC_PER_SEC)

static json_int_t number_of(const struct sample *s, const char *key)
{
	return json_integer_value(json_object_get(s->params, key));
}

static void every_host_tells_what_it_saw(void)
{
	static const char *const names[] = { "all_reduce.busbw", "all_reduce.link_bw",
					     "all_reduce.skew", "all_reduce.correct" };
	unsigned rank;
	size_t i;

	fleet_open();
	fleet.fabric.sim.ports[1].members = 2;
	fleet_run();
	for (rank = 0; rank < HOSTS; rank++) {
		struct host *h = &fleet.hosts[rank];

		CHECK_EQ(h->r, 0);
		CHECK_STR(h->err.msg, "");
		CHECK_EQ(h->n_samples, ARRAY_SIZE(names));
		for (i = 0; i < h->n_samples; i++) {
			CHECK_STR(h->samples[i].check, names[i]);
			CHECK_EQ(h->samples[i].state, SAMPLE_MEASURED);
			CHECK(isfinite(h->samples[i].value));
			CHECK_STR(h->samples[i].code, "rail:0");
			CHECK_STR(h->samples[i].with[0], rank == 0 ? "node-1" : "node-0");
		}
		CHECK_EQ(h->samples[0].w.n, REDUCE_WINDOWS);
		/* Only of rank 0: its pieces, its queue pairs. */
		CHECK_EQ(number_of(&h->samples[0], "qps"), 1);
		CHECK_EQ(number_of(&h->samples[0], "size"), 16384);
		CHECK_EQ(number_of(&h->samples[0], "mtu"), 4096);
		CHECK_EQ(number_of(&h->samples[0], "bond"), rank == 1 ? 2 : 0);
		CHECK(h->samples[0].value > 0);
		CHECK(h->samples[2].value >= 0);
		CHECK_EQ(h->samples[3].ok, TRI_YES);
		CHECK_EQ(h->samples[3].n, 2);
	}
	CHECK_STR(fleet.hosts[2].samples[1].subject, "sim2:1>node-0");
	fleet_close();
}

/* --- in memory of GPUs --- */

static void take_gpus(struct accel_sim *sim, struct pair_gpus *g)
{
	const struct pair_memory_want want = { .bytes = PAIR_FABRIC_BYTES, .open_us = GPU_OPEN_US };
	struct pair_fabric *f = &fleet.fabric;
	size_t i;

	*sim = (struct accel_sim){ .n_devices = HOSTS, .flop_per_s = 1e12, .exports_dmabuf = true };
	f->options.memory = PAIR_MEMORY_GPU;
	f->options.gpus = accel_sim_ops(sim);
	for (i = 0; i < f->n; i++)
		pair_side_close(&f->sides[i]);
	pair_gpus_take(g, &f->options, &want, f->sides, f->n);
	for (i = 0; i < f->n; i++)
		pair_side_open(&f->sides[i], &f->host, PAIR_FABRIC_BYTES);
}

static void in_memory_of_gpus_it_is_another_check_without_sums(void)
{
	static const char *const names[] = { "all_reduce.gpu_busbw", "all_reduce.gpu_link_bw",
					     "all_reduce.gpu_skew", "all_reduce.gpu_correct" };
	static struct accel_sim sim;
	struct pair_gpus gpus = { .n = 0 };
	unsigned rank;
	size_t i;

	fleet_open();
	take_gpus(&sim, &gpus);
	fleet_run();
	for (rank = 0; rank < HOSTS; rank++) {
		struct host *h = &fleet.hosts[rank];

		CHECK_STR(h->err.msg, "");
		CHECK_EQ(h->n_samples, ARRAY_SIZE(names));
		for (i = 0; i < h->n_samples; i++) {
			const json_t *params = h->samples[i].params;

			CHECK_STR(h->samples[i].check, names[i]);
			CHECK_EQ(h->samples[i].state, SAMPLE_MEASURED);
			CHECK_STR(json_string_value(json_object_get(params, "memory")), "gpu");
			CHECK_STR(json_string_value(json_object_get(params, "via")), "dmabuf");
			CHECK_STR(json_string_value(json_object_get(params, "sums")), "none");
		}
		CHECK_EQ(h->samples[3].ok, TRI_YES);
	}
	fleet_close();
	pair_gpus_release(&gpus);
}

/* If a rank reports no bytes, all others have none, on all rails. */
static void a_first_rail_without_memory_takes_none_of_the_others(void)
{
	CLEANUP(freep) struct pair_plan *plan = xcalloc(1, sizeof(*plan));
	CLEANUP(freep) struct reduce_session *s = xcalloc(1, sizeof(*s));
	struct reduce_options options = { .pair = { .qps = 2 }, .rank = 1 };
	struct probe probe = { .options = &options, .deadline_us = USEC_PER_SEC };
	size_t i;

	plan->probe = &probe;
	plan->bytes = PAIR_FABRIC_BYTES;
	for (i = 0; i < 2; i++)
		plan->sides[plan->n_sides++].options = &options.pair;
	plan->sides[1].target.bytes = PAIR_FABRIC_BYTES;
	reduce_session_take(s, plan);
	CHECK_EQ(s->bytes, PAIR_FABRIC_BYTES / 2);
	CHECK_EQ(s->n_sides, 2);
	CHECK_EQ(s->qps, 2);
}

static void wrong_data_in_a_gpu_is_told_by_who_has_it(void)
{
	static struct accel_sim sim;
	struct pair_gpus gpus = { .n = 0 };
	unsigned rank, wrong = 0;

	fleet_open();
	take_gpus(&sim, &gpus);
	fleet.flips = true;
	fleet.flips_at_the_end = true;
	fleet_run();
	for (rank = 0; rank < HOSTS; rank++) {
		const struct sample *s = &fleet.hosts[rank].samples[3];

		if (s->ok != TRI_NO)
			continue;
		wrong++;
		CHECK_HAS(s->note, "1 wrong elements; the first is element");
	}
	CHECK(wrong > 0);
	fleet_close();
	pair_gpus_release(&gpus);
}

static void a_host_with_other_memory_is_no_bad_link(void)
{
	static struct accel_sim sim;
	struct pair_gpus gpus = { .n = 0 };
	struct pair_options host_memory;
	struct pair_side *side;
	unsigned rank;
	size_t i;

	fleet_open();
	take_gpus(&sim, &gpus);
	side = &fleet.fabric.sides[1];
	host_memory = fleet.fabric.options;
	host_memory.memory = PAIR_MEMORY_HOST;
	pair_side_close(side);
	side->options = &host_memory;
	pair_side_open(side, &fleet.fabric.host, PAIR_FABRIC_BYTES);
	fleet_run();
	for (rank = 0; rank < HOSTS; rank++) {
		struct host *h = &fleet.hosts[rank];

		CHECK(h->r < 0);
		for (i = 0; i < h->n_samples; i++) {
			CHECK_EQ(h->samples[i].ok, TRI_UNKNOWN);
			CHECK(h->samples[i].state != SAMPLE_MEASURED);
			CHECK_HAS(h->samples[i].note, "give both the same --memory");
		}
	}
	fleet_close();
	pair_gpus_release(&gpus);
}

/* The first chunk has already arrived. */
static void a_rank_that_comes_late_is_not_faster_for_it(void)
{
	double zeros[HOSTS] = { 0 }, behind[HOSTS] = { 0, 0.25, 0 };
	struct reduce_message result = reduce_message_init(REDUCE_RESULT), opened;
	struct reduce_session *s = &fleet.hosts[1].session;
	const struct coll_op op = { .kind = COLL_ALL_REDUCE, .bytes = 3 * 4 * 1000 };
	char nothing[] = "";

	fleet_open();
	reduce_open(s, 0, &opened);
	CHECK_EQ(opened.kind, REDUCE_OFFER);
	s->bytes = op.bytes;
	s->window_s[s->n_windows++] = 0.75;
	s->window_ops = 1;
	s->sent_bytes = 1;
	s->sent_s = 1;
	result.rates = result.late = (struct jreals){ zeros, HOSTS };
	result.behind = (struct jreals){ behind, HOSTS };
	result.why = result.foreign = nothing;
	CHECK_EQ(reduce_emit(s, &result), 0);
	CHECK_NEAR(fleet.hosts[1].samples[0].value, coll_busbw(&op, HOSTS, 1), 1e-6);
	fleet_close();
}

static void wrong_data_is_told_by_who_has_it(void)
{
	unsigned rank, wrong = 0;

	fleet_open();
	fleet.flips = true;
	fleet_run();
	for (rank = 0; rank < HOSTS; rank++) {
		const struct sample *s = &fleet.hosts[rank].samples[3];

		CHECK_EQ(fleet.hosts[rank].n_samples, 4);
		if (s->ok != TRI_NO)
			continue;
		wrong++;
		CHECK_HAS(s->note, "1 wrong sums; the first is element");
	}
	CHECK(wrong > 0);
	fleet_close();
}

static void a_host_that_dies_is_named_to_all_others(void)
{
	unsigned rank;
	size_t i;

	fleet_open();
	fleet.dies = 2;
	fleet.after = 100;
	fleet_run();
	CHECK_EQ(fleet.dies, NOBODY);
	for (rank = 0; rank < 2; rank++) {
		struct host *h = &fleet.hosts[rank];

		CHECK_EQ(h->r, -ECANCELED);
		CHECK_EQ(h->session.suspect, 2);
		CHECK_HAS(h->session.why, "rank 2 (node-2)");
		CHECK_EQ(h->n_samples, 4);
		for (i = 0; i < h->n_samples; i++) {
			CHECK_EQ(h->samples[i].state, SAMPLE_ABORTED);
			CHECK_HAS(h->samples[i].note, "rank 2 (node-2)");
		}
	}
	CHECK(clock_mono_us() < fleet.hosts[0].session.deadline_us);
	fleet_close();
}

/* Its connection is open and its port responds: only its silence shows it. */
static void a_host_that_stands_still_is_named_when_the_time_is_up(void)
{
	unsigned rank;

	fleet_open();
	fleet.hangs = 1;
	for (rank = 0; rank < HOSTS; rank++) {
		fleet.hosts[rank].session.go_us = 2 * USEC_PER_SEC;
		fleet.hosts[rank].session.grace_us = USEC_PER_SEC;
	}
	fleet_run();
	for (rank = 0; rank < HOSTS; rank += 2) {
		struct host *h = &fleet.hosts[rank];

		CHECK_EQ(h->r, -ECANCELED);
		CHECK_EQ(h->session.suspect, 1);
		CHECK_STR(h->session.why, "rank 1 (node-1) had not answered when time ran out");
		CHECK_EQ(h->samples[0].state, SAMPLE_ABORTED);
	}
	CHECK(clock_mono_us() < fleet.hosts[0].session.deadline_us);
	fleet_close();
}

/* The wait for its answer stays within the budget, otherwise no result would be printed. */
static void a_host_that_says_nothing_does_not_hold_up_the_end(void)
{
	unsigned rank;

	fleet_open();
	fleet.mute = 2;
	for (rank = 0; rank < HOSTS; rank++)
		fleet.hosts[rank].session.deadline_us = clock_mono_us() + USEC_PER_SEC;
	fleet_run();
	/* The wait for an answer is 20 s if there is that much time. */
	CHECK(clock_mono_us() < fleet.hosts[0].session.deadline_us + 10 * USEC_PER_SEC);
	for (rank = 0; rank < 2; rank++)
		CHECK_EQ(fleet.hosts[rank].n_samples, 4);
	CHECK_EQ(fleet.hosts[0].r, -ECANCELED);
	CHECK_EQ(fleet.hosts[0].session.suspect, 2);
	CHECK_HAS(fleet.hosts[0].session.why, "rank 2 (node-2)");
	fleet_close();
}

static void traffic_of_others_at_one_port_makes_nobody_slow(void)
{
	unsigned rank;
	size_t i;

	fleet_open();
	(void)setenv("ASSAY_SYSROOT", test_dir(), 1);
	fleet.fabric.ops.hollow = false;
	fleet.shared = 2;
	fleet.after = 200;
	for (rank = 0; rank < HOSTS; rank++)
		fleet_set_received((int)rank, 0);
	fleet_run();
	CHECK_EQ(fleet.shared, NOBODY);
	for (rank = 0; rank < HOSTS; rank++) {
		struct host *h = &fleet.hosts[rank];

		CHECK_EQ(h->r, 0);
		CHECK_EQ(h->n_samples, 4);
		for (i = 0; i < 3; i++) {
			CHECK_EQ(h->samples[i].state, SAMPLE_FOREIGN_TRAFFIC);
			CHECK(isnan(h->samples[i].value));
			CHECK_HAS(h->samples[i].note,
				  "node-2: sim2 port 1: other traffic of about");
		}
		CHECK_EQ(h->samples[3].ok, TRI_YES);
	}
	(void)unsetenv("ASSAY_SYSROOT");
	fleet_close();
}

static void a_host_that_cannot_open_its_port_is_named(void)
{
	unsigned rank;

	fleet_open();
	(void)err_set(&fleet.fabric.sides[1].err, ENETDOWN, "sim1 port 1: down");
	fleet_run();
	for (rank = 0; rank < HOSTS; rank++) {
		CHECK_EQ(fleet.hosts[rank].r, -ECANCELED);
		CHECK_EQ(fleet.hosts[rank].session.suspect, 1);
		CHECK_STR(fleet.hosts[rank].session.why, "node-1: sim1 port 1: down");
	}
	fleet.fabric.sides[1].err = (struct err)ERR_INIT;
	fleet_close();
}

static void a_port_that_others_use_is_busy_for_all(void)
{
	unsigned rank;

	fleet_open();
	(void)err_set(&fleet.fabric.sides[2].err, EBUSY, "ib_write_bw (pid 7) uses sim2");
	fleet_run();
	for (rank = 0; rank < HOSTS; rank++) {
		CHECK_EQ(fleet.hosts[rank].samples[0].state, SAMPLE_BUSY);
		CHECK_STR(fleet.hosts[rank].samples[0].note,
			  "node-2: ib_write_bw (pid 7) uses sim2");
	}
	fleet.fabric.sides[2].err = (struct err)ERR_INIT;
	fleet_close();
}

static void ranks_that_never_come_are_named(void)
{
	struct host *h = &fleet.hosts[0];
	char *listens;

	fleet_open();
	listens = fleet.addresses[0];
	fleet.addresses[0] = xstrdup("127.0.0.1:0");
	free(listens);
	CHECK_EQ(reduce_meet(&h->session, clock_mono_us(), &h->err), 0);
	CHECK_EQ(reduce_session_run(&h->session, &h->err), -ECANCELED);
	CHECK_STR(h->err.msg, "rank 1 (host1:7001), rank 2 (host2:7002) did not come");
	CHECK_EQ(h->session.suspect, 1);
	CHECK_EQ(h->n_samples, 4);
	CHECK_EQ(h->samples[0].state, SAMPLE_SET_UP);
	CHECK_HAS(h->samples[0].note, "rank 2 (host2:7002) did not come");
	fleet_close();
}

static const struct test tests[] = {
	TEST(every_host_tells_what_it_saw),
	TEST(in_memory_of_gpus_it_is_another_check_without_sums),
	TEST(a_first_rail_without_memory_takes_none_of_the_others),
	TEST(wrong_data_in_a_gpu_is_told_by_who_has_it),
	TEST(a_host_with_other_memory_is_no_bad_link),
	TEST(a_rank_that_comes_late_is_not_faster_for_it),
	TEST(wrong_data_is_told_by_who_has_it),
	TEST(a_host_that_dies_is_named_to_all_others),
	TEST(a_host_that_stands_still_is_named_when_the_time_is_up),
	TEST(a_host_that_says_nothing_does_not_hold_up_the_end),
	TEST(traffic_of_others_at_one_port_makes_nobody_slow),
	TEST(a_host_that_cannot_open_its_port_is_named),
	TEST(a_port_that_others_use_is_busy_for_all),
	TEST(ranks_that_never_come_are_named),
};

TEST_SUITE(tests);
