/* SPDX-License-Identifier: Apache-2.0 */
/* Other users of a pair's ports, and removed ports, distinguished from a slow or dead path. */
#include "probes/rnic_pair/pair_guard.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/rnic_pair/pair_connect.h"
#include "probes/rnic_pair/pair_sample.h"
#include "tests/unit/pair_fabric.h"
#include "tests/unit/test.h"

enum { REQUESTS = 100, PACKETS = REQUESTS * 16 }; /* of 64 KiB in packets of 4096 bytes */

/* What the kernel tells of both ports now. */
static struct ports {
	bool down[2], removed[2];
	int (*port_now)(struct rdma_device *d, unsigned port, struct rdma_port *ret,
			struct err *err);
} ports;

static int port_now(struct rdma_device *d, unsigned port, struct rdma_port *ret, struct err *err)
{
	int r = ports.port_now(d, port, ret, err);
	size_t which = r == 0 && streq(ret->device, "sim1");

	if (r == 0 && ports.removed[which])
		return err_set(err, ENODEV, "removed");
	ret->active = !ports.down[which];
	return r;
}

static void write_file(const char *device, const char *rest, const char *text)
{
	CLEANUP(freep) char *path = xasprintf("sys/class/%s/%s", device, rest);
	CLEANUP(freep) char *made = test_file(path, text);
}

/* Counters of Soft-RoCE. */
static void set_counter(const char *device, const char *name, long value)
{
	CLEANUP(freep) char *dir = xasprintf("infiniband/%s", device);
	CLEANUP(freep) char *rest = xasprintf("ports/1/hw_counters/%s", name);
	CLEANUP(freep) char *text = xasprintf("%ld\n", value);

	write_file(dir, rest, text);
}

static void set_packets(const char *device, long sent, long received)
{
	set_counter(device, "sent_pkts", sent);
	set_counter(device, "rcvd_pkts", received);
	set_counter(device, "completer_retry_err", 0);
}

/* A pair in the middle of a measurement that has written its requests. */
struct bench {
	struct pair_fabric fabric;
	struct pair_job job;
	const struct pair_lanes *lanes;
	struct pair_guard guard;
	struct sample sample;
};

static void write_all(struct bench *b)
{
	const struct rdma_work work = { .opcode = RDMA_WRITE,
					.local = b->fabric.sides[0].source.at,
					.length = 65536,
					.signalled = true };
	struct rdma_done done;
	size_t i;

	for (i = 0; i < REQUESTS; i++) {
		CHECK_EQ(b->fabric.ops.post(b->lanes->flow.queues[0], &work, 1, NULL), 0);
		while (b->fabric.ops.poll(b->lanes->flow.queues[0], &done, 1, NULL) == 0)
			;
	}
}

static void bench_open(struct bench *b)
{
	const struct pair_want want = { .qps = 1, .depth = 8, .retries = 7 };
	struct pair_end ends[2];

	(void)setenv("ASSAY_SYSROOT", test_dir(), 1);
	pair_fabric_open(&b->fabric, 2);
	b->fabric.options.depth = 8;
	ports = (struct ports){ .port_now = b->fabric.ops.port_now };
	b->fabric.ops.port_now = port_now;
	b->fabric.ops.hollow = false;
	b->job = (struct pair_job){ .from = &b->fabric.sides[0], .to = &b->fabric.sides[1] };
	CHECK_EQ(pair_join(&b->job, &want, NULL), 0);
	b->lanes = &b->job.writer;
	ends[0] = pair_end_of(b->job.from);
	ends[1] = pair_end_of(b->job.to);
	b->sample = pair_sample(&ends[0], &ends[1], PAIR_WRITE_BW, NULL);
	b->sample.value = 1e9;
	write_file("infiniband/sim0", "parent", "eth0\n");
	write_file("infiniband/sim1", "parent", "eth1\n");
	write_file("net/eth0", "flags", "0x1003\n");
	write_file("net/eth1", "flags", "0x1003\n");
	set_packets("sim0", 1000, 1000);
	set_packets("sim1", 1000, 1000);
	pair_guard_begin(&b->lanes, 1, &b->guard);
	write_all(b);
}

static void bench_close(struct bench *b)
{
	sample_release(&b->sample);
	pair_part(&b->job);
	pair_fabric_close(&b->fabric);
	(void)unsetenv("ASSAY_SYSROOT");
}

static void traffic_of_others_through_either_port_is_not_slowness(void)
{
	static const struct {
		long sent, received; /* packets of the writer */
		long in, out;	     /* of the other end */
		long retries;
		const char *words; /* NULL: all of it was ours */
	} cases[] = {
		{ PACKETS, REQUESTS, PACKETS, REQUESTS, 0, NULL },
		{ PACKETS * 2, REQUESTS, PACKETS, REQUESTS, 0,
		  "sim0 port 1: other traffic of about" },
		{ PACKETS, PACKETS, PACKETS, REQUESTS, 0, "sim0 port 1: other traffic of about" },
		{ PACKETS, REQUESTS, PACKETS * 2, REQUESTS, 0,
		  "sim1 port 1: other traffic of about" },
		{ PACKETS, REQUESTS, PACKETS, PACKETS, 0, "sim1 port 1: other traffic of about" },
		/* Packets that were lost come twice, at both ends, and are answered twice. */
		{ PACKETS + 120, REQUESTS + 120, PACKETS + 120, REQUESTS + 120, 1, NULL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench b;

		bench_open(&b);
		set_packets("sim0", 1000 + cases[i].sent, 1000 + cases[i].received);
		set_packets("sim1", 1000 + cases[i].out, 1000 + cases[i].in);
		set_counter("sim0", "completer_retry_err", cases[i].retries);
		pair_guard_end(&b.lanes, 1, &b.guard, &b.sample);
		CHECK_EQ(b.sample.state, cases[i].words ? SAMPLE_FOREIGN_TRAFFIC : SAMPLE_MEASURED);
		CHECK_EQ(isnan(b.sample.value), cases[i].words != NULL);
		CHECK(pair_guard_goes_on(&b.sample));
		if (cases[i].words)
			CHECK_HAS(b.sample.note, cases[i].words);
		bench_close(&b);
	}
}

static const struct {
	bool down[2], removed[2];
	const char *flags[2];
	int state, ok, severity;
	const char *words;
} ends[] = {
	{ { true, false },
	  { false },
	  { "0x1003\n", "0x1003\n" },
	  SAMPLE_MEASURED,
	  TRI_NO,
	  SEVERITY_WARN,
	  "sim0 port 1 went down during" },
	{ { true, false },
	  { false },
	  { "0x1002\n", "0x1003\n" },
	  SAMPLE_ABORTED,
	  TRI_UNKNOWN,
	  SEVERITY_FAIL,
	  "sim0 port 1 was taken down by an operator during the measurement" },
	/* One end of a cable that is taken down takes the other with it. */
	{ { true, true },
	  { false },
	  { "0x1003\n", "0x1002\n" },
	  SAMPLE_ABORTED,
	  TRI_UNKNOWN,
	  SEVERITY_FAIL,
	  "sim1 port 1 was taken down" },
	{ { true, false },
	  { false, true },
	  { "0x1003\n", "0x1003\n" },
	  SAMPLE_SET_UP,
	  TRI_UNKNOWN,
	  SEVERITY_FAIL,
	  "sim1 was removed during the measurement" },
	{ { false },
	  { false },
	  { "0x1003\n", "0x1003\n" },
	  SAMPLE_MEASURED,
	  TRI_NO,
	  SEVERITY_FAIL,
	  "the path was lost" },
};

static void who_took_a_port_away_is_said(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		struct bench b;

		bench_open(&b);
		write_file("net/eth0", "flags", ends[i].flags[0]);
		write_file("net/eth1", "flags", ends[i].flags[1]);
		memcpy(ports.down, ends[i].down, sizeof(ports.down));
		memcpy(ports.removed, ends[i].removed, sizeof(ports.removed));
		b.sample.ok = TRI_NO;
		b.sample.value = 0;
		b.sample.note = xstrdup("the path was lost");
		pair_guard_end(&b.lanes, 1, &b.guard, &b.sample);
		CHECK_EQ(b.sample.state, ends[i].state);
		CHECK_EQ(b.sample.ok, ends[i].ok);
		CHECK_EQ(b.sample.severity, ends[i].severity);
		CHECK_HAS(b.sample.note, ends[i].words);
		CHECK_STR(b.sample.code, "rail:0>1");
		CHECK(!pair_guard_goes_on(&b.sample));
		bench_close(&b);
	}
}

/* The network device of an InfiniBand port is IPoIB: mostly off, and nothing to the port. */
static void a_network_over_infiniband_that_is_off_is_no_operator(void)
{
	struct bench b;

	bench_open(&b);
	b.fabric.sim.ports[0].layer = RDMA_INFINIBAND;
	write_file("net/eth0", "flags", "0x1002\n");
	ports.down[0] = true;
	b.sample.ok = TRI_NO;
	b.sample.value = 0;
	pair_guard_end(&b.lanes, 1, &b.guard, &b.sample);
	CHECK_EQ(b.sample.state, SAMPLE_MEASURED);
	CHECK_EQ(b.sample.ok, TRI_NO);
	CHECK_HAS(b.sample.note, "sim0 port 1 went down during");
	bench_close(&b);
}

/* A device that goes lets what is connected work on until it is closed. */
static void a_value_of_what_is_gone_is_none(void)
{
	struct bench b;

	bench_open(&b);
	set_packets("sim0", 1000 + PACKETS, 1000 + REQUESTS);
	set_packets("sim1", 1000 + REQUESTS, 1000 + PACKETS);
	ports.removed[1] = true;
	pair_guard_end(&b.lanes, 1, &b.guard, &b.sample);
	CHECK_EQ(b.sample.state, SAMPLE_SET_UP);
	CHECK(isnan(b.sample.value));
	CHECK_HAS(b.sample.note, "sim1 was removed during the measurement");
	bench_close(&b);
}

static const struct test tests[] = {
	TEST(traffic_of_others_through_either_port_is_not_slowness),
	TEST(who_took_a_port_away_is_said),
	TEST(a_network_over_infiniband_that_is_off_is_no_operator),
	TEST(a_value_of_what_is_gone_is_none),
};

TEST_SUITE(tests);
