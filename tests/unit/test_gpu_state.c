/* SPDX-License-Identifier: Apache-2.0 */
/* The areas of assay-probe-gpu-state with fake readings. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "probes/gpu_state/gpu_counter_table.h"
#include "probes/gpu_state/gpu_state.h"
#include "tests/unit/test.h"

enum { GPUS = 3, SAMPLES_MAX = 128 };

static struct fixture {
	struct gpu_reading gpus[GPUS];
	json_t *kept; /* what the last run left */
	struct sample samples[SAMPLES_MAX];
	size_t n_samples;
} f;

static int keep_sample(void *context UNUSED, struct sample *s)
{
	CHECK(f.n_samples < SAMPLES_MAX);
	f.samples[f.n_samples++] = *s;
	*s = sample_init();
	return 0;
}

static void forget(void)
{
	while (f.n_samples)
		sample_release(&f.samples[--f.n_samples]);
}

static void fixture_open(void)
{
	size_t i;

	(void)setenv("ASSAY_SYSROOT", test_dir(), 1);
	f = (struct fixture){ .kept = json_object() };
	for (i = 0; i < GPUS; i++) {
		f.gpus[i].index = (unsigned)i;
		(void)snprintf(f.gpus[i].subject, sizeof(f.gpus[i].subject), "gpu:GPU-%zu", i);
		(void)snprintf(f.gpus[i].pci, sizeof(f.gpus[i].pci), "0000:0%zu:00.0", i);
	}
}

static void fixture_close(void)
{
	forget();
	json_decref(f.kept);
}

/* In the same boot, 300 s after the last run. */
static void run(int (*area)(struct gpu_state *state))
{
	const struct probe_desc desc = { .checks = gpu_checks, .n_checks = gpu_n_checks };
	json_t *next = json_pack("{s:{}}", "counters");
	struct gpus gpus = { .all = f.gpus, .n = GPUS };
	struct gpu_state state = {
		.desc = &desc,
		.past = f.kept,
		.next = next,
		.same_boot = true,
		.window_s = 300,
		.counters = { .past = json_object_get(f.kept, "counters"),
			      .next = json_object_get(next, "counters") },
		.gpus = &gpus,
		.emit = keep_sample,
	};

	forget();
	CHECK_EQ(area(&state), 0);
	json_decref(f.kept);
	f.kept = next;
}

/* The code of the only sample that is not good, "" when all are, "?" when there are more. */
static const char *only_bad(const char *subject)
{
	const char *found = "";
	size_t i;

	for (i = 0; i < f.n_samples; i++) {
		const struct sample *s = &f.samples[i];

		if (s->ok != TRI_NO)
			continue;
		found = *found || !streq(s->subject, subject) || !s->code ? "?" : s->code;
	}
	return found;
}

static void the_health_of_the_fabric_is_read_by_its_bits(void)
{
	static const struct {
		unsigned health;
		const char *code;
	} cases[] = {
		{ 0, "" }, /* a driver that tells nothing */
		{ 1 << 8 | 2 << 6 | 2 << 4 | 2 << 2 | 2, "" },
		{ 1 << 8 | 1, "fabric-bandwidth" },
		{ 1 << 8 | 1 << 2, "fabric-recovery" },
		{ 1 << 8 | 1 << 4, "fabric-route" },
		{ 1 << 8 | 1 << 6, "fabric-timeout" },
		{ 5 << 8, "fabric-configuration" },
		{ 8 << 8 | 1, "fabric-configuration" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		fixture_open();
		f.gpus[1].known[FACT_FABRIC] = true;
		f.gpus[1].facts[FACT_FABRIC] = NVML_FABRIC_COMPLETED;
		f.gpus[1].facts[FACT_FABRIC_HEALTH] = cases[i].health;
		run(gpu_links);
		CHECK_STR(only_bad("gpu:GPU-1"), cases[i].code);
		CHECK_EQ(f.n_samples, 1);
		fixture_close();
	}
}

static void one_without_a_name_is_known_by_its_number_or_address(void)
{
	fixture_open();
	run(gpu_presence);
	CHECK_STR(only_bad(""), "");
	f.gpus[1].subject[0] = f.gpus[1].pci[0] = '\0';
	f.gpus[1].result = NVML_GPU_IS_LOST;
	run(gpu_presence);
	CHECK_STR(only_bad("gpu:GPU-1"), "device-lost");
	f.gpus[1].subject[0] = '\0';
	run(gpu_presence);
	CHECK_STR(only_bad("gpu:GPU-1"), "device-lost");
	fixture_close();
}

/* It may be the one that is not seen: nothing is said of that. */
static void while_one_has_no_name_none_is_gone(void)
{
	fixture_open();
	run(gpu_presence);
	f.gpus[1].subject[0] = '\0';
	(void)snprintf(f.gpus[1].pci, sizeof(f.gpus[1].pci), "0000:77:00.0");
	f.gpus[1].stuck = true;
	run(gpu_presence);
	CHECK_STR(only_bad("pci:0000:77:00.0"), "nvml-stuck");
	fixture_close();
}

static void put_counter(unsigned gpu, const struct gpu_counter_row *row, unsigned link,
			uint64_t value)
{
	struct gpu_reading *to = &f.gpus[gpu];

	to->counters[to->n_counters++] =
		(struct gpu_counter){ .row = row, .link = link, .value = value };
}

static void grow_to(uint64_t value, size_t row)
{
	f.gpus[2].n_counters = 0;
	put_counter(2, &gpu_counter_rows[row], 0, value);
	run(gpu_counters);
}

static void every_counter_warns_by_its_rule_and_not_before(void)
{
	size_t i;

	for (i = 0; i < n_gpu_counter_rows; i++) {
		const struct gpu_counter_row *row = &gpu_counter_rows[i];
		uint64_t most = (uint64_t)(row->is_time ? row->limit * 300e9 : row->limit);

		if (row->ever_of) /* compared over boots */
			continue;
		fixture_open();
		grow_to(1000, i);
		CHECK_STR(only_bad("gpu:GPU-2"),
			  row->of_boot && row->finding != FINDING_NOTE ? row->name : "");
		grow_to(1000 + most, i);
		CHECK_STR(only_bad("gpu:GPU-2"), "");
		grow_to(1000 + 2 * most + 1, i);
		CHECK_STR(only_bad("gpu:GPU-2"), row->finding == FINDING_NOTE ? "" : row->name);
		fixture_close();
	}
}

/* Its counters are compared with the look before it was stuck. */
static void what_was_counted_before_it_was_stuck_is_kept(void)
{
	fixture_open();
	grow_to(5, 0);
	f.gpus[2].stuck = true;
	run(gpu_counters);
	CHECK_EQ(f.n_samples, 0);
	f.gpus[2].stuck = false;
	grow_to(5, 0);
	CHECK_EQ(f.n_samples, 1);
	CHECK_STR(only_bad(""), "");
	fixture_close();
}

static size_t row_named(const char *name)
{
	size_t i = 0;

	while (!streq(gpu_counter_rows[i].name, name))
		i++;
	return i;
}

/* A look: what is counted since the GPU was started, and since it was made. Its code and value. */
static const char *errors_at(uint64_t now, uint64_t ever, double *ret_value)
{
	f.gpus[2].n_counters = 0;
	put_counter(2, &gpu_counter_rows[row_named("uncorrected")], 0, now);
	put_counter(2, &gpu_counter_rows[row_named("uncorrected-before")], 0, ever);
	run(gpu_counters);
	CHECK_EQ(f.n_samples, 1);
	*ret_value = f.samples[0].value;
	return only_bad("gpu:GPU-2");
}

/* Each error is told once, whichever of the two counters has it first, and whoever closed the GPU. */
static void each_memory_error_is_told_once_by_one_of_its_two_counters(void)
{
	static const struct {
		uint64_t now, ever;
		const char *code;
		double value;
	} looks[] = {
		{ 0, 7, "", 0 },		   /* of before the first look: not known */
		{ 1, 8, "uncorrected", 1 },	   /* the job that met it lives */
		{ 1, 8, "", 0 },		   /* still */
		{ 0, 8, "", 0 },		   /* it has ended */
		{ 0, 9, "uncorrected-before", 1 }, /* another came and went */
		{ 2, 11, "uncorrected", 2 },	   /* */
		{ 1, 12, "uncorrected", 1 },	   /* closed, and one more */
		{ 3, 12, "uncorrected", 2 },	   /* that of its life is written later */
		{ 3, 14, "", 0 },		   /* now it is */
		{ 0, 15, "uncorrected-before", 1 },
		{ 0, 0, "", 0 }, /* an operator put it back to 0 */
		{ 0, 2, "uncorrected-before", 2 },
	};
	double value;
	size_t i;

	fixture_open();
	for (i = 0; i < ARRAY_SIZE(looks); i++) {
		CHECK_STR(errors_at(looks[i].now, looks[i].ever, &value), looks[i].code);
		CHECK_NEAR(value, looks[i].value, 0);
	}
	fixture_close();
}

static const struct test tests[] = {
	TEST(the_health_of_the_fabric_is_read_by_its_bits),
	TEST(one_without_a_name_is_known_by_its_number_or_address),
	TEST(while_one_has_no_name_none_is_gone),
	TEST(every_counter_warns_by_its_rule_and_not_before),
	TEST(what_was_counted_before_it_was_stuck_is_kept),
	TEST(each_memory_error_is_told_once_by_one_of_its_two_counters),
};

TEST_SUITE(tests);
