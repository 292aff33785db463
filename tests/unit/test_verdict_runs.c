/* SPDX-License-Identifier: Apache-2.0 */
/* Links and cells of a mesh from run to run: what persists, what is good again, what is missing. */
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/verdict_item.h"
#include "tests/unit/mesh.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

/* The uplink of the second switch of the second socket. */
enum { UPLINK = MESH_RNICS + MESH_GPUS + 3 };

static size_t count_links(const struct verdict *v)
{
	size_t n = 0, i;

	for (i = 0; i < v->n_items; i++)
		n += verdict_item_is_link(&v->items[i]);
	return n;
}

/* Runs of two profiles: what becomes of the link when the newer one brings `newer`. */
static struct verdict merged(const struct report *older, struct report *newer, uint64_t seq)
{
	static const bool active[2] = { true, true };
	struct verdict runs[2], all;

	newer->seq = seq;
	free(newer->profile);
	newer->profile = xstrdup("quick");
	verdict_judge(older, NULL, &runs[0]);
	verdict_judge(newer, NULL, &runs[1]);
	verdict_merge(runs, active, 2, &all);
	verdict_release(&runs[0]);
	verdict_release(&runs[1]);
	return all;
}

static void a_link_stands_as_long_as_a_cell_that_it_explains(void)
{
	CLEANUP(report_release) struct report full = mesh_report(UPLINK, 0.5, 1);
	CLEANUP(report_release) struct report healed = mesh_report(MESH_LINKS, 1, 2);
	CLEANUP(report_release) struct report few = report_make();
	struct verdict v;

	report_put_cores(&few, (const double[]){ 70, 70, 70 }, 3);
	v = merged(&full, &few, full.seq + 1);
	CHECK_EQ(count_links(&v), 1);
	CHECK_EQ(v.level, VERDICT_FAIL);
	CHECK(verdict_item_is_link(&v.items[0]));
	verdict_release(&v);
	v = merged(&full, &healed, full.seq + 1);
	CHECK_EQ(count_links(&v), 0);
	CHECK_EQ(v.level, VERDICT_PASS);
	verdict_release(&v);
}

static void a_link_that_is_good_again_is_not_missing(void)
{
	CLEANUP(report_release) struct report sick = mesh_report(UPLINK, 0.5, 1);
	CLEANUP(report_release) struct report healed = mesh_report(MESH_LINKS, 1, 2);
	CLEANUP(verdict_release) struct verdict before = { 0 };
	const struct judge_inputs inputs = { .before = &before };

	verdict_judge(&sick, NULL, &before);
	CHECK_EQ(count_links(&before), 1);
	CHECK_EQ(judged(&healed, &inputs)->level, VERDICT_PASS);
}

/* Is this cell among those that a short run measures: each end of the mesh in one? */
static bool is_told(const char *subject, const char *const *told)
{
	for (; *told; told++) {
		if (streq(subject, *told))
			return true;
	}
	return false;
}

static void a_part_of_the_mesh_stands_for_the_whole(void)
{
	static const char *const told[] = { "mlx5_0:1>gpu:0",  "mlx5_1:1>gpu:1",
					    "mlx5_2:1>gpu:2",  "mlx5_3:1>gpu:3",
					    "mlx5_4:1>gpu:4",  "mlx5_5:1>gpu:5",
					    "mlx5_6:1>gpu:6",  "mlx5_7:1>numa:0",
					    "mlx5_7:1>numa:1", NULL };
	CLEANUP(report_release) struct report full = mesh_report(MESH_LINKS, 1, 1);
	CLEANUP(report_release) struct report quick = report_make();
	CLEANUP(verdict_release) struct verdict before = { 0 };
	const struct judge_inputs inputs = { .before = &before };
	const struct verdict *v;
	size_t i, missed = 0;

	for (i = 0; i < full.n_samples; i++) {
		const struct sample *s = &full.samples[i];

		if (is_told(s->subject, told) && !s->with)
			(void)report_put(&quick, s->check, s->subject, 50e9);
	}
	CHECK_EQ(quick.n_samples, ARRAY_SIZE(told) - 1);
	verdict_judge(&full, NULL, &before);
	v = judged(&quick, &inputs);
	/* Nobody measured the last GPU: its column is missing, and nothing else. */
	for (i = 0; i < v->n_items; i++) {
		if (v->items[i].level != VERDICT_INCONCLUSIVE)
			continue;
		missed++;
		CHECK_HAS(v->items[i].subject, ">gpu:7");
	}
	CHECK_EQ(missed, MESH_RNICS);
	(void)report_put(&quick, "loopback.write_bw", "mlx5_6:1>gpu:7", 50e9);
	CHECK_EQ(judged(&quick, &inputs)->level, VERDICT_PASS);
}

static const struct test tests[] = {
	TEST(a_link_stands_as_long_as_a_cell_that_it_explains),
	TEST(a_link_that_is_good_again_is_not_missing),
	TEST(a_part_of_the_mesh_stands_for_the_whole),
};

TEST_SUITE(tests, .end = judged_done);
