/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/baseline_store.h"

#include <stdlib.h>

#include "controller/fleet/baseline.h"
#include "controller/store/store.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

#define NOW (UINT64_C(20000) * USEC_PER_DAY)

static struct store *store_at(const char *name)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", test_dir(), name);
	struct store *s = NULL;

	CHECK_EQ(store_open(path, &s, NULL), 0);
	return s;
}

/* A host reports `n` values of a check, with these params. */
static void learn(struct baselines *b, const char *node, const char *check, double value,
		  const char *driver)
{
	struct report r = report_make();
	const struct verdict *v;
	unsigned i;

	free(r.node);
	r.node = xstrdup(node);
	free(r.sku);
	r.sku = xstrdup("sku-a");
	for (i = 0; i < 4; i++) {
		CLEANUP(freep) char *cpu = xasprintf("cpu:%u", i);
		struct sample *s = report_put(&r, check, cpu, value + i * 0.01);

		free(s->unit);
		s->unit = xstrdup("B/s");
		if (driver)
			s->params = json_pack("{s:s}", "driver", driver);
	}
	v = judged(&r, NULL);
	baselines_learn(b, &r, v, v->level == VERDICT_FAIL);
	report_release(&r);
}

static void learn_fleet(struct baselines *b)
{
	unsigned i;

	for (i = 0; i < 12; i++) {
		CLEANUP(freep) char *node = xasprintf("gpu-%u", i);

		learn(b, node, "gemm.rate", 70 + i * 0.1, "550");
		learn(b, node, "memory.read_bw", 200 + i, NULL);
	}
	learn(b, "gpu-3", "gemm.rate", 71, "a \"quoted\"\nline");
}

/* Save all that changed; how many rows that were. */
static uint64_t save(struct baselines *b, struct store *s, uint64_t now_us, uint64_t since_us)
{
	struct baseline_saver v = { 0 };
	unsigned steps = 0;
	int r;

	baseline_saver_begin(&v, b, since_us);
	do {
		r = baseline_saver_step(&v, s, now_us, 0, NULL);
		steps++;
	} while (r == 1 && steps < 1000);
	CHECK_EQ(r, 0);
	/* A deadline that is past is one row a step. */
	CHECK_EQ(steps, MAX(v.saved + v.removed, UINT64_C(1)));
	CHECK_EQ(store_commit(s, NULL), 0);
	return v.saved;
}

/* What the baselines are, as text; free it. */
static char *text_of(const struct baselines *b)
{
	CLEANUP(json_freep) json_t *items = baselines_encode(b);

	return json_dumps(items, JSON_SORT_KEYS);
}

static void same(const struct baselines *a, const struct baselines *b)
{
	CLEANUP(freep) char *x = text_of(a);
	CLEANUP(freep) char *y = text_of(b);

	CHECK_STR(x, y);
}

static void what_was_learnt_is_there_after_a_restart(void)
{
	CLEANUP(store_closep) struct store *s = store_at("restart.db");
	CLEANUP(baselines_release) struct baselines b = { 0 };
	CLEANUP(baselines_release) struct baselines again = { 0 };
	uint64_t hosts = 0;

	learn_fleet(&b);
	CHECK_EQ(save(&b, s, NOW, 0), 3);
	store_close(s);
	s = store_at("restart.db");
	CHECK_EQ(baselines_load(&again, s, 0, &hosts, NULL), 0);
	CHECK_EQ(hosts, 12 + 12 + 1);
	CHECK_EQ(again.n, 3);
	same(&b, &again);
	/* And it goes on from there: the same host, not one more. */
	learn(&again, "gpu-3", "gemm.rate", 60, "550");
	learn(&b, "gpu-3", "gemm.rate", 60, "550");
	same(&b, &again);
}

static void only_what_changed_is_written(void)
{
	CLEANUP(store_closep) struct store *s = store_at("changed.db");
	CLEANUP(baselines_release) struct baselines b = { 0 };
	CLEANUP(baselines_release) struct baselines again = { 0 };
	uint64_t hosts = 0;

	learn_fleet(&b);
	CHECK_EQ(save(&b, s, NOW, 0), 3);
	CHECK_EQ(save(&b, s, NOW, 0), 0);
	learn(&b, "gpu-1", "memory.read_bw", 190, NULL);
	CHECK_EQ(save(&b, s, NOW, 0), 1);
	CHECK_EQ(baselines_load(&again, s, 0, &hosts, NULL), 0);
	same(&b, &again);
	/* What was read is as it is in the store. */
	CHECK_EQ(save(&again, s, NOW, 0), 0);
	anomalies_set(&b.anomalies, ANOMALY_LOW, "sku-a", "gemm.rate", "gpu-3", true);
	baselines_forget(&b, "gpu-3");
	CHECK(!anomalies_has(&b.anomalies, ANOMALY_LOW, "sku-a", "gemm.rate", "gpu-3"));
	CHECK_EQ(b.n, 2); /* of the third it was the only host */
	CHECK_EQ(save(&b, s, NOW, 0), 2);
	baselines_release(&again);
	CHECK_EQ(baselines_load(&again, s, 0, &hosts, NULL), 0);
	CHECK_EQ(hosts, 11 + 11);
	same(&b, &again);
}

/* Dropped while it waits to be written, and come again: it is written, once. */
static void what_makes_room_leaves_the_store_too(void)
{
	CLEANUP(store_closep) struct store *s = store_at("room.db");
	CLEANUP(baselines_release) struct baselines b = { 0 };
	CLEANUP(baselines_release) struct baselines again = { 0 };
	struct baseline_saver v = { 0 };
	uint64_t hosts = 0;
	unsigned i;

	learn_fleet(&b);
	learn(&b, "liar", "lie.first", 1, NULL);
	CHECK_EQ(save(&b, s, NOW, 0), 4);
	learn(&b, "liar", "lie.first", 2, NULL);
	baseline_saver_begin(&v, &b, 0);
	for (i = 0; i < BASELINES_OWN_MAX; i++) {
		CLEANUP(freep) char *check = xasprintf("lie.%u", i);

		learn(&b, "liar", check, 1, NULL);
	}
	CHECK_EQ(b.n, 3 + BASELINES_OWN_MAX);
	CHECK_EQ(baseline_saver_step(&v, s, NOW, UINT64_MAX, NULL), 0);
	learn(&b, "liar", "lie.first", 3, NULL);
	CHECK_EQ(b.n, 3 + BASELINES_OWN_MAX);
	CHECK_EQ(save(&b, s, NOW, 0), BASELINES_OWN_MAX);
	CHECK_EQ(baselines_load(&again, s, 0, &hosts, NULL), 0);
	CHECK_EQ(hosts, 12 + 12 + 1 + BASELINES_OWN_MAX);
	same(&b, &again);
}

static void what_was_not_committed_is_written_again(void)
{
	CLEANUP(store_closep) struct store *s = store_at("failed.db");
	CLEANUP(baselines_release) struct baselines b = { 0 };
	struct baseline_saver v = { 0 };

	learn_fleet(&b);
	baseline_saver_begin(&v, &b, 0);
	CHECK_EQ(baseline_saver_step(&v, s, NOW, 0, NULL), 1);
	store_take_back(s);
	baseline_saver_failed(&v, &b);
	CHECK_EQ(save(&b, s, NOW, 0), 3);
}

static void a_baseline_that_nobody_teaches_ends(void)
{
	CLEANUP(store_closep) struct store *s = store_at("old.db");
	CLEANUP(baselines_release) struct baselines b = { 0 };
	CLEANUP(baselines_release) struct baselines again = { 0 };
	uint64_t hosts = 0;

	learn_fleet(&b);
	CHECK_EQ(save(&b, s, NOW, 0), 3);
	learn(&b, "gpu-1", "memory.read_bw", 190, NULL);
	CHECK_EQ(save(&b, s, NOW + USEC_PER_DAY, NOW + 1), 1);
	CHECK_EQ(b.n, 1);
	CHECK_EQ(baselines_load(&again, s, 0, &hosts, NULL), 0);
	CHECK_EQ(hosts, 12);
	same(&b, &again);
	/* At the start too, when it was down for so long. */
	baselines_release(&again);
	CHECK_EQ(baselines_load(&again, s, NOW + USEC_PER_DAY + 1, &hosts, NULL), 0);
	CHECK_EQ(again.n, 0);
}

static void rows_that_are_broken_are_left_out(void)
{
	static const char two[] = "\1gpu-1\0\0\0\0\0\0\0\xf0?\0\0\0\0\0\0\0\0" /* 1.0, 0.0 */
				  "gpu-2\0\0\0\0\0\0\0\xf0?\0\0\0\0\0\0\0\0";
	static const char key[] = "sku-a\ngemm.rate\n\nFLOP/s\n0\n{}";
	static const struct {
		const char *key, *bytes;
		size_t length;
		uint64_t hosts;
	} rows[] = {
		{ key, two, sizeof(two) - 1, 2 },
		{ key, two, sizeof(two) - 2, 1 },			      /* cut */
		{ key, two, 1, 0 },					      /* no host */
		{ key, "", 0, 0 },					      /* nothing */
		{ key, "\2gpu-1\0\0\0\0\0\0\0\xf0?\0\0\0\0\0\0\0\0", 23, 0 }, /* another format */
		{ key, "\1../x\0\0\0\0\0\0\0\xf0?\0\0\0\0\0\0\0\0", 22, 0 },  /* no host's name */
		{ key, "\1gpu-1\0\0\0\0\0\0\0\xf0\x7f\0\0\0\0\0\0\0\0", 23, 0 }, /* infinite */
		{ "sku-a\ngemm.rate\n\nFLOP/s\n0", two, sizeof(two) - 1, 0 },
		{ "sku-a\ngemm.rate\n\nFLOP/s\n7\n{}", two, sizeof(two) - 1, 0 },
		{ "\ngemm.rate\n\nFLOP/s\n0\n{}", two, sizeof(two) - 1, 0 },
		{ "", two, sizeof(two) - 1, 0 },
	};
	CLEANUP(store_closep) struct store *s = store_at("broken.db");
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(baselines_release) struct baselines b = { 0 };
		uint64_t hosts = 99;

		CHECK_EQ(store_put_baseline(s, rows[i].key, rows[i].bytes, rows[i].length, NOW,
					    NULL),
			 0);
		CHECK_EQ(baselines_load(&b, s, 0, &hosts, NULL), 0);
		CHECK_EQ(hosts, rows[i].hosts);
		CHECK_EQ(store_drop_baseline(s, rows[i].key, NULL), 0);
	}
}

static const struct test tests[] = {
	TEST(what_was_learnt_is_there_after_a_restart),
	TEST(only_what_changed_is_written),
	TEST(what_makes_room_leaves_the_store_too),
	TEST(what_was_not_committed_is_written_again),
	TEST(a_baseline_that_nobody_teaches_ends),
	TEST(rows_that_are_broken_are_left_out),
};

TEST_SUITE(tests, .end = judged_done);
