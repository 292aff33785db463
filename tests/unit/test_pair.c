/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of ports on a simulated fabric: how each failure is reported, and that nothing is left open. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/topology/topology.h"
#include "probes/rnic_pair/pair_connect.h"
#include "probes/rnic_pair/pair_measure.h"
#include "probes/rnic_pair/pair_sample.h"
#include "tests/unit/pair_fabric.h"
#include "tests/unit/test.h"

enum { SIDES = PAIR_FABRIC_SIDES, JOBS_MAX = SIDES * (SIDES - 1), NSEC_PER_USEC = 1000 };

/* The simulated fabric, with an operation or two that fail. */
static struct faults {
	int connect_error;  /* errno of every connection */
	uint32_t lost_from; /* a write of so many bytes never arrives */
	int lost_status;    /* enum rdma_status of it; 0: nothing is ever heard */
	bool down;	    /* the ports are down when somebody looks again */
	struct rdma_ops real;
	struct rdma_sim *sim;
} faults;

struct bench {
	struct pair_fabric fabric;
	struct pair_job jobs[JOBS_MAX];
	size_t n_jobs;
};

static int faulty_connect(struct rdma_queue *q, const struct rdma_end *peer, struct err *err)
{
	if (faults.connect_error)
		return err_errno(err, faults.connect_error, "sim0 port 1: queue pair to RTR");
	return faults.real.queue_connect(q, peer, err);
}

static int faulty_post(struct rdma_queue *q, const struct rdma_work *work, size_t n, struct err *err)
{
	struct rdma_sim *sim = faults.sim;

	if (faults.lost_from && work[0].length >= faults.lost_from) {
		if (!faults.lost_status)
			return 0;
		sim->fail_at = sim->requests + 1;
		sim->fail_status = faults.lost_status;
	}
	return faults.real.post(q, work, n, err);
}

static int faulty_port_now(struct rdma_device *d, unsigned port, struct rdma_port *ret,
			   struct err *err)
{
	int r = faults.real.port_now(d, port, ret, err);

	if (r == 0)
		ret->active = !faults.down;
	return r;
}

static void bench_open(struct bench *b, size_t n)
{
	struct rdma_ops *ops = &b->fabric.ops;
	size_t i, j;

	b->n_jobs = 0;
	pair_fabric_open(&b->fabric, n);
	pair_fabric_keep_core();
	faults = (struct faults){ .real = *ops, .sim = &b->fabric.sim };
	ops->queue_connect = faulty_connect;
	ops->post = faulty_post;
	ops->port_now = faulty_port_now;
	for (i = 0; i < n; i++) {
		b->fabric.sides[i].met_before = true;
		for (j = 0; j < n; j++) {
			if (i != j)
				b->jobs[b->n_jobs++] =
					(struct pair_job){ .from = &b->fabric.sides[i],
							   .to = &b->fabric.sides[j] };
		}
	}
}

static void bench_close(struct bench *b)
{
	size_t i;

	for (i = 0; i < b->n_jobs; i++)
		pair_part(&b->jobs[i]);
	pair_fabric_close(&b->fabric);
}

static void connect_all(struct bench *b)
{
	pair_connect_all(b->jobs, b->n_jobs,
			 b->fabric.sim.now_ns / NSEC_PER_USEC + 5 * USEC_PER_SEC);
	CHECK_EQ(b->fabric.sim.open_queues, 0);
}

static void all_pairs_of_a_good_fabric_connect(void)
{
	struct bench b;
	size_t i;

	bench_open(&b, SIDES);
	connect_all(&b);
	for (i = 0; i < b.n_jobs; i++) {
		CHECK_EQ(b.jobs[i].verdict.state, SAMPLE_MEASURED);
		CHECK_EQ(b.jobs[i].verdict.ok, TRI_YES);
		CHECK_STR(b.jobs[i].verdict.note, "packets of 4096 bytes");
	}
	/* One small and one full write each. */
	CHECK_EQ(b.fabric.sim.requests, 2 * b.n_jobs);
	bench_close(&b);
}

static void what_fails_is_called_sick_only_between_live_ports(void)
{
	static const struct {
		int connect_error;
		uint32_t lost_from;
		int lost_status;
		bool down;
		int state, ok;
		const char *words;
	} cases[] = {
		{ ETIMEDOUT, 0, 0, false, SAMPLE_SET_UP, TRI_UNKNOWN, "accept_local=1" },
		{ EHOSTUNREACH, 0, 0, false, SAMPLE_SET_UP, TRI_UNKNOWN, "ip rule add from" },
		{ ENETUNREACH, 0, 0, false, SAMPLE_SET_UP, TRI_UNKNOWN,
		  "No path from sim0 to 10.0.0.0" },
		{ EPERM, 0, 0, false, SAMPLE_SET_UP, TRI_UNKNOWN, "Operation not permitted" },
		{ 0, 1, RDMA_RETRY_EXCEEDED, false, SAMPLE_MEASURED, TRI_NO,
		  "no path from sim0 to sim1, though both ports are up: a write of 64 bytes "
		  "failed" },
		{ 0, 1, RDMA_RETRY_EXCEEDED, true, SAMPLE_MEASURED, TRI_NO,
		  "sim0 port 1 went down during the test" },
		{ 0, 1, RDMA_REMOTE_ACCESS, false, SAMPLE_SET_UP, TRI_UNKNOWN,
		  "refused the access" },
		{ 0, 1, 0, false, SAMPLE_TIMEOUT, TRI_UNKNOWN, "had not finished" },
		{ 0, 65, RDMA_RETRY_EXCEEDED, false, SAMPLE_MEASURED, TRI_NO,
		  "a write of one full packet failed" },
		{ 0, 2048, RDMA_RETRY_EXCEEDED, false, SAMPLE_SET_UP, TRI_UNKNOWN,
		  "packets of 4096 bytes do not get from sim0 to sim1, but those of 1024 do" },
		{ 0, 512, RDMA_RETRY_EXCEEDED, false, SAMPLE_SET_UP, TRI_UNKNOWN,
		  "those of 256 do: something between them has a smaller MTU" },
		{ 0, 2048, 0, false, SAMPLE_SET_UP, TRI_UNKNOWN, "has a smaller MTU" },
	};
	struct bench b;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		bench_open(&b, 2);
		b.fabric.sim.poll_s = 1e-4;
		faults.connect_error = cases[i].connect_error;
		faults.lost_from = cases[i].lost_from;
		faults.lost_status = cases[i].lost_status;
		faults.down = cases[i].down;
		connect_all(&b);
		CHECK_EQ(b.jobs[0].verdict.state, cases[i].state);
		CHECK_EQ(b.jobs[0].verdict.ok, cases[i].ok);
		CHECK_HAS(b.jobs[0].verdict.note, cases[i].words);
		bench_close(&b);
	}
}

/* An address that is not found takes a second: the way back is not tried too. */
static void a_way_that_is_not_found_is_looked_for_once(void)
{
	struct bench b;

	bench_open(&b, 2);
	faults.connect_error = ETIMEDOUT;
	connect_all(&b);
	CHECK_STR(b.jobs[1].verdict.note, b.jobs[0].verdict.note);
	CHECK_EQ(b.jobs[1].verdict.state, SAMPLE_SET_UP);
	bench_close(&b);
}

static void pairs_after_the_budget_are_late_and_nothing_worse(void)
{
	struct bench b;
	size_t i;

	bench_open(&b, 3);
	pair_connect_all(b.jobs, b.n_jobs, b.fabric.sim.now_ns / NSEC_PER_USEC);
	for (i = 0; i < b.n_jobs; i++) {
		CHECK_EQ(b.jobs[i].verdict.state, SAMPLE_TIMEOUT);
		CHECK_EQ(b.jobs[i].verdict.ok, TRI_UNKNOWN);
	}
	bench_close(&b);
}

/* Three rails of which none reaches another: networks of their own, unless somebody says no. */
static void a_pair_that_is_named_should_meet(void)
{
	struct bench b;
	size_t i;

	bench_open(&b, 3);
	faults.lost_from = 1;
	faults.lost_status = RDMA_RETRY_EXCEEDED;
	connect_all(&b);
	CHECK_EQ(b.jobs[0].verdict.state, SAMPLE_SET_UP);
	CHECK_HAS(b.jobs[0].verdict.note, "no port of this host reaches another one");
	CHECK(b.jobs[0].verdict.apart && !b.jobs[0].verdict.untold);
	for (i = 1; i < b.n_jobs; i++)
		CHECK(b.jobs[i].verdict.untold);

	b.fabric.options.cells = "named";
	for (i = 0; i < b.n_jobs; i++)
		b.jobs[i].verdict = (struct pair_verdict){ .state = SAMPLE_SET_UP };
	connect_all(&b);
	for (i = 0; i < b.n_jobs; i++) {
		CHECK_EQ(b.jobs[i].verdict.ok, TRI_NO);
		CHECK(!b.jobs[i].verdict.apart && !b.jobs[i].verdict.untold);
	}
	bench_close(&b);
}

/* A lone port for storage: sick only once it is known to have met the others. */
static void a_port_on_a_network_of_its_own_is_a_matter_of_set_up(void)
{
	struct bench b;
	size_t i;

	bench_open(&b, SIDES);
	b.fabric.sim.apart = UINT64_C(1) << 3;
	b.fabric.sides[3].met_before = false;
	connect_all(&b);
	for (i = 0; i < b.n_jobs; i++) {
		const struct pair_job *job = &b.jobs[i];
		const bool lone = job->from == &b.fabric.sides[3] || job->to == &b.fabric.sides[3];

		CHECK_EQ(job->verdict.apart, lone);
		if (!lone)
			CHECK_EQ(job->verdict.ok, TRI_YES);
		else if (!job->verdict.untold)
			CHECK_EQ(job->verdict.ok, TRI_UNKNOWN);
	}
	bench_close(&b);

	bench_open(&b, SIDES);
	b.fabric.sim.apart = UINT64_C(1) << 3;
	connect_all(&b);
	CHECK_EQ(b.jobs[2].verdict.ok, TRI_NO);
	CHECK_HAS(b.jobs[2].verdict.note, "no path from sim0 to sim3");
	bench_close(&b);
}

/* Limited members of a partition do not talk to each other, nor to themselves. */
static void ports_speak_in_a_partition_that_they_are_full_members_of(void)
{
	static const struct {
		uint16_t pkeys[3];
		int index, ok;
	} cases[] = {
		{ { 0 }, -1, TRI_YES },
		{ { 0x7fff, 0x8001 }, -1, TRI_YES },
		{ { 0x7fff, 0x8001 }, 1, TRI_YES },
		{ { 0x7fff, 0x8001 }, 0, TRI_NO },
		{ { 0xffff, 0x8001 }, -1, TRI_YES },
		{ { 0x7fff, 0x0001 }, -1, TRI_UNKNOWN }, /* no link is sick for that */
	};
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench b;

		bench_open(&b, 2);
		for (k = 0; k < 3; k++)
			b.fabric.sim.pkeys[k] = cases[i].pkeys[k];
		b.fabric.options.service = (struct rdma_service){ .pkey_index = cases[i].index,
								  .sl = 3,
								  .tclass = 106 };
		connect_all(&b);
		CHECK_EQ(b.jobs[0].verdict.ok, cases[i].ok);
		if (cases[i].ok == TRI_UNKNOWN) {
			CHECK_EQ(b.jobs[0].verdict.state, SAMPLE_SET_UP);
			CHECK_HAS(b.jobs[0].verdict.note, "a limited member of each");
		} else {
			CHECK_EQ(b.fabric.sim.sl, 3);
			CHECK_EQ(b.fabric.sim.traffic_class, 106);
		}
		bench_close(&b);
	}
}

static void ports_that_can_never_meet_are_a_matter_of_set_up(void)
{
	struct bench b;

	bench_open(&b, 2);
	b.fabric.sim.ports[1].layer = RDMA_INFINIBAND;
	connect_all(&b);
	CHECK_EQ(b.jobs[0].verdict.state, SAMPLE_SET_UP);
	CHECK_HAS(b.jobs[0].verdict.note, "one port is Ethernet, the other InfiniBand");

	b.fabric.sim.ports[0].layer = RDMA_INFINIBAND;
	connect_all(&b);
	CHECK_EQ(b.jobs[0].verdict.ok, TRI_YES);
	b.fabric.sides[1].subnet[0] ^= 1;
	connect_all(&b);
	CHECK_EQ(b.jobs[0].verdict.state, SAMPLE_SET_UP);
	CHECK_HAS(b.jobs[0].verdict.note, "different InfiniBand subnets");
	bench_close(&b);
}

static void a_side_that_cannot_be_used_says_why(void)
{
	struct bench b;

	bench_open(&b, 2);
	b.fabric.sim.open_error = EACCES;
	pair_fabric_reopen(&b.fabric, 1);
	connect_all(&b);
	CHECK_EQ(b.jobs[0].verdict.state, SAMPLE_SET_UP);
	CHECK_HAS(b.jobs[0].verdict.note, "open sim1: Permission denied");

	b.fabric.sim.open_error = 0;
	b.fabric.sim.gid_count = 0;
	pair_fabric_reopen(&b.fabric, 1);
	connect_all(&b);
	CHECK_HAS(b.jobs[1].verdict.note, "sim1 port 1 has no GID: give its network interface");

	(void)err_set(&b.fabric.sides[1].err, EBUSY, "python uses sim1");
	connect_all(&b);
	CHECK_EQ(b.jobs[0].verdict.state, SAMPLE_BUSY);
	CHECK_EQ(b.jobs[0].verdict.ok, TRI_UNKNOWN);
	CHECK_STR(b.jobs[0].verdict.note, "python uses sim1");
	bench_close(&b);
}

static struct sample measure(struct bench *b, int check)
{
	const struct pair_end from = pair_end_of(&b->fabric.sides[0]),
			      to = pair_end_of(&b->fabric.sides[1]);
	const struct pair_want want = { .qps = pair_job_queues(&b->jobs[0]),
					.depth = b->fabric.options.depth,
					.retries = 7,
					.mtu = b->fabric.options.mtu,
					.receives = check == PAIR_SEND_BW
							    ? 2 * b->fabric.options.depth
							    : 0 };
	const struct pair_time time = { USEC_PER_SEC,
					b->fabric.sim.now_ns / NSEC_PER_USEC + USEC_PER_SEC };
	const struct pair_lanes *lanes = &b->jobs[0].writer;
	struct sample s = pair_sample(&from, &to, check, NULL);

	CHECK_EQ(pair_join(&b->jobs[0], &want, NULL), 0);
	if (check == PAIR_WRITE_LAT)
		pair_latency(lanes, &time, &s);
	else
		pair_bandwidth_by(check, &lanes, 1, &time, &s);
	pair_part(&b->jobs[0]);
	return s;
}

static void bandwidth_and_latency_are_those_of_the_fabric(void)
{
	struct sample s;
	struct bench b;

	bench_open(&b, 2);
	b.fabric.sim.bytes_per_s = 12.5e9;
	s = measure(&b, PAIR_WRITE_BW);
	CHECK_STR(s.check, "rnic_pair.write_bw");
	CHECK_STR(s.subject, "sim0:1>sim1:1");
	CHECK_STR(s.code, "rail:0>1");
	CHECK_EQ(s.state, SAMPLE_MEASURED);
	CHECK_NEAR(s.value / 12.5e9, 1, 0.01);
	CHECK_HAS(s.note, "bytes written");
	sample_release(&s);
	s = measure(&b, PAIR_WRITE_LAT);
	CHECK_NEAR(s.value, 2e-6, 0.2e-6);
	CHECK_EQ(json_integer_value(json_object_get(s.params, "size")), 8);
	sample_release(&s);
	bench_close(&b);
}

/*
 * An RNIC does so many packets a second for one queue pair: of 1024 bytes those of 30.7 GB/s, which
 * a link of 400 Gb/s that lost a quarter of its lanes still carries.
 */
static void one_queue_pair_hides_the_link_that_lost_a_lane(void)
{
	static const struct {
		double link; /* bytes a second that it carries */
		unsigned asked, used;
		double value;
	} cases[] = {
		{ 50e9, 1, 1, 30.72e9 },
		{ 37.5e9, 1, 1, 30.72e9 },
		{ 50e9, 0, 4, 50e9 },
		{ 37.5e9, 0, 4, 37.5e9 },
	};
	struct sample s;
	struct bench b;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		bench_open(&b, 2);
		for (k = 0; k < 2; k++)
			b.fabric.sim.ports[k].bytes_per_s = 50e9;
		b.fabric.sim.packets_per_s = 30e6;
		b.fabric.sim.bytes_per_s = cases[i].link;
		b.fabric.options.mtu = 1024;
		b.fabric.options.qps = cases[i].asked;
		s = measure(&b, PAIR_WRITE_BW);
		CHECK_NEAR(s.value / cases[i].value, 1, 0.01);
		CHECK_EQ(json_integer_value(json_object_get(s.params, "qps")), cases[i].used);
		sample_release(&s);
		bench_close(&b);
	}
}

/* Both ways share the one link of this fabric: each gets half. */
static void sends_and_both_directions_are_measured(void)
{
	static const struct {
		int check;
		const char *name, *words;
		double share;
	} cases[] = {
		{ PAIR_SEND_BW, "rnic_pair.send_bw", "bytes sent", 1 },
		{ PAIR_BIDIR_BW, "rnic_pair.bidir_bw", "bytes written", 0.5 },
	};
	static const int waits[] = { FLOW_SPIN, FLOW_EVENTS };
	struct bench b;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		for (k = 0; k < ARRAY_SIZE(waits); k++) {
			struct sample s;

			bench_open(&b, 2);
			b.fabric.sim.poll_s = 1e-6;
			b.fabric.sides[0].wait = b.fabric.sides[1].wait = waits[k];
			s = measure(&b, cases[i].check);
			CHECK_STR(s.check, cases[i].name);
			CHECK_EQ(s.state, SAMPLE_MEASURED);
			CHECK_NEAR(s.value / (50e9 * cases[i].share), 1, 0.01);
			CHECK_HAS(s.note, cases[i].words);
			sample_release(&s);
			CHECK(b.fabric.sim.requests >= 8 * b.fabric.sim.doorbells);
			CHECK_EQ(b.fabric.sim.signalled, b.fabric.sim.doorbells);
			bench_close(&b);
		}
	}
}

/* As the probe asks for it by default: few doorbells, one completion each, no look in vain. */
static void writes_are_posted_in_batches_and_slept_for(void)
{
	static const int waits[] = { FLOW_SPIN, FLOW_EVENTS };
	struct bench b;
	size_t k;

	for (k = 0; k < ARRAY_SIZE(waits); k++) {
		struct sample s;

		bench_open(&b, 2);
		b.fabric.sim.poll_s = 1e-6;
		b.fabric.sides[0].wait = b.fabric.sides[1].wait = waits[k];
		s = measure(&b, PAIR_WRITE_BW);
		sample_release(&s);
		CHECK(b.fabric.sim.requests >= 8 * b.fabric.sim.doorbells);
		CHECK_EQ(b.fabric.sim.signalled, b.fabric.sim.doorbells);
		if (waits[k] == FLOW_EVENTS)
			CHECK(b.fabric.sim.waits > 0 &&
			      b.fabric.sim.empty_polls <= b.fabric.sim.notifications);
		bench_close(&b);
	}
}

static void a_path_lost_under_load_is_sick_and_a_refusal_is_not(void)
{
	static const struct {
		int status;
		bool down;
		int state, ok;
		const char *words;
	} cases[] = {
		{ RDMA_RETRY_EXCEEDED, false, SAMPLE_MEASURED, TRI_NO, "the path was lost" },
		{ RDMA_RETRY_EXCEEDED, true, SAMPLE_MEASURED, TRI_NO, "sim0 port 1 went down" },
		{ RDMA_REMOTE_ACCESS, false, SAMPLE_SET_UP, TRI_UNKNOWN, "refused the access" },
		{ RDMA_LOCAL_ERROR, false, SAMPLE_SET_UP, TRI_UNKNOWN, "this side failed" },
	};
	/* One of either direction, of two that are measured at once. */
	static const struct {
		int check;
		uint64_t fail_at;
	} ways[] = {
		{ PAIR_WRITE_BW, 1000 },
		{ PAIR_SEND_BW, 1000 },
		{ PAIR_BIDIR_BW, 1 },
		{ PAIR_BIDIR_BW, 129 },
	};
	struct bench b;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(cases) * ARRAY_SIZE(ways); i++) {
		struct sample s;

		k = i % ARRAY_SIZE(cases);
		bench_open(&b, 2);
		b.fabric.sim.poll_s = 1e-6;
		b.fabric.sim.fail_at = ways[i / ARRAY_SIZE(cases)].fail_at;
		b.fabric.sim.fail_status = cases[k].status;
		faults.down = cases[k].down;
		s = measure(&b, ways[i / ARRAY_SIZE(cases)].check);
		CHECK_EQ(s.state, cases[k].state);
		CHECK_EQ(s.ok, cases[k].ok);
		CHECK_HAS(s.note, cases[k].words);
		sample_release(&s);
		bench_close(&b);
	}
}

static const struct test tests[] = {
	TEST(all_pairs_of_a_good_fabric_connect),
	TEST(what_fails_is_called_sick_only_between_live_ports),
	TEST(a_way_that_is_not_found_is_looked_for_once),
	TEST(pairs_after_the_budget_are_late_and_nothing_worse),
	TEST(a_pair_that_is_named_should_meet),
	TEST(a_port_on_a_network_of_its_own_is_a_matter_of_set_up),
	TEST(ports_speak_in_a_partition_that_they_are_full_members_of),
	TEST(ports_that_can_never_meet_are_a_matter_of_set_up),
	TEST(a_side_that_cannot_be_used_says_why),
	TEST(bandwidth_and_latency_are_those_of_the_fabric),
	TEST(one_queue_pair_hides_the_link_that_lost_a_lane),
	TEST(sends_and_both_directions_are_measured),
	TEST(writes_are_posted_in_batches_and_slept_for),
	TEST(a_path_lost_under_load_is_sick_and_a_refusal_is_not),
};

TEST_SUITE(tests);
