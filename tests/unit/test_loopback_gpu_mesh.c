/* SPDX-License-Identifier: Apache-2.0 */
/* The loopback probe on a simulated host whose GPUs are memory of an engine: good runs, a lost GPU,
 * a slow link. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/localise.h"
#include "probes/loopback/loopback_gpu.h"
#include "probes/memory/buffer.h"
#include "tests/fakes/accel_sim.h"
#include "tests/unit/loopback_fabric.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

enum { QUICK_US = 20000000, CLEAN_RUNS = 100, CLEAN_SHORT = 4 };

/* Healthy GPUs differ by so much, and two runs by the noise. */
static const double spread = 0.04, noise = 0.005;

struct bench {
	struct fabric *fabric;
	struct accel_sim gpus;
	struct accel *accel;
	struct accel_region regions[HOST_ENDS_MAX][GPU_REGIONS];
};

/* The memory of a GPU of the host becomes that of an engine, at the same place. */
static void give_gpu(struct bench *b, size_t i, unsigned device)
{
	struct endpoint *end = &b->fabric->ends[i];
	unsigned j;

	for (j = 0; j < GPU_REGIONS; j++)
		b->regions[i][j] = (struct accel_region){ .accel = b->accel,
							  .device = device,
							  .place = ACCEL_DEVICE,
							  .ptr = end->buffer->arrays[j],
							  .size = end->bytes };
	free(end->buffer);
	end->buffer = NULL;
	end->gpu = b->regions[i];
	end->subject = xasprintf("gpu:GPU-%u", device);
}

static bool is_gpu(const struct endpoint *end)
{
	return starts_with(end->id, "gpu:");
}

static struct bench *bench_new(uint64_t seed)
{
	struct bench *b = xcalloc(1, sizeof(*b));
	struct random chance = random_seeded(seed);
	struct fabric *f = fabric_new();
	unsigned n = 0;
	size_t i, j;

	b->fabric = f;
	b->gpus = (struct accel_sim){ .n_devices = (unsigned)f->host.n_ends,
				      .flop_per_s = 1e12,
				      .exports_dmabuf = true };
	CHECK_EQ(accel_sim_ops(&b->gpus)->open(&b->accel, NULL), 0);
	fabric_noise(f, noise, seed);
	for (i = 0; i < f->host.n_ends; i++) {
		const double share = 1 - spread * random_unit(&chance);

		if (!is_gpu(&f->ends[i]))
			continue;
		give_gpu(b, i, n++);
		for (j = 0; j < f->host.n_rnics; j++)
			f->paths[j * f->host.n_ends + i].factor *= share;
	}
	CHECK(n >= 4);
	/* They are the last of the ends. */
	i = f->host.n_ends - n;
	f->sim.beyond = f->memory + f->memory_bytes / f->host.n_ends * i;
	f->sim.beyond_bytes = (uint64_t)(f->memory + f->memory_bytes - f->sim.beyond);
	return b;
}

static void bench_free(struct bench *b)
{
	size_t i;

	for (i = 0; i < b->fabric->host.n_ends; i++) {
		free(b->fabric->ends[i].subject);
		free(b->fabric->ends[i].broken);
	}
	fabric_free(b->fabric);
	b->accel->ops->close(b->accel);
	free(b);
}

/* The only link that is slow; "" none, "?" several. */
static const char *slow_link(const struct report *r, struct localised *ret)
{
	localise(&(struct localise_input){ .samples = { r->samples, r->n_samples } }, ret);
	return ret->n == 0 ? "" : ret->n == 1 ? ret->links[0].link : "?";
}

static void check_measured(const struct sample *s)
{
	CHECK_EQ(s->state, SAMPLE_MEASURED);
	CHECK_EQ(s->ok, TRI_UNKNOWN);
	CHECK(!s->code && s->value > 0);
	if (strstr(s->subject, "gpu:"))
		CHECK_STR(json_string_value(json_object_get(s->params, "via")), "dmabuf");
}

static void no_clean_run_raises_an_alarm(void)
{
	const unsigned n = (unsigned)test_times(CLEAN_RUNS, CLEAN_SHORT);
	unsigned seed;
	size_t i;

	for (seed = 1; seed <= n; seed++) {
		struct bench *b = bench_new(seed);
		struct localised found;
		struct report r;

		fabric_run(b->fabric, SET_QUICK, QUICK_US, &r);
		CHECK(r.n_samples > 0);
		for (i = 0; i < r.n_samples; i++)
			check_measured(&r.samples[i]);
		CHECK_EQ(b->fabric->sim.died, 0);
		CHECK_STR(slow_link(&r, &found), "");
		localised_release(&found);
		report_release(&r);
		bench_free(b);
	}
}

static void a_lost_gpu_is_said_of_each_of_its_cells_and_of_no_other(void)
{
	struct bench *b = bench_new(1);
	size_t lost = 0, n = 0, i;
	struct report r;

	while (!is_gpu(&b->fabric->ends[lost]))
		lost++;
	b->fabric->ends[lost].failed = -ENODEV;
	b->fabric->ends[lost].broken = xstrdup("gpu:GPU-0: is lost (NVML: GPU_IS_LOST)");
	fabric_run(b->fabric, SET_QUICK, QUICK_US, &r);
	for (i = 0; i < r.n_samples; i++) {
		const struct sample *s = &r.samples[i];

		if (!strstr(s->subject, "gpu:GPU-0")) {
			CHECK(s->ok != TRI_NO);
			continue;
		}
		n++;
		CHECK_EQ(s->ok, TRI_NO);
		CHECK_EQ(s->severity, SEVERITY_FATAL);
		CHECK_STR(s->code, "device-lost");
		CHECK_STR(s->note, "is lost (NVML: GPU_IS_LOST)");
	}
	CHECK(n > 0);
	report_release(&r);
	bench_free(b);
}

static void the_slow_link_of_one_gpu_is_named(void)
{
	struct bench *b = bench_new(2);
	const struct topology *t = &b->fabric->host.topology;
	const char *link = NULL;
	struct localised found;
	struct report r;
	size_t i;

	for (i = 0; i < t->n_links && !link; i++) {
		if (starts_with(t->links[i].id, "gpu:"))
			link = t->links[i].id;
	}
	CHECK(link);
	fabric_slow(b->fabric, link ? link : "", 0.5);
	fabric_run(b->fabric, SET_QUICK, QUICK_US, &r);
	CHECK_STR(slow_link(&r, &found), link);
	localised_release(&found);
	report_release(&r);
	bench_free(b);
}

static const struct test tests[] = {
	TEST(no_clean_run_raises_an_alarm),
	TEST(a_lost_gpu_is_said_of_each_of_its_cells_and_of_no_other),
	TEST(the_slow_link_of_one_gpu_is_named),
};

TEST_SUITE(tests);
