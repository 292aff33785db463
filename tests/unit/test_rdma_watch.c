/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that watches memory: it sees each mark and records the time. Not used with a single core. */
#include "lib/base/clock.h"
#include "probes/rdma/flow_watch.h"
#include "probes/rdma/rdma.h"
#include "tests/unit/test.h"

enum { MARKS = 1000 };
#define PATIENCE_US (20 * USEC_PER_SEC)

static uint64_t now_ns(struct rdma_engine *e)
{
	(void)e;
	return clock_mono_us() * 1000;
}

static const struct rdma_ops ops = { .now_ns = now_ns };
static struct rdma_engine engine = { .ops = &ops };
static volatile unsigned char memory;

/* Whether the mark is told of in the end. */
static bool is_seen(const struct watch *w, unsigned char mark, uint64_t since, uint64_t *ret_ticks)
{
	uint64_t end_us = clock_mono_us() + PATIENCE_US;
	bool seen = false;

	while (!seen && clock_mono_us() < end_us)
		seen = watch_saw(w, mark, since, ret_ticks);
	return seen;
}

static void every_mark_is_seen_after_it_landed(void)
{
	struct watch w = { .engine = &engine, .at = &memory };
	struct core_keep keep;
	unsigned i, seen = 0;

	memory = 0;
	CHECK(core_keep(&keep));
	CHECK_EQ(watch_start(&w, &keep, NULL), 0);
	if (!w.runs) {
		core_let_go(&keep);
		return;
	}
	for (i = 0; i < MARKS && seen == i; i++) {
		unsigned char mark = (unsigned char)(i % 255 + 1);
		uint64_t before = now_ns(&engine), ticks = 0;

		memory = mark;
		seen += is_seen(&w, mark, before, &ticks) && ticks >= before &&
			ticks <= now_ns(&engine);
	}
	CHECK_EQ(seen, MARKS);
	watch_stop(&w);
	CHECK(!w.runs);
	core_let_go(&keep);
}

/* The caller keeps one core, the watcher has the others, and afterwards all is as before. */
static void the_watcher_has_a_core_of_its_own(void)
{
	struct watch w = { .engine = &engine, .at = &memory };
	struct core_keep keep;
	cpu_set_t before, mine, its, after;

	CHECK_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
	memory = 0;
	CHECK(core_keep(&keep));
	CHECK_EQ(watch_start(&w, &keep, NULL), 0);
	CHECK_EQ(w.runs, CPU_COUNT(&before) > 1);
	if (w.runs) {
		CHECK_EQ(sched_getaffinity(0, sizeof(mine), &mine), 0);
		CHECK_EQ(pthread_getaffinity_np(w.thread, sizeof(its), &its), 0);
		CHECK_EQ(CPU_COUNT(&mine), 1);
		CPU_OR(&after, &mine, &its);
		CHECK(CPU_EQUAL(&after, &before));
		CHECK_EQ(CPU_COUNT(&its), CPU_COUNT(&before) - 1);
	}
	watch_stop(&w);
	core_let_go(&keep);
	CHECK_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
	CHECK(CPU_EQUAL(&after, &before));
}

/* With one core alone it does not run, and nobody waits for it. */
static void on_a_lone_core_nobody_watches(void)
{
	struct watch w = { .engine = &engine, .at = &memory };
	struct core_keep keep;
	cpu_set_t before, lone;

	CHECK_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&lone);
	CPU_SET((size_t)sched_getcpu(), &lone);
	CHECK_EQ(sched_setaffinity(0, sizeof(lone), &lone), 0);
	CHECK(core_keep(&keep));
	CHECK_EQ(watch_start(&w, &keep, NULL), 0);
	CHECK(!w.runs);
	watch_stop(&w);
	core_let_go(&keep);
	CHECK_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

/* Beside a caller who may be moved it could be in his way: it does not run. */
static void who_keeps_no_core_is_not_watched(void)
{
	struct watch w = { .engine = &engine, .at = &memory };
	const struct core_keep keep = { .kept = false };

	CHECK_EQ(watch_start(&w, &keep, NULL), 0);
	CHECK(!w.runs);
}

/* The same value of a trip long ago is not this one's. */
static void a_mark_of_before_is_not_taken_for_one_of_now(void)
{
	struct watch w = { .engine = &engine, .at = &memory };
	struct core_keep keep;
	uint64_t ticks = 0;

	memory = 0;
	CHECK(core_keep(&keep));
	CHECK_EQ(watch_start(&w, &keep, NULL), 0);
	if (!w.runs) {
		core_let_go(&keep);
		return;
	}
	CHECK(!watch_saw(&w, 7, 0, &ticks));
	memory = 7;
	CHECK(is_seen(&w, 7, 0, &ticks));
	CHECK(watch_saw(&w, 7, ticks, &ticks));
	CHECK(!watch_saw(&w, 7, ticks + 1, &ticks));
	CHECK(!watch_saw(&w, 8, 0, &ticks));
	watch_stop(&w);
	watch_stop(&w); /* harmless */
	core_let_go(&keep);
}

static const struct test tests[] = {
	TEST(the_watcher_has_a_core_of_its_own),
	TEST(on_a_lone_core_nobody_watches),
	TEST(who_keeps_no_core_is_not_watched),
	TEST(every_mark_is_seen_after_it_landed),
	TEST(a_mark_of_before_is_not_taken_for_one_of_now),
};

TEST_SUITE(tests);
