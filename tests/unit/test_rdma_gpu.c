/* SPDX-License-Identifier: Apache-2.0 */
/* Registering GPU memory with an RNIC: the possible ways, and the message if there is none. */
#include <dirent.h>
#include <errno.h>

#include "lib/base/err.h"
#include "probes/rdma/region_accel.h"
#include "tests/fakes/accel_sim.h"
#include "tests/fakes/rdma_sim.h"
#include "tests/unit/test.h"

enum { SIZE = 65536 };

struct bench {
	struct accel_sim gpus;
	struct rdma_sim rnics;
	struct accel *accel;
	struct accel_region memory;
	struct rdma_device *device;
};

static void bench_open(struct bench *b)
{
	const struct accel_memory wanted = { .place = ACCEL_DEVICE, .numa = -1, .size = SIZE };
	const struct accel_ops *ops;

	*b = (struct bench){ .gpus = { .n_devices = 1, .flop_per_s = 1e12 },
			     .rnics = rdma_sim_make() };
	ops = accel_sim_ops(&b->gpus);
	CHECK_EQ(ops->open(&b->accel, NULL), 0);
	CHECK_EQ(ops->region_new(b->accel, 0, &wanted, &b->memory, NULL), 0);
	CHECK_EQ(b->rnics.engine.ops->open(&b->rnics.engine, "sim0", &b->device, NULL), 0);
}

static void bench_close(struct bench *b)
{
	const struct accel_ops *ops = b->accel->ops;

	b->rnics.engine.ops->close(b->device);
	ops->region_free(&b->memory);
	ops->close(b->accel);
	CHECK_EQ(b->gpus.alive, 0);
	CHECK_EQ(b->rnics.open_regions + b->rnics.open_devices, 0);
}

static size_t count_open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		(void)closedir(dir);
	return n;
}

static void the_first_way_that_goes_is_taken(void)
{
	static const struct {
		bool makes_dmabuf, gives_address, takes_dmabuf, takes_address;
		const char *how;   /* NULL: none */
		const char *words; /* why that one, or why none */
	} cases[] = {
		{ true, true, true, true, "dmabuf", "first choice" },
		{ true, false, true, false, "dmabuf", "first choice" },
		{ true, true, false, true, "peermem", "the RNIC does not support dmabuf" },
		{ false, true, true, true, "peermem", "the driver does not export dmabufs" },
		{ true, false, false, true, NULL,
		  "by dmabuf: sim0 takes no dmabuf; by address: nvidia-peermem is not loaded" },
		{ true, true, false, false, NULL,
		  "by dmabuf: sim0 takes no dmabuf; by address: sim0: bad address" },
		{ false, true, true, false, NULL,
		  "by dmabuf: it has no dmabuf (this driver makes none); by address: sim0: bad" },
		{ false, false, true, true, NULL, "simulated memory cannot be exported" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = ERR_INIT;
		struct rdma_region region = { .handle = NULL };
		struct region_way way = { NULL, NULL };
		struct bench b;
		size_t files;
		int r;

		bench_open(&b);
		b.gpus.exports_dmabuf = cases[i].makes_dmabuf;
		b.gpus.exports_address = cases[i].gives_address;
		b.rnics.no_dmabuf = !cases[i].takes_dmabuf;
		b.rnics.no_address = !cases[i].takes_address;
		files = count_open_files();
		r = region_add_accel(b.rnics.engine.ops, b.device, &b.memory, &region, &way, &err);
		CHECK_EQ(count_open_files(), files);
		CHECK_STR(way.how, cases[i].how);
		CHECK_EQ(r == 0, cases[i].how != NULL);
		if (r == 0) {
			CHECK(region.at == b.memory.ptr && region.bytes == SIZE);
			CHECK_STR(way.why, cases[i].words);
			CHECK_EQ(b.rnics.dmabufs, streq(way.how, "dmabuf"));
			b.rnics.engine.ops->region_remove(&region);
		} else {
			CHECK_HAS(err.msg, cases[i].words);
		}
		bench_close(&b);
	}
}

static const struct test tests[] = { TEST(the_first_way_that_goes_is_taken) };

TEST_SUITE(tests);
