/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs between GPU memories: the choice of GPU, the names of samples, and pairs without a GPU. */
#include "probes/rnic_pair/pair_gpu.h"

#include <errno.h>
#include <stdio.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/accel/accel.h"
#include "probes/loopback/loopback_gpu.h"
#include "probes/rnic_pair/pair_connect.h"
#include "probes/rnic_pair/pair_measure.h"
#include "probes/rnic_pair/pair_sample.h"
#include "tests/fakes/accel_sim.h"
#include "tests/unit/mesh_host.h"
#include "tests/unit/pair_fabric.h"
#include "tests/unit/pair_hosts.h"
#include "tests/unit/test.h"

enum { NSEC_PER_USEC = 1000, GPUS = 8 };

/* The simulated engine, with the places of GPUs: "gpu:3" of the standard host is its device 3. */
static const struct accel_ops *plain;
static struct accel_ops placed;

static int placed_info(const struct accel *a, unsigned device, struct accel_device_info *ret,
		       struct err *err)
{
	int r = plain->device_info(a, device, ret, err);

	(void)snprintf(ret->pci, sizeof(ret->pci), "%u", device);
	(void)snprintf(ret->subject, sizeof(ret->subject), "gpu:GPU-%u", device);
	ret->numa = (int)device / 4;
	return r;
}

static int placed_open(struct accel **ret, struct err *err)
{
	int r = plain->open(ret, err);

	if (r == 0)
		(*ret)->ops = &placed;
	return r;
}

static const struct accel_ops *gpus_of(struct accel_sim *sim, unsigned n)
{
	*sim = (struct accel_sim){ .n_devices = n, .flop_per_s = 1e12, .exports_dmabuf = true };
	plain = accel_sim_ops(sim);
	placed = *plain;
	placed.open = placed_open;
	placed.device_info = placed_info;
	return &placed;
}

/* --- which GPU --- */

static void a_port_takes_the_gpu_nearest_to_it(void)
{
	/* mlx5_N and GPU N of the standard host are two below each switch. */
	static const struct {
		const char *device;
		int numa;
		bool knows; /* the topology */
		unsigned gpus, wanted;
	} cases[] = {
		{ "mlx5_0", 0, true, GPUS, 0 },	 { "mlx5_3", 0, true, GPUS, 2 },
		{ "mlx5_6", 1, true, GPUS, 6 },	 { "mlx5_9", 1, true, GPUS, 4 },
		{ "mlx5_6", 1, false, GPUS, 4 }, { "mlx5_0", -1, false, GPUS, 0 },
		{ "mlx5_6", 1, true, 2, 0 },
	};
	struct pair_options options = { .memory = PAIR_MEMORY_GPU };
	struct accel_sim sim;
	struct mesh_host host;
	size_t i;

	mesh_host_standard(&host);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct pair_memory_want want = { .topology = cases[i].knows ? &host.topology
										  : NULL,
						       .bytes = 1 << 16,
						       .open_us = PAIR_SOON_US };
		struct rdma_port port = { .numa_node = cases[i].numa };
		struct pair_side side = { .port = &port };
		struct pair_gpus g = { .n = 0 };

		(void)snprintf(port.device, sizeof(port.device), "%s", cases[i].device);
		options.gpus = gpus_of(&sim, cases[i].gpus);
		pair_gpus_take(&g, &options, &want, &side, 1);
		CHECK_EQ(g.n, cases[i].gpus);
		CHECK(side.gpu == &g.ends[cases[i].wanted]);
		pair_gpus_release(&g);
		CHECK_EQ(sim.alive, 0);
	}
	mesh_host_release(&host);
}

static void ports_that_are_equally_near_share_the_gpus(void)
{
	struct pair_options options = { .memory = PAIR_MEMORY_GPU };
	struct rdma_port ports[3] = { { .device = "mlx5_4" },
				      { .device = "mlx5_5" },
				      { .device = "mlx5_4" } };
	struct pair_memory_want want = { .bytes = 1 << 16, .open_us = PAIR_SOON_US };
	struct pair_side sides[3] = { { .port = &ports[0] },
				      { .port = &ports[1] },
				      { .port = &ports[2] } };
	struct pair_gpus g = { .n = 0 };
	struct mesh_host host;
	struct accel_sim sim;

	mesh_host_standard(&host);
	want.topology = &host.topology;
	options.gpus = gpus_of(&sim, GPUS);
	pair_gpus_take(&g, &options, &want, sides, 3);
	CHECK(sides[0].gpu == &g.ends[4]);
	CHECK(sides[1].gpu == &g.ends[5]);
	CHECK(sides[2].gpu == &g.ends[4]);
	pair_gpus_release(&g);
	mesh_host_release(&host);
}

/* --- two ports of one host --- */

struct bench {
	struct pair_fabric fabric;
	struct accel_sim sim;
	struct pair_gpus gpus;
	struct probe probe;
	struct pair_job job;
};

static void take(struct bench *b)
{
	const struct pair_memory_want want = { .probe = &b->probe,
					       .bytes = PAIR_FABRIC_BYTES,
					       .open_us = PAIR_SOON_US };
	size_t i;

	for (i = 0; i < b->fabric.n; i++)
		pair_side_close(&b->fabric.sides[i]);
	b->fabric.options.memory = PAIR_MEMORY_GPU;
	pair_gpus_take(&b->gpus, &b->fabric.options, &want, b->fabric.sides, b->fabric.n);
	for (i = 0; i < b->fabric.n; i++)
		pair_side_open(&b->fabric.sides[i], &b->fabric.host, PAIR_FABRIC_BYTES);
}

static void bench_open(struct bench *b)
{
	*b = (struct bench){ .probe = { .seed = 1 } };
	pair_fabric_open(&b->fabric, 2);
	pair_fabric_keep_core();
	b->fabric.options.gpus = gpus_of(&b->sim, 2);
	b->job = (struct pair_job){ .from = &b->fabric.sides[0], .to = &b->fabric.sides[1] };
}

static void bench_close(struct bench *b)
{
	pair_part(&b->job);
	pair_fabric_close(&b->fabric);
	pair_gpus_release(&b->gpus);
	CHECK_EQ(b->sim.alive, 0);
}

static struct sample measure(struct bench *b, int check)
{
	const struct pair_end from = pair_end_of(b->job.from), to = pair_end_of(b->job.to);
	const struct pair_want want = { .qps = 1, .depth = b->fabric.options.depth, .retries = 7 };
	const struct pair_time time = { USEC_PER_SEC,
					b->fabric.sim.now_ns / NSEC_PER_USEC + USEC_PER_SEC };
	const struct pair_lanes *lanes = &b->job.writer;
	struct sample s = pair_sample(&from, &to, check, NULL);

	CHECK_EQ(pair_join(&b->job, &want, NULL), 0);
	if (check == PAIR_WRITE_LAT)
		pair_latency(lanes, &time, &s);
	else
		pair_bandwidth(&lanes, 1, &time, &s);
	pair_part(&b->job);
	return s;
}

static const char *param(const struct sample *s, const char *name)
{
	const char *text = json_string_value(json_object_get(s->params, name));

	return text ? text : "";
}

static void it_is_another_check_than_that_of_host_memory(void)
{
	struct sample s;
	struct bench b;

	bench_open(&b);
	s = measure(&b, PAIR_WRITE_BW);
	CHECK_STR(s.check, "rnic_pair.write_bw");
	CHECK_STR(param(&s, "memory"), "");
	sample_release(&s);
	take(&b);
	b.fabric.sim.beyond = b.fabric.sides[0].source.at;
	b.fabric.sim.beyond_bytes = b.fabric.sides[0].source.bytes;
	s = measure(&b, PAIR_WRITE_BW);
	CHECK_STR(s.check, "rnic_pair.gpu_write_bw");
	CHECK_STR(s.subject, "sim0:1>sim1:1");
	CHECK_EQ(s.state, SAMPLE_MEASURED);
	CHECK_NEAR(s.value / 50e9, 1, 0.01);
	CHECK_STR(param(&s, "memory"), "gpu");
	CHECK_STR(param(&s, "via"), "dmabuf");
	sample_release(&s);
	/* Small enough to go with the request, but no core can read it there. */
	s = measure(&b, PAIR_WRITE_LAT);
	CHECK_STR(s.check, "rnic_pair.gpu_write_lat");
	CHECK_STR(param(&s, "until"), "completed");
	CHECK_EQ(s.state, SAMPLE_MEASURED);
	CHECK_EQ(b.fabric.sim.died, 0);
	sample_release(&s);
	bench_close(&b);
}

static void how_each_end_is_registered_is_told(void)
{
	struct sample s;
	struct bench b;

	bench_open(&b);
	b.sim.exports_address = true;
	take(&b);
	b.fabric.sim.no_dmabuf = true;
	b.fabric.sides[1].gpu = &b.gpus.ends[1];
	{
		const struct endpoint *gpu = b.fabric.sides[1].gpu;

		pair_side_close(&b.fabric.sides[1]);
		b.fabric.sides[1].gpu = gpu;
		pair_side_open(&b.fabric.sides[1], &b.fabric.host, PAIR_FABRIC_BYTES);
	}
	s = measure(&b, PAIR_WRITE_BW);
	CHECK_STR(param(&s, "via"), "dmabuf>peermem");
	sample_release(&s);
	bench_close(&b);
}

static void what_cannot_be_had_blames_no_link(void)
{
	static const struct {
		bool none, lost_way;
		long user;
		int state;
		const char *words;
	} cases[] = {
		{ true, false, 0, SAMPLE_SET_UP, "no NVIDIA GPU on this host's PCI bus" },
		{ false, true, 0, SAMPLE_SET_UP, "nvidia-peermem is not loaded" },
		{ false, false, 42, SAMPLE_BUSY, "pid 42 (stress) computes on gpu:GPU-0" },
	};
	struct bench b;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		bench_open(&b);
		if (cases[i].none)
			b.fabric.options.gpus = NULL;
		b.fabric.sim.no_dmabuf = cases[i].lost_way;
		b.sim.user_pid[0] = cases[i].user;
		take(&b);
		pair_connect_all(&b.job, 1, b.fabric.sim.now_ns / NSEC_PER_USEC + USEC_PER_SEC);
		CHECK_EQ(b.job.verdict.state, cases[i].state);
		CHECK_EQ(b.job.verdict.ok, TRI_UNKNOWN);
		CHECK_HAS(b.job.verdict.note, cases[i].words);
		bench_close(&b);
	}
}

static void both_ends_have_one_kind_of_memory(void)
{
	static const struct {
		int own, other;
		const char *words; /* NULL: they meet */
	} cases[] = {
		{ PAIR_WAY_HOST, PAIR_WAY_HOST, NULL },
		{ PAIR_WAY_HOST, PAIR_WAY_OLDER, NULL },
		{ PAIR_WAY_DMABUF, PAIR_WAY_PEERMEM, NULL },
		{ PAIR_WAY_DMABUF, PAIR_WAY_OLDER, "the other side is an older Assay" },
		{ PAIR_WAY_DMABUF, PAIR_WAY_HOST, "memory of its host, this one of a GPU" },
		{ PAIR_WAY_HOST, PAIR_WAY_PEERMEM, "memory of a GPU, this one of its host" },
	};
	const struct pair_want want = { .qps = 1, .depth = 1 };
	struct pair_offer offer;
	struct bench b;
	size_t i;

	bench_open(&b);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = ERR_INIT;
		int r;

		CHECK_EQ(pair_lanes_open(&b.job.writer, b.job.from, &want, NULL), 0);
		b.job.writer.way = cases[i].own;
		pair_lanes_offer(&b.job.writer, &offer);
		offer.way = cases[i].other;
		r = pair_lanes_connect(&b.job.writer, &offer, &err);
		CHECK_EQ(r, cases[i].words ? -EINVAL : 0);
		if (cases[i].words)
			CHECK_HAS(err.msg, cases[i].words);
		pair_lanes_close(&b.job.writer);
	}
	bench_close(&b);
}

/* --- two hosts --- */

/* The leader has its GPUs; the follower takes them when it hears of it, if it has any. */
static void run_hosts(struct pair_host *leader, struct pair_host *follower, bool has)
{
	static struct accel_sim sims[2];
	const struct pair_memory_want want = { .bytes = PAIR_FABRIC_BYTES, .open_us = PAIR_SOON_US };
	struct pair_fabric *f = &leader->fabric;
	size_t i;

	f->options.memory = PAIR_MEMORY_GPU;
	f->options.gpus = gpus_of(&sims[0], 2);
	for (i = 0; i < f->n; i++)
		pair_side_close(&f->sides[i]);
	pair_gpus_take(&leader->gpus, &f->options, &want, f->sides, f->n);
	for (i = 0; i < f->n; i++)
		pair_side_open(&f->sides[i], &f->host, PAIR_FABRIC_BYTES);
	follower->fabric.options.gpus = has ? gpus_of(&sims[1], 2) : NULL;
	pair_hosts_run(leader, follower);
	CHECK_EQ(leader->r, 0);
	CHECK_EQ(follower->r, 0);
}

static void the_one_that_follows_takes_its_gpus_too(void)
{
	struct pair_host leader, follower;
	size_t i;

	pair_hosts_open(&leader, &follower);
	run_hosts(&leader, &follower, true);
	CHECK_EQ(leader.n_samples, PAIR_HOST_RAILS * 2 * 3);
	CHECK_EQ(follower.n_samples, leader.n_samples);
	for (i = 0; i < leader.n_samples; i++) {
		CHECK_HAS(leader.samples[i].check, "rnic_pair.gpu_");
		CHECK_STR(leader.samples[i].check, follower.samples[i].check);
		CHECK_EQ(leader.samples[i].state, SAMPLE_MEASURED);
		CHECK_STR(param(&leader.samples[i], "memory"), "gpu");
		CHECK_STR(param(&follower.samples[i], "memory"), "gpu");
	}
	pair_host_close(&leader);
	pair_host_close(&follower);
}

static void a_host_without_one_says_so_on_both(void)
{
	struct pair_host leader, follower;
	size_t i;

	pair_hosts_open(&leader, &follower);
	run_hosts(&leader, &follower, false);
	CHECK_EQ(leader.n_samples, PAIR_HOST_RAILS * 2 * 3);
	CHECK_EQ(follower.n_samples, leader.n_samples);
	for (i = 0; i < leader.n_samples; i++) {
		CHECK_HAS(leader.samples[i].check, "rnic_pair.gpu_");
		CHECK_EQ(leader.samples[i].state, SAMPLE_SET_UP);
		CHECK_EQ(leader.samples[i].ok, TRI_UNKNOWN);
		CHECK_HAS(leader.samples[i].note, "node-x: --memory gpu: no NVIDIA GPU");
		CHECK_STR(follower.samples[i].note, leader.samples[i].note);
	}
	pair_host_close(&leader);
	pair_host_close(&follower);
}

static const struct test tests[] = {
	TEST(a_port_takes_the_gpu_nearest_to_it),
	TEST(ports_that_are_equally_near_share_the_gpus),
	TEST(it_is_another_check_than_that_of_host_memory),
	TEST(how_each_end_is_registered_is_told),
	TEST(what_cannot_be_had_blames_no_link),
	TEST(both_ends_have_one_kind_of_memory),
	TEST(the_one_that_follows_takes_its_gpus_too),
	TEST(a_host_without_one_says_so_on_both),
};

TEST_SUITE(tests);
