/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs of a simulated engine as endpoints on a simulated fabric. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "probes/loopback/data.h"
#include "probes/loopback/loopback_gpu.h"
#include "probes/loopback/session.h"
#include "tests/fakes/accel_sim.h"
#include "tests/fakes/rdma_sim.h"
#include "tests/unit/test.h"

enum { GPUS = 3, BYTES = 1 << 20, SIZE = 65536, QUEUES = 2 };

struct bench {
	struct accel_sim gpus;
	struct rdma_sim rnics;
	struct gpu_endpoints endpoints;
	struct endpoint ends[GPUS];
	size_t n;
	struct loopback_options options;
	struct probe probe;
	struct cell cell;
};

static void bench_open(struct bench *b, size_t room)
{
	*b = (struct bench){
		.gpus = { .n_devices = GPUS, .flop_per_s = 1e12, .exports_dmabuf = true },
		.rnics = rdma_sim_make(),
		.options = { .gid_index = -1, .size = SIZE, .qps = QUEUES, .depth = 16 },
		.probe = { .seed = 3 },
	};
	b->endpoints = (struct gpu_endpoints){ .engine = accel_sim_ops(&b->gpus),
					       .bytes = BYTES,
					       .seed = b->probe.seed,
					       .open_us = 60000000 };
	CHECK_EQ(gpu_endpoints_open(&b->endpoints, b->ends, &b->n, room, NULL), 0);
	b->cell = (struct cell){ .probe = &b->probe,
				 .engine = &b->rnics.engine,
				 .options = &b->options,
				 .port = &b->rnics.ports[0],
				 .end = &b->ends[0] };
}

static void bench_close(struct bench *b)
{
	size_t i;

	for (i = 0; i < b->n; i++) {
		gpu_endpoint_release(&b->ends[i]);
		free(b->ends[i].id);
	}
	gpu_endpoints_close(&b->endpoints);
	CHECK_EQ(b->gpus.alive, 0);
	CHECK_EQ(b->rnics.open_regions + b->rnics.open_devices + b->rnics.open_queues, 0);
}

static void every_gpu_is_an_endpoint_with_data_in_it(void)
{
	static char wanted[BYTES], zeros[BYTES];
	struct bench b;
	size_t i;

	data_fill(wanted, BYTES, 3);
	bench_open(&b, GPUS);
	CHECK_EQ(b.n, GPUS);
	for (i = 0; i < b.n; i++) {
		CHECK(b.ends[i].id && b.ends[i].subject && !b.ends[i].buffer && !b.ends[i].broken);
		CHECK(memcmp(b.ends[i].gpu[GPU_SOURCE].ptr, wanted, BYTES) == 0);
		CHECK(memcmp(b.ends[i].gpu[GPU_TARGET].ptr, zeros, BYTES) == 0);
	}
	bench_close(&b);
	bench_open(&b, 2);
	CHECK_EQ(b.n, 2);
	bench_close(&b);
}

static void without_an_engine_there_are_none(void)
{
	struct gpu_endpoints none = { .engine = NULL };
	struct endpoint end;
	size_t n = 0;

	CHECK_EQ(gpu_endpoints_open(&none, &end, &n, 1, NULL), 0);
	CHECK_EQ(n, 0);
	gpu_endpoints_close(&none);
}

/* It would be refused cell by cell, in each run. */
static void under_confidential_computing_there_are_none(void)
{
	struct accel_sim gpus = { .n_devices = GPUS, .flop_per_s = 1e12, .cc = true };
	struct gpu_endpoints sealed = { .engine = accel_sim_ops(&gpus),
					.bytes = BYTES,
					.open_us = 60000000 };
	struct endpoint ends[GPUS];
	struct err err = ERR_INIT;
	size_t n = 0;

	CHECK_EQ(gpu_endpoints_open(&sealed, ends, &n, GPUS, &err), -ENOTSUP);
	CHECK_STR(err.msg, "confidential computing is on, and keeps RNICs out");
	CHECK_EQ(n, 0);
	gpu_endpoints_close(&sealed);
	CHECK_EQ(gpus.alive, 0);
}

static void its_memory_is_registered_one_way_or_the_other(void)
{
	static const struct {
		bool no_dmabuf, by_address;
		const char *via, *why;
	} cases[] = { { false, true, "dmabuf", "first choice" },
		      { true, true, "peermem", "the RNIC does not support dmabuf" },
		      { true, false, NULL, NULL } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = ERR_INIT;
		struct session s;
		struct bench b;
		int r;

		bench_open(&b, GPUS);
		b.rnics.no_dmabuf = cases[i].no_dmabuf;
		b.gpus.exports_address = cases[i].by_address;
		r = session_open(&s, &b.cell, &err);
		if (cases[i].via) {
			CHECK_EQ(r, 0);
			CHECK_STR(s.via.how, cases[i].via);
			CHECK_STR(s.via.why, cases[i].why);
			CHECK_EQ(s.flow.n_queues, QUEUES);
			CHECK(s.source.at == b.ends[0].gpu[GPU_SOURCE].ptr);
			CHECK(s.target.at == b.ends[0].gpu[GPU_TARGET].ptr);
			CHECK(!session_sees(&s));
		} else {
			CHECK_EQ(r, -EOPNOTSUPP);
			CHECK_HAS(err.msg, "nvidia-peermem is not loaded");
		}
		session_close(&s);
		bench_close(&b);
	}
}

/* The simulated fabric moves nothing: what was to be brought is brought here, or not quite. */
static void wrong_data_in_a_gpu_is_found(void)
{
	struct rdma_ops ops;
	struct session s;
	struct bench b;
	struct flow flow;
	struct flow_result result = { .covered = BYTES / QUEUES };
	struct sample sample = sample_init();
	char *target;

	bench_open(&b, GPUS);
	CHECK_EQ(session_open(&s, &b.cell, NULL), 0);
	ops = *s.ops;
	ops.hollow = false;
	s.ops = &ops;
	flow = s.flow;
	flow.local = s.source;
	flow.size = SIZE;
	target = b.ends[0].gpu[GPU_TARGET].ptr;
	memcpy(target, b.ends[0].gpu[GPU_SOURCE].ptr, BYTES);
	session_check_data(&s, &flow, &result, &sample);
	CHECK_EQ(sample.ok, TRI_UNKNOWN);
	target[BYTES - 1] ^= 1; /* of the second queue */
	session_check_data(&s, &flow, &result, &sample);
	CHECK_EQ(sample.ok, TRI_NO);
	CHECK_STR(sample.code, "rdma:wrong-data");
	CHECK_HAS(sample.note, "sim0 port 1: wrong data: 1 of 524288 bytes, from 0x7ffff on");
	sample_release(&sample);
	s.ops = b.rnics.engine.ops;
	session_close(&s);
	bench_close(&b);
}

static void a_gpu_without_memory_to_give_says_why(void)
{
	struct err err = ERR_INIT;
	struct session s;
	struct bench b;

	bench_open(&b, GPUS);
	b.ends[0].broken = strdup("out of memory: 12 MiB free");
	b.ends[0].failed = -ENOMEM;
	CHECK_EQ(session_open(&s, &b.cell, &err), -ENOMEM);
	CHECK_HAS(err.msg, "12 MiB free");
	session_close(&s);
	bench_close(&b);
}

static void a_gpu_that_others_compute_on_is_left_alone_unless_asked_for(void)
{
	static const bool run_busy[] = { false, true };
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(run_busy); i++) {
		struct gpu_endpoints again;
		struct err err = ERR_INIT;
		struct endpoint ends[GPUS];
		struct session s;
		struct bench b;
		size_t n = 0;

		bench_open(&b, GPUS);
		again = b.endpoints;
		again.run_busy = run_busy[i];
		b.gpus.user_pid[0] = 4242;
		CHECK_EQ(gpu_endpoints_open(&again, ends, &n, GPUS, NULL), 0);
		CHECK_EQ(n, GPUS);
		CHECK_EQ(ends[0].failed, run_busy[i] ? 0 : -EBUSY);
		CHECK_EQ(ends[0].gpu[GPU_SOURCE].ptr != NULL, run_busy[i]);
		CHECK(!ends[1].failed && ends[1].gpu[GPU_SOURCE].ptr);
		b.cell.end = &ends[0];
		CHECK_EQ(session_open(&s, &b.cell, &err), run_busy[i] ? 0 : -EBUSY);
		CHECK_STR(err.msg, run_busy[i] ? "" : "pid 4242 (stress) computes on cpu:0");
		session_close(&s);
		for (j = 0; j < n; j++) {
			gpu_endpoint_release(&ends[j]);
			free(ends[j].id);
		}
		gpu_endpoints_close(&again);
		bench_close(&b);
	}
}

/* --- GPUs that do not answer --- */

static const struct accel_ops *healthy;
static struct accel_ops sick;
static unsigned sick_device;
static int sick_result; /* 0: it never comes back */

static const char *asked_sick(const struct accel *a UNUSED)
{
	return "cpu:1";
}

static int sick_region(struct accel *a, unsigned device, const struct accel_memory *memory,
		       struct accel_region *ret, struct err *err)
{
	if (device != sick_device)
		return healthy->region_new(a, device, memory, ret, err);
	while (sick_result == 0)
		(void)pause();
	return err_set(err, -sick_result, "cpu:%u: is lost (NVML: GPU_IS_LOST)", device);
}

static int open_sick(struct accel **ret, struct err *err)
{
	int r = healthy->open(ret, err);

	if (r == 0)
		(*ret)->ops = &sick;
	return r;
}

static int open_never(struct accel **ret UNUSED, struct err *err)
{
	while (sick_result == 0)
		(void)pause();
	return err_set(err, EIO, "it came back");
}

/* An engine one of whose GPUs, the second, is sick; the simulation itself is another's. */
/* Of an engine that answers at once, and of one that never does: a busy machine opens others in it. */
enum { ANSWERS_US = 60000000, SILENT_US = 2000000 };

static struct gpu_endpoints sick_endpoints(struct accel_sim *sim, int result)
{
	healthy = accel_sim_ops(sim);
	sick = *healthy;
	sick.open = open_sick;
	sick.asked = asked_sick;
	sick.region_new = sick_region;
	sick_device = 1;
	sick_result = result;
	return (struct gpu_endpoints){ .engine = &sick,
				       .bytes = BYTES,
				       .open_us = result ? ANSWERS_US : SILENT_US };
}

static void a_lost_gpu_is_an_endpoint_that_says_so(void)
{
	static struct accel_sim sim = { .n_devices = GPUS, .flop_per_s = 1e12 };
	struct gpu_endpoints g = sick_endpoints(&sim, -ENODEV);
	struct endpoint ends[GPUS];
	size_t n = 0, i;

	CHECK_EQ(gpu_endpoints_open(&g, ends, &n, GPUS, NULL), 0);
	CHECK_EQ(n, GPUS);
	CHECK_EQ(ends[1].failed, -ENODEV);
	CHECK_HAS(ends[1].broken, "is lost (NVML: GPU_IS_LOST)");
	CHECK(!ends[0].failed && !ends[2].failed && ends[2].gpu[GPU_SOURCE].ptr);
	for (i = 0; i < n; i++) {
		gpu_endpoint_release(&ends[i]);
		free(ends[i].id);
	}
	gpu_endpoints_close(&g);
}

static void a_gpu_whose_driver_never_answers_is_the_only_endpoint(void)
{
	static struct accel_sim sim = { .n_devices = GPUS, .flop_per_s = 1e12 };
	struct gpu_endpoints g = sick_endpoints(&sim, 0);
	struct endpoint ends[GPUS];
	struct err err = ERR_INIT;
	size_t n = 0;

	CHECK_EQ(gpu_endpoints_open(&g, ends, &n, GPUS, &err), -ETIMEDOUT);
	CHECK_HAS(err.msg, "cpu:1: a call to the GPU driver for it did not return");
	CHECK(!g.accel);
	CHECK_EQ(n, 1);
	CHECK_STR(ends[0].subject, "cpu:1");
	CHECK_EQ(ends[0].failed, -ETIMEDOUT);
	gpu_endpoint_release(&ends[0]);
	free(ends[0].id);
}

static void a_driver_that_never_starts_ends_too(void)
{
	static struct accel_sim sim = { .n_devices = GPUS, .flop_per_s = 1e12 };
	struct gpu_endpoints g = sick_endpoints(&sim, 0);
	struct endpoint ends[GPUS];
	struct err err = ERR_INIT;
	size_t n = 0;

	sick.open = open_never;
	CHECK_EQ(gpu_endpoints_open(&g, ends, &n, GPUS, &err), -ETIMEDOUT);
	CHECK_STR(err.msg, "the GPU driver hangs while it starts");
	CHECK_EQ(n, 0);
}

static const struct test tests[] = {
	TEST(every_gpu_is_an_endpoint_with_data_in_it),
	TEST(without_an_engine_there_are_none),
	TEST(under_confidential_computing_there_are_none),
	TEST(its_memory_is_registered_one_way_or_the_other),
	TEST(wrong_data_in_a_gpu_is_found),
	TEST(a_gpu_without_memory_to_give_says_why),
	TEST(a_gpu_that_others_compute_on_is_left_alone_unless_asked_for),
	TEST(a_lost_gpu_is_an_endpoint_that_says_so),
	/* What never comes back stays: these are the last, and the process ends at once. */
	TEST(a_gpu_whose_driver_never_answers_is_the_only_endpoint),
	TEST(a_driver_that_never_starts_ends_too),
};

TEST_SUITE(tests);
