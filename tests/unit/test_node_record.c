/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/node_record.h"

#include <stdlib.h>

#include "controller/store/store.h"
#include "controller/store/store_actions.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

#define NOW_US UINT64_C(1700000000000000)
#define SERIAL "GPU-1234"

struct world {
	struct store *store;
	struct fleet fleet;
	struct node_records records;
};

static void open_world(struct world *w, const char *name)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", test_dir(), name);

	*w = (struct world){ 0 };
	CHECK_EQ(store_open(path, &w->store, NULL), 0);
	w->records.store = w->store;
}

/* As after a restart of the controller: what is durable is all there is. */
static void forget(struct world *w)
{
	CHECK_EQ(store_commit(w->store, NULL), 0);
	node_records_release(&w->records);
	fleet_release(&w->fleet);
	w->fleet = (struct fleet){ 0 };
}

static int load(struct world *w, struct err *err)
{
	int r = node_records_load_hosts(&w->records, &w->fleet, NOW_US, err);

	return r == 0 ? node_records_load(&w->records, &w->fleet, NOW_US, err) : r;
}

static void close_world(struct world *w)
{
	node_records_release(&w->records);
	fleet_release(&w->fleet);
	store_close(w->store);
}

static struct fleet_node *need(struct world *w, const char *node)
{
	return fleet_need(&w->fleet, node, NOW_US);
}

static void a_record_comes_back_as_it_was(void)
{
	const struct node_record record = {
		.life = { .state = LIFE_VERIFYING, .since_us = 11, .manual = true },
		.override_us = 12,
		.override_until_us = 13,
		.silence_until_us = 14,
		.hold_until_us = 15,
		.ordered_us = 16,
		.wanted_us = 17,
		.born_us = 24,
		.tested_us = 18,
		.marked_us = 23,
		.clear_us = 19,
		.asked_us = 20,
		.drain_us = 21,
		.drained_us = 22,
		.passes = 2,
		.aborted = 3,
	};
	const struct fleet_node *node;
	struct world w;

	open_world(&w, "record");
	need(&w, "a")->record = record;
	CHECK_EQ(node_records_keep(&w.records, need(&w, "a"), NULL), 1);
	forget(&w);
	CHECK_EQ(load(&w, NULL), 0);
	node = fleet_find(&w.fleet, "a");
	CHECK_EQ(node->record.life.state, LIFE_VERIFYING);
	CHECK_EQ(node->record.life.since_us, 11);
	CHECK(node->record.life.manual);
	CHECK_EQ(node->record.override_us, 12);
	CHECK_EQ(node->record.override_until_us, 13);
	CHECK_EQ(node->record.silence_until_us, 14);
	CHECK_EQ(node->record.hold_until_us, 15);
	CHECK_EQ(node->record.ordered_us, 16);
	CHECK_EQ(node->record.wanted_us, 17);
	CHECK_EQ(node->record.born_us, 24);
	CHECK_EQ(node->record.tested_us, 18);
	CHECK_EQ(node->record.marked_us, 23);
	CHECK_EQ(node->record.clear_us, 19);
	CHECK_EQ(node->record.asked_us, 20);
	CHECK_EQ(node->record.drain_us, 21);
	CHECK_EQ(node->record.drained_us, 22);
	CHECK_EQ(node->record.passes, 2);
	CHECK_EQ(node->record.aborted, 3);
	CHECK_EQ(node->out, OUT_OURS | OUT_HOLD);
	close_world(&w);
}

static void only_what_has_changed_is_written(void)
{
	struct world w;

	open_world(&w, "changed");
	CHECK_EQ(node_records_keep(&w.records, need(&w, "b"), NULL), 0); /* as a new one is */
	need(&w, "b")->record.silence_until_us = NOW_US;
	need(&w, "a")->record.passes = 1;
	CHECK_EQ(node_records_keep_all(&w.records, &w.fleet, NULL), 1);
	CHECK_EQ(node_records_keep_all(&w.records, &w.fleet, NULL), 0);
	CHECK_STR(node_records_at(&w.records, 0), "a");
	CHECK_STR(node_records_at(&w.records, 1), "b");
	CHECK(node_records_at(&w.records, 2) == NULL);
	forget(&w);
	CHECK_EQ(load(&w, NULL), 0);
	CHECK_EQ(node_records_keep_all(&w.records, &w.fleet, NULL), 0); /* the store has it */
	need(&w, "a")->record.passes = 0;
	need(&w, "a")->record.born_us = NOW_US; /* it counts after the cordon, too */
	CHECK_EQ(node_records_keep_all(&w.records, &w.fleet, NULL), 1);
	CHECK_STR(node_records_at(&w.records, 0), "a");
	need(&w, "a")->record.born_us = 0;
	CHECK_EQ(node_records_keep_all(&w.records, &w.fleet, NULL), 1);
	CHECK_EQ(node_records_drop(&w.records, "b", NULL), 1);
	CHECK_EQ(node_records_drop(&w.records, "b", NULL), 0);
	forget(&w);
	CHECK_EQ(load(&w, NULL), 0);
	CHECK(node_records_at(&w.records, 0) == NULL);
	CHECK_EQ(w.fleet.n, 0);
	close_world(&w);
}

/* What had passed its test and came again is sooner believed, also after a restart. */
static void a_finding_that_was_exonerated_is_remembered(void)
{
	const struct windows none = { 0 };
	const struct finding_news news = { .check = "gemm.fp64",
					   .subject = "cpu:3",
					   .severity = SEVERITY_FAIL,
					   .windows = &none };
	const struct finding *finding;
	struct finding *f;
	struct world w;

	open_world(&w, "findings");
	f = fleet_note(&w.fleet, need(&w, "a"), &news);
	f->exonerated = 2;
	f->tested_us = NOW_US;
	f->partner = xstrdup("b");
	CHECK_EQ(node_records_keep(&w.records, need(&w, "a"), NULL), 1);
	forget(&w);
	CHECK_EQ(load(&w, NULL), 0);
	finding = fleet_finding(fleet_find(&w.fleet, "a"), "gemm.fp64", "cpu:3");
	CHECK(finding != NULL);
	CHECK_EQ(finding ? finding->exonerated : 0, 2);
	CHECK_EQ(finding ? finding->tested_us : 0, NOW_US);
	CHECK_STR(finding ? finding->partner : NULL, "b");
	close_world(&w);
}

static void cordons_count_for_the_part(void)
{
	uint64_t stamps[PART_CORDONS_MAX];
	struct world w;

	open_world(&w, "parts");
	part_count(fleet_part(&w.fleet, SERIAL), NOW_US);
	part_count(fleet_part(&w.fleet, SERIAL), NOW_US + 1);
	CHECK_EQ(node_records_keep_part(&w.records, &w.fleet, SERIAL, NULL), 0);
	forget(&w);
	CHECK_EQ(load(&w, NULL), 0);
	CHECK_EQ(part_stamps(fleet_part(&w.fleet, SERIAL), stamps), 2);
	CHECK_EQ(stamps[0], NOW_US);
	CHECK_EQ(stamps[1], NOW_US + 1);
	close_world(&w);
}

static void a_record_that_cannot_be_read_is_named(void)
{
	const struct store_life lives[] = {
		{ "a", "{\"state\": \"asleep\", \"since\": 1}", "[]" },
		{ "b", "{\"state\": \"cordoned\", \"since\": 1}", "[]" },
	};
	struct err err = ERR_INIT;
	struct world w;
	size_t i;

	open_world(&w, "unreadable");
	for (i = 0; i < ARRAY_SIZE(lives); i++)
		CHECK_EQ(store_put_life(w.store, &lives[i], NULL), 0);
	CHECK(load(&w, &err) < 0);
	CHECK_HAS(err.msg, "life of a");
	CHECK_EQ(fleet_find(&w.fleet, "b")->record.life.state, LIFE_CORDONED);
	close_world(&w);
}

static const struct test tests[] = {
	TEST(a_record_comes_back_as_it_was),
	TEST(only_what_has_changed_is_written),
	TEST(a_finding_that_was_exonerated_is_remembered),
	TEST(cordons_count_for_the_part),
	TEST(a_record_that_cannot_be_read_is_named),
};

TEST_SUITE(tests);
