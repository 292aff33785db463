/* SPDX-License-Identifier: Apache-2.0 */
/* Which ports of a host are paired, and which of them belong to the same network. */
#include "probes/rnic_pair/pair_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/harness/probe.h"
#include "probes/rnic_pair/pair.h"
#include "probes/rnic_pair/pair_apart.h"
#include "tests/fakes/rdma_sim.h"
#include "tests/unit/test.h"

enum { PORTS = 4 };

struct bench {
	struct rdma_sim sim;
	struct rdma_ops ops; /* those of the fabric, when a test replaces some */
	struct pair_options options;
	struct probe probe;
	struct pair_plan plan;
	struct err err;
};

/* sim0 and sim1 on InfiniBand, the others on Ethernet, as in a host with RNICs for storage. */
static struct bench *bench_new(const char *cells)
{
	struct bench *b = xcalloc(1, sizeof(*b));
	size_t i;

	b->sim = rdma_sim_make();
	b->sim.n_ports = PORTS;
	for (i = 0; i < PORTS; i++) {
		b->sim.ports[i] = b->sim.ports[0];
		(void)snprintf(b->sim.ports[i].device, RDMA_NAME_SIZE, "sim%zu", i);
		b->sim.ports[i].layer = i < 2 ? RDMA_INFINIBAND : RDMA_ETHERNET;
	}
	b->options = (struct pair_options){ .gid_index = -1, .connect_only = true, .cells = cells };
	b->probe.options = &b->options;
	b->plan.probe = &b->probe;
	b->plan.engine = &b->sim.engine;
	return b;
}

static void bench_free(struct bench *b)
{
	pair_plan_release(&b->plan);
	CHECK_EQ(b->sim.open_devices + b->sim.open_regions, 0);
	free(b);
}

static bool has(const struct pair_plan *p, const char *subject)
{
	size_t i;

	for (i = 0; i < p->n_jobs; i++) {
		CLEANUP(freep) char *name = pair_job_subject(&p->jobs[i]);

		if (streq(name, subject))
			return true;
	}
	return false;
}

static void ports_that_no_wire_can_be_between_are_no_pair(void)
{
	struct bench *b = bench_new(NULL);

	CHECK_EQ(pair_plan_make(&b->plan, &b->err), 0);
	CHECK_EQ(b->plan.n_jobs, 4);
	CHECK(has(&b->plan, "sim0:1>sim1:1") && has(&b->plan, "sim1:1>sim0:1"));
	CHECK(has(&b->plan, "sim2:1>sim3:1") && has(&b->plan, "sim3:1>sim2:1"));
	bench_free(b);
}

static void who_asks_for_such_a_pair_gets_it(void)
{
	struct bench *b = bench_new("sim0:1>sim2:1");

	CHECK_EQ(pair_plan_make(&b->plan, &b->err), 0);
	CHECK_EQ(b->plan.n_jobs, 1);
	CHECK(has(&b->plan, "sim0:1>sim2:1"));
	bench_free(b);
}

static void one_port_of_each_kind_has_nobody_to_meet(void)
{
	struct bench *b = bench_new(NULL);

	b->sim.ports[0].active = b->sim.ports[3].active = false;
	CHECK_EQ(pair_plan_make(&b->plan, &b->err), -ENODEV);
	CHECK_STR(b->err.msg, "fewer than two active RDMA ports of the same kind on this host");
	bench_free(b);
}

/* --- InfiniBand subnets ------------------------------------------------------------- */

static const struct rdma_ops *fabric_ops;
static size_t first_of_other, opened;

static int open_of_fabric(struct rdma_engine *e, const char *name, struct rdma_device **ret,
			  struct err *err)
{
	opened = (size_t)(name[strlen("sim")] - '0');
	return fabric_ops->open(e, name, ret, err);
}

/* The first of a port of InfiniBand is its subnet prefix and its number. */
static int gids_of_fabric(struct rdma_device *d, unsigned port, struct rdma_gid *ret, size_t max,
			  struct err *err)
{
	(void)d;
	(void)port;
	(void)max;
	(void)err;
	ret[0] = (struct rdma_gid){ .type = RDMA_GID_IB };
	ret[0].raw[0] = opened < first_of_other ? 0xfe : 0xfd;
	ret[0].raw[1] = opened < first_of_other ? 0x80 : 0;
	ret[0].raw[15] = (unsigned char)(1 + opened);
	return 1;
}

/* All on InfiniBand, the last `of_other` of them of another fabric with a prefix of its own. */
static struct bench *two_fabrics(const char *cells, size_t of_other)
{
	struct bench *b = bench_new(cells);
	size_t i;

	for (i = 0; i < PORTS; i++)
		b->sim.ports[i].layer = RDMA_INFINIBAND;
	b->ops = *b->sim.engine.ops;
	fabric_ops = rdma_sim_make().engine.ops;
	b->ops.open = open_of_fabric;
	b->ops.gids = gids_of_fabric;
	b->sim.engine.ops = &b->ops;
	first_of_other = PORTS - of_other;
	return b;
}

static void pairs_between_subnets_are_left_out_and_told_of_once(void)
{
	struct bench *b = two_fabrics(NULL, 2);

	CHECK_EQ(pair_plan_make(&b->plan, &b->err), 0);
	CHECK_EQ(b->plan.n_jobs, 4);
	CHECK(has(&b->plan, "sim0:1>sim1:1") && has(&b->plan, "sim3:1>sim2:1"));
	CHECK_STR(b->plan.left_out,
		  "8 pairs between InfiniBand subnets are left out: fe80:: (sim0:1, sim1:1), "
		  "fd00:: (sim2:1, sim3:1); name them (--cells) if they should reach each other");
	bench_free(b);

	b = two_fabrics(NULL, 0);
	CHECK_EQ(pair_plan_make(&b->plan, &b->err), 0);
	CHECK_EQ(b->plan.n_jobs, PORTS * (PORTS - 1));
	CHECK(!b->plan.left_out);
	bench_free(b);
}

static void pairs_between_subnets_that_are_named_stay(void)
{
	struct bench *b = two_fabrics("sim0:1>sim1:1,sim0:1>sim2:1", 2);

	CHECK_EQ(pair_plan_make(&b->plan, &b->err), 0);
	CHECK_EQ(b->plan.n_jobs, 2);
	CHECK(!b->plan.left_out);
	bench_free(b);
}

static void a_subnet_for_each_port_leaves_no_pair(void)
{
	struct bench *b = two_fabrics(NULL, 1);

	b->sim.ports[1].active = b->sim.ports[2].active = false;
	CHECK_EQ(pair_plan_make(&b->plan, &b->err), -ENODEV);
	CHECK_STR(b->err.msg, "no two active RDMA ports are in the same InfiniBand subnet: fe80:: "
			      "(sim0:1), fd00:: (sim3:1)");
	bench_free(b);
}

/* It may be of either kind: that it could not be looked at is said for all its pairs. */
static void a_port_that_could_not_be_looked_at_is_paired_with_all(void)
{
	struct bench *b = bench_new(NULL);

	b->sim.ports[2].active = false;
	b->sim.ports[2].unknown = true;
	CHECK_EQ(pair_plan_make(&b->plan, &b->err), 0);
	CHECK_EQ(b->plan.n_jobs, 2 + 2 * (PORTS - 1));
	bench_free(b);
}

/* --- networks --------------------------------------------------------------------- */

enum { HOSTED = 6, ALL_JOBS = HOSTED * (HOSTED - 1) };

struct networks {
	struct rdma_port ports[HOSTED];
	struct pair_side sides[HOSTED];
	struct pair_job jobs[ALL_JOBS];
	size_t n;
};

/* Ports of the same letter reach each other; those of '-' reach nobody, and those of '.' never did. */
static void lay(struct networks *w, const char *letters)
{
	size_t n = strlen(letters), i, j;

	*w = (struct networks){ .n = 0 };
	for (i = 0; i < n; i++) {
		(void)snprintf(w->ports[i].device, RDMA_NAME_SIZE, "sim%zu", i);
		w->ports[i].number = 1;
		w->sides[i].port = &w->ports[i];
		w->sides[i].met_before = letters[i] != '.';
	}
	for (i = 0; i < n; i++) {
		for (j = 0; j < n; j++) {
			const bool reached = letters[i] == letters[j] && letters[i] != '-' &&
					     letters[i] != '.';

			if (i == j)
				continue;
			w->jobs[w->n++] = (struct pair_job){
				.from = &w->sides[i],
				.to = &w->sides[j],
				.verdict = { .state = SAMPLE_MEASURED,
					     .ok = reached ? TRI_YES : TRI_NO,
					     .reached = reached,
					     .no_path = !reached },
			};
		}
	}
}

static void two_networks_of_a_host_are_told_once_and_are_no_sick_links(void)
{
	/* How many of the jobs are measured and good, measured and not, apart, and told to be. */
	static const struct {
		const char *letters;
		size_t good, sick, apart, told;
	} cases[] = {
		{ "aa", 2, 0, 0, 0 },	    { "--", 0, 2, 0, 0 }, /* one link, which may be sick */
		{ "---", 0, 0, 6, 1 },				  /* a network for each rail */
		{ "aaaa-", 12, 8, 0, 0 },			  /* a sick port */
		{ "aaa--", 6, 14, 0, 0 },			  /* two of them */
		{ "aabb", 4, 0, 8, 1 },				  /* for the job and for storage */
		{ "aabb-", 4, 8, 8, 1 },			  /* and a sick port of either */
		{ "aaaa.", 12, 0, 8, 1 },			  /* a port for something else */
		{ "aaa..", 6, 0, 14, 3 },			  /* two of them */
		{ "..", 0, 0, 2, 1 },				  /* nobody ever met here */
		{ "a.", 0, 2, 0, 0 },				  /* one did: a link that broke */
		{ "aaaabb", 14, 0, 16, 1 }, { "aabbcc", 6, 0, 24, 3 }, /* each two of three */
	};
	static struct networks w;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t good = 0, sick = 0, apart = 0, told = 0;

		lay(&w, cases[i].letters);
		pair_tell_apart(w.jobs, w.n);
		for (k = 0; k < w.n; k++) {
			const struct pair_verdict *v = &w.jobs[k].verdict;

			good += v->ok == TRI_YES;
			apart += v->apart;
			sick += v->ok == TRI_NO && !v->apart;
			told += v->apart && !v->untold && v->state == SAMPLE_SET_UP;
		}
		CHECK_EQ(good, cases[i].good);
		CHECK_EQ(sick, cases[i].sick);
		CHECK_EQ(apart, cases[i].apart);
		CHECK_EQ(told, cases[i].told);
		CHECK_EQ(pair_leave_apart(w.jobs, w.n), w.n - apart);
	}
	lay(&w, "aabbbb");
	pair_tell_apart(w.jobs, w.n);
	CHECK_HAS(w.jobs[1].verdict.note,
		  "nothing gets from sim0:1, sim1:1 to sim2:1, sim3:1 and 2 more, or back, though "
		  "each reaches others: two networks, with 16 pairs not measured");
	CHECK(w.jobs[2].verdict.untold);
}

/* What gets there by one way, or in small packets, is of the same network. */
static void a_path_that_is_lost_within_a_network_stays_sick(void)
{
	static struct networks w;

	lay(&w, "aaab");
	w.jobs[0].verdict =
		(struct pair_verdict){ .state = SAMPLE_MEASURED, .ok = TRI_NO, .no_path = true };
	pair_tell_apart(w.jobs, w.n);
	CHECK_EQ(w.jobs[0].verdict.state, SAMPLE_MEASURED);
	CHECK_EQ(w.jobs[0].verdict.ok, TRI_NO);
	CHECK_EQ(w.jobs[2].verdict.ok, TRI_NO); /* sim3 reaches nobody */

	/* A port that went down in the test is no other network. */
	lay(&w, "aabb");
	w.jobs[1].verdict.no_path = false;
	pair_tell_apart(w.jobs, w.n);
	CHECK_EQ(w.jobs[1].verdict.ok, TRI_NO);
}

static void a_port_that_never_met_anybody_is_named(void)
{
	static struct networks w;
	size_t i;

	lay(&w, "aaa.");
	pair_tell_apart(w.jobs, w.n);
	for (i = 0; i < w.n && (!w.jobs[i].verdict.apart || w.jobs[i].verdict.untold); i++)
		;
	CHECK(i < w.n);
	CHECK_HAS(w.jobs[i].verdict.note, "sim3:1 never reached another port of this host");
	CHECK_HAS(w.jobs[i].verdict.note, "--devices ^sim3");
}

/* Rails that are routed each by itself: within a host nothing goes from one to another. */
static void a_subnet_for_each_rail_is_no_matter_of_one_host(void)
{
	static const struct {
		const char *letters;
		uint32_t networks[3], mask;
		bool is_so;
	} cases[] = {
		{ "...", { 0x0a000000, 0x0a010000, 0x0a020000 }, 0xffff0000, true },
		{ "...", { 0x0a000000, 0x0a000002, 0x0a000004 }, 0xfffffffe, true },
		{ "..", { 0x0a000000, 0x0a010000 }, 0xffff0000, true },
		{ "...", { 0x0a000000, 0x0a000000, 0x0a020000 }, 0xffff0000, false },
		{ "...", { 0x0a000000, 0x0a010000, 0x0a020000 }, 0, false }, /* not known */
		{ "..-", { 0x0a000000, 0x0a010000, 0x0a020000 }, 0xffff0000, false },
		{ "aaa", { 0x0a000000, 0x0a010000, 0x0a020000 }, 0xffff0000, false },
	};
	static struct networks w;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		lay(&w, cases[i].letters);
		for (k = 0; k < strlen(cases[i].letters); k++) {
			w.sides[k].network = cases[i].networks[k];
			w.sides[k].mask = cases[i].mask;
		}
		pair_tell_apart(w.jobs, w.n);
		CHECK_EQ(pair_is_subnet_a_rail(w.jobs, w.n), cases[i].is_so);
	}
}

/* --- the ports of the jobs ------------------------------------------------------------ */

static void a_lone_port_of_another_kind_is_no_port_of_the_jobs(void)
{
	static const struct {
		const char *model; /* of the last port */
		double rate;
		const char *devices;
		size_t sides;
	} cases[] = {
		{ "15b3:1021", 50e9, "", 4 },
		{ "15b3:101d", 12.5e9, "", 3 },
		{ "15b3:1021", 25e9, "", 3 },
		{ "15b3:a2dc", 50e9, "", 3 },
		{ "15b3:101d", 12.5e9, "sim", 4 },
		{ "15b3:1021", 50e9, "^sim3", 3 },
		{ "15b3:1021", 50e9, "=sim0,sim1:1", 2 },
	};
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench *b = bench_new(NULL);

		for (k = 0; k < PORTS; k++) {
			b->sim.ports[k].layer = RDMA_ETHERNET;
			b->sim.ports[k].bytes_per_s = 50e9;
			(void)snprintf(b->sim.ports[k].model, RDMA_MODEL_SIZE, "15b3:1021");
		}
		(void)snprintf(b->sim.ports[3].model, RDMA_MODEL_SIZE, "%s", cases[i].model);
		b->sim.ports[3].bytes_per_s = cases[i].rate;
		(void)snprintf(b->options.service.devices, sizeof(b->options.service.devices), "%s",
			       cases[i].devices);
		CHECK_EQ(pair_plan_make(&b->plan, &b->err), 0);
		CHECK_EQ(b->plan.n_sides, cases[i].sides);
		CHECK_EQ(b->plan.n_jobs, cases[i].sides * (cases[i].sides - 1));
		CHECK_EQ(b->plan.left_out != NULL, cases[i].sides < PORTS);
		bench_free(b);
	}
}

/* As a p5 with an RNIC beside it, and one with EFA alone. */
static void a_device_without_connections_is_no_port_of_anybody(void)
{
	struct bench *b = bench_new(NULL), *alone = bench_new(NULL), *named;
	size_t i;

	for (i = 0; i < PORTS; i++) {
		b->sim.ports[i].layer = RDMA_ETHERNET;
		b->sim.ports[i].bytes_per_s = alone->sim.ports[i].bytes_per_s = 50e9;
		b->sim.ports[i].unconnected = i > 1;
		alone->sim.ports[i].unconnected = true;
	}
	CHECK_EQ(pair_plan_make(&b->plan, &b->err), 0);
	CHECK_EQ(b->plan.n_sides, 2);
	CHECK_EQ(b->plan.n_jobs, 2);
	CHECK_HAS(b->plan.left_out, "sim2:1 (400 Gb/s), sim3:1 (400 Gb/s) left out: no reliable");
	bench_free(b);
	CHECK_EQ(pair_plan_make(&alone->plan, &alone->err), -ENODEV);
	CHECK_HAS(alone->err.msg,
		  "sim0:1 (400 Gb/s), sim1:1 (400 Gb/s), sim2:1 (400 Gb/s) and 1 more");
	bench_free(alone);
	named = bench_new("sim2:1>sim3:1");
	named->sim.ports[2].unconnected = true;
	CHECK_EQ(pair_plan_make(&named->plan, &named->err), -EINVAL);
	bench_free(named);
}

static const struct test tests[] = {
	TEST(a_device_without_connections_is_no_port_of_anybody),
	TEST(a_port_that_never_met_anybody_is_named),
	TEST(a_subnet_for_each_rail_is_no_matter_of_one_host),
	TEST(a_lone_port_of_another_kind_is_no_port_of_the_jobs),
	TEST(ports_that_no_wire_can_be_between_are_no_pair),
	TEST(who_asks_for_such_a_pair_gets_it),
	TEST(one_port_of_each_kind_has_nobody_to_meet),
	TEST(a_port_that_could_not_be_looked_at_is_paired_with_all),
	TEST(pairs_between_subnets_are_left_out_and_told_of_once),
	TEST(pairs_between_subnets_that_are_named_stay),
	TEST(a_subnet_for_each_port_leaves_no_pair),
	TEST(two_networks_of_a_host_are_told_once_and_are_no_sick_links),
	TEST(a_path_that_is_lost_within_a_network_stays_sick),
};

TEST_SUITE(tests);
