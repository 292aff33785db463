/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "controller/fleet/rules.h"
#include "controller/store/pack.h"
#include "controller/store/store_topology.h"
#include "lib/base/err.h"
#include "lib/base/pool.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

static const double good[] = { 70, 71, 72, 69, 70, 71, 72, 70 };
static const double bad[] = { 70, 71, 72, 20, 70, 71, 72, 70 };

static struct store *store_at(const char *name)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", test_dir(), name);
	struct store *s = NULL;
	struct err err = ERR_INIT;

	CHECK_EQ(store_open(path, &s, &err), 0);
	CHECK_STR(err.msg, "");
	return s;
}

static struct report report_of(const char *boot_id, uint64_t seq, const double *cores)
{
	struct report r = report_make();

	free(r.boot_id);
	r.boot_id = xstrdup(boot_id);
	r.seq = seq;
	report_put_cores(&r, cores, 8);
	return r;
}

/* Add it as an ingest would; its place. */
static int put(struct store *s, struct report *report)
{
	struct packed body = { PACK_PLAIN, "{}", 2 };
	const struct verdict *v = judged(report, NULL);
	struct store_report row = {
		.report = report, .verdict = v, .merged = v, .body = &body, .seen_us = 1000
	};
	int place = store_place(s, report, NULL), r;

	if (place == PLACE_DUPLICATE)
		return place;
	row.history = place == PLACE_LATE;
	r = store_add(s, &row, NULL);
	return r < 0 ? r : place;
}

static int put_one(struct store *s, const char *boot_id, uint64_t seq, const double *cores)
{
	struct report report = report_of(boot_id, seq, cores);
	int place = put(s, &report);

	report_release(&report);
	return place;
}

static void a_report_has_its_place_among_those_of_its_host(void)
{
	CLEANUP(store_closep) struct store *s = store_at("place.db");

	CHECK_EQ(put_one(s, "boot-a", 5, good), PLACE_NEWEST);
	CHECK_EQ(put_one(s, "boot-a", 5, good), PLACE_DUPLICATE);
	CHECK_EQ(put_one(s, "boot-a", 4, good), PLACE_LATE);
	CHECK_EQ(put_one(s, "boot-a", 6, good), PLACE_NEWEST);
	/* The host was replaced, or booted: its numbers may begin again. */
	CHECK_EQ(put_one(s, "boot-b", 1, good), PLACE_NEWEST);
	CHECK_EQ(put_one(s, "boot-a", 7, good), PLACE_LATE);
	CHECK_EQ(put_one(s, "boot-b", 2, good), PLACE_NEWEST);
}

static void what_was_not_committed_is_not_there(void)
{
	CLEANUP(store_closep) struct store *s = store_at("commit.db");
	uint64_t n = 0;

	CHECK(!store_dirty(s));
	CHECK_EQ(put_one(s, "boot-a", 1, good), PLACE_NEWEST);
	CHECK(store_dirty(s));
	CHECK_EQ(store_commit(s, NULL), 0);
	CHECK(!store_dirty(s));
	CHECK_EQ(put_one(s, "boot-a", 2, good), PLACE_NEWEST);
	store_close(s);
	s = store_at("commit.db");
	CHECK_EQ(put_one(s, "boot-a", 1, good), PLACE_DUPLICATE);
	CHECK_EQ(put_one(s, "boot-a", 2, good), PLACE_NEWEST);
	CHECK_EQ(store_count_nodes(s, &n, NULL), 0);
	CHECK_EQ(n, 1);
}

static void the_last_run_comes_back_with_its_levels(void)
{
	CLEANUP(store_closep) struct store *s = store_at("runs.db");
	CLEANUP(pool_release) struct pool pool = { 0 };
	struct verdict runs[STORE_RUNS_MAX] = { { 0 } };

	CHECK_EQ(put_one(s, "boot-a", 1, good), PLACE_NEWEST);
	CHECK_EQ(put_one(s, "boot-a", 2, bad), PLACE_NEWEST);
	CHECK_EQ(store_runs(s, "host1", &pool, runs, NULL), 1);
	CHECK_STR(runs[0].profile, "quick");
	CHECK_EQ(runs[0].n_items, 8);
	CHECK_EQ(item_level(&runs[0], "gemm.rate", "cpu:3"), VERDICT_FAIL);
	CHECK_NEAR(item_find(&runs[0], "gemm.rate", "cpu:3")->value, 20, 0);
	CHECK_EQ(item_level(&runs[0], "gemm.rate", "cpu:4"), VERDICT_PASS);
	verdict_release(&runs[0]);
	/* An old one that comes late changes nothing. */
	CHECK_EQ(put_one(s, "boot-a", 3, good), PLACE_NEWEST);
	CHECK_EQ(put_one(s, "boot-z", 1, good), PLACE_NEWEST);
	CHECK_EQ(put_one(s, "boot-a", 4, bad), PLACE_LATE);
	CHECK_EQ(store_runs(s, "host1", &pool, runs, NULL), 1);
	CHECK_EQ(item_level(&runs[0], "gemm.rate", "cpu:3"), VERDICT_PASS);
	verdict_release(&runs[0]);
	CHECK_EQ(store_runs(s, "nobody", &pool, runs, NULL), 0);
}

static void hosts_are_counted_by_verdict(void)
{
	CLEANUP(store_closep) struct store *s = store_at("counts.db");
	uint64_t counts[4];
	bool known = true;

	CHECK_EQ(put_one(s, "boot-a", 1, bad), PLACE_NEWEST);
	CHECK_EQ(store_count_verdicts(s, 0, counts, NULL), 0);
	CHECK_EQ(counts[VERDICT_FAIL], 1);
	CHECK_EQ(counts[VERDICT_PASS], 0);
	/* Silence is neither good nor bad. */
	CHECK_EQ(store_count_verdicts(s, USEC_PER_DAY, counts, NULL), 0);
	CHECK_EQ(counts[VERDICT_FAIL], 0);
	CHECK_EQ(counts[VERDICT_INCONCLUSIVE], 1);
	CHECK_EQ(store_has_node(s, "host1", &known, NULL), 0);
	CHECK(known);
	CHECK_EQ(store_has_node(s, "host2", &known, NULL), 0);
	CHECK(!known);
}

static void open_incident(struct store *s, const char *check, const char *subject, int level)
{
	const struct store_incident incident = {
		.node = "host1",
		.check = check,
		.subject = subject,
		.level = level,
		.action = "retest",
		.sentence = "host1 is slow with others",
		.since_us = 1000,
	};

	CHECK_EQ(store_put_incident(s, &incident, 2000, NULL), 0);
}

/* What the host is said to be by all who look, and that they agree. */
static void check_runs(struct store *s, int wanted)
{
	CLEANUP(pool_release) struct pool pool = { 0 };
	struct verdict runs[STORE_RUNS_MAX];
	int n = store_runs(s, "host1", &pool, runs, NULL), i;

	CHECK_EQ(n, wanted);
	for (i = 0; i < n; i++)
		verdict_release(&runs[i]);
}

static void check_said(struct store *s, int level, const char *sentence)
{
	const struct store_range range = { NULL, 10 };
	CLEANUP(json_freep) json_t *node = NULL;
	struct store_page page = { 0 };
	uint64_t counts[4];
	json_t *one;

	CHECK_EQ(store_node(s, "host1", 3000, &node, NULL), 0);
	CHECK_STR(json_string_value(json_object_get(node, "verdict")), verdict_level_names[level]);
	CHECK_HAS(json_string_value(json_object_get(node, "sentence")), sentence);
	CHECK_EQ(store_nodes(s, &range, 3000, &page, NULL), 0);
	one = json_array_get(page.items, 0);
	CHECK(json_equal(json_object_get(one, "verdict"), json_object_get(node, "verdict")));
	CHECK(json_equal(json_object_get(one, "sentence"), json_object_get(node, "sentence")));
	json_decref(page.items);
	CHECK_EQ(store_count_verdicts(s, 3000, counts, NULL), 0);
	CHECK_EQ(counts[level], 1);
}

static void who_is_bad_with_others_is_bad_for_all_who_look_until_that_is_over(void)
{
	CLEANUP(store_closep) struct store *s = store_at("others.db");

	CHECK_EQ(put_one(s, "boot-a", 1, good), PLACE_NEWEST);
	check_said(s, VERDICT_PASS, "pass");
	/* What its own runs found is in their verdict, or over. */
	open_incident(s, "gemm.rate", "cpu:3", VERDICT_FAIL);
	check_said(s, VERDICT_PASS, "pass");
	open_incident(s, "all_reduce.busbw", "fabric", VERDICT_FAIL);
	check_said(s, VERDICT_FAIL, "fail: host1 is slow with others");
	/* A run of its own, however good, is no answer to that. */
	CHECK_EQ(put_one(s, "boot-a", 2, good), PLACE_NEWEST);
	check_said(s, VERDICT_FAIL, "fail: host1 is slow with others");
	CHECK_EQ(store_close_incident(s, "host1", "all_reduce.busbw", 2500, NULL), 0);
	check_said(s, VERDICT_PASS, "pass");
	open_incident(s, "rnic_pair.write_bw", "rail:3", VERDICT_WARN);
	check_said(s, VERDICT_WARN, "warn: host1");
	/* Its own is worse, and speaks. */
	CHECK_EQ(put_one(s, "boot-a", 3, bad), PLACE_NEWEST);
	check_said(s, VERDICT_FAIL, "cpu:3");
	/* It is another machine, of which one run is known. */
	CHECK_EQ(put_one(s, "boot-a", 4, good), PLACE_NEWEST);
	CHECK_EQ(store_begin_anew(s, "host1", 2600, NULL), 0);
	check_said(s, VERDICT_PASS, "pass");
	check_runs(s, 1);
	/* It was repaired: nothing that was is held against what comes. */
	CHECK_EQ(store_begin_repaired(s, "host1", 2700, NULL), 0);
	check_said(s, VERDICT_PASS, "pass");
	check_runs(s, 0);
}

/* --- topologies --- */

static int put_topology(struct store *s, unsigned n, size_t max)
{
	CLEANUP(freep) char *digest = xasprintf("%064x", n);
	const struct store_topology in = { digest, "{\"v\":1}", 1000 + n };

	return store_add_topology(s, &in, max, NULL);
}

static bool has_topology(struct store *s, unsigned n)
{
	CLEANUP(freep) char *digest = xasprintf("%064x", n);
	bool known = false;

	CHECK_EQ(store_has_topology(s, digest, &known, NULL), 0);
	return known;
}

static void a_topology_comes_back_once_it_is_committed(void)
{
	CLEANUP(store_closep) struct store *s = store_at("topology.db");
	CLEANUP(freep) char *digest = xasprintf("%064x", 1);
	CLEANUP(freep) char *text = NULL;

	CHECK_EQ(put_topology(s, 1, 10), 0);
	store_take_back(s);
	CHECK(!has_topology(s, 1));
	CHECK_EQ(put_topology(s, 1, 10), 0);
	CHECK_EQ(store_commit(s, NULL), 0);
	CHECK_EQ(store_topology(s, digest, &text, NULL), 0);
	CHECK_STR(text, "{\"v\":1}");
	CHECK_EQ(put_topology(s, 1, 10), -EEXIST);
	CHECK_EQ(store_topology(s, "none", &text, NULL), -ENOENT);
}

static void topologies_that_no_host_has_make_room(void)
{
	CLEANUP(store_closep) struct store *s = store_at("room.db");
	struct report report = report_of("boot-a", 1, good);

	free(report.topology);
	report.topology = xasprintf("%064x", 1);
	CHECK_EQ(put_topology(s, 1, 2), 0);
	CHECK_EQ(put_topology(s, 2, 2), 0);
	CHECK_EQ(put(s, &report), PLACE_NEWEST);
	CHECK_EQ(put_topology(s, 3, 2), 0); /* 2 went */
	CHECK(has_topology(s, 1) && !has_topology(s, 2) && has_topology(s, 3));
	CHECK_EQ(put_topology(s, 4, 1), -EDQUOT); /* 3 goes, 1 is in use */
	CHECK(has_topology(s, 1) && !has_topology(s, 4));
	CHECK_EQ(store_commit(s, NULL), 0);
	CHECK(has_topology(s, 1));
	report_release(&report);
}

static void what_is_no_store_is_refused_by_name(void)
{
	CLEANUP(freep) char *path = test_file("text.db", "no store at all, a text file\n");
	struct store *s = NULL;
	struct err err = ERR_INIT;

	CHECK_EQ(store_open(path, &s, &err), -EINVAL);
	CHECK_HAS(err.msg, path);
	CHECK(s == NULL);
	CHECK_EQ(store_open("/nonexistent/x.db", &s, &err), -ENOENT);
}

static void a_store_lies_on_the_vfs_that_is_named(void)
{
	CLEANUP(freep) char *path = xasprintf("%s/vfs.db", test_dir());
	struct store *s = NULL;
	struct err err = ERR_INIT;

	CHECK(store_open_on(path, "none such", &s, &err) < 0);
	CHECK_HAS(err.msg, "none such");
	CHECK(access(path, F_OK) < 0);
	CHECK_EQ(store_open_on(path, "unix-none", &s, &err), 0);
	CHECK_EQ(access(path, F_OK), 0);
	store_close(s);
}

static void the_past_comes_back_in_its_order_and_ends(void)
{
	CLEANUP(store_closep) struct store *s = store_at("past.db");
	CLEANUP(pool_release) struct pool pool = { 0 };
	struct store_past rows[STORE_PAST_MAX];
	const unsigned all = STORE_PAST_MAX + 10;
	int64_t after = 0, before;
	unsigned n = 0, n_bad = 0;
	unsigned seq;

	for (seq = 1; seq <= all; seq++)
		CHECK_EQ(put_one(s, "boot-a", seq, seq % 5 ? good : bad), PLACE_NEWEST);
	do {
		int got, i;

		before = after;
		got = store_past(s, &after, 1000, &pool, rows, NULL);
		for (i = 0; i < got; i++) {
			CHECK_STR(rows[i].node, "host1");
			CHECK_STR(rows[i].profile, "quick");
			CHECK_EQ(rows[i].seen_us, 1000);
			CHECK(i == 0 || rows[i].id > rows[i - 1].id);
			CHECK_EQ(rows[i].n_items > 0, ++n % 5 == 0);
			n_bad += rows[i].n_items > 0;
			free(rows[i].items);
		}
	} while (after != before);
	CHECK_EQ(n, all);
	CHECK_EQ(n_bad, all / 5);
	/* Nothing is as new as that, and the end is found all the same. */
	after = 0;
	CHECK_EQ(store_past(s, &after, 1001, &pool, rows, NULL), 0);
	before = after;
	CHECK_EQ(store_past(s, &after, 1001, &pool, rows, NULL), 0);
	CHECK_EQ(after, before);
	CHECK_EQ(after, all);
}

static bool is_r1(void *context UNUSED, const char *node)
{
	return streq(node, "domain:r1");
}

static void what_stands_stays_open_and_other_checks_too(void)
{
	CLEANUP(store_closep) struct store *s = store_at("others.db");
	static const char *const nodes[] = { "domain:r1", "domain:r2", "setting:a b c" };
	struct store_incident incident = {
		.subject = "x", .level = VERDICT_WARN, .action = "alert", .sentence = "slow"
	};
	CLEANUP(json_freep) json_t *open = NULL, *host = NULL;
	size_t i;

	incident.check = "shared";
	for (i = 0; i < ARRAY_SIZE(nodes); i++) {
		incident.node = nodes[i];
		CHECK_EQ(store_put_incident(s, &incident, 1000, NULL), 0);
	}
	incident.node = "domain:r2";
	incident.check = "all_reduce.busbw";
	CHECK_EQ(store_put_incident(s, &incident, 1000, NULL), 0);
	CHECK_EQ(store_close_others(s, "shared", is_r1, NULL, 2000, NULL), 2);
	CHECK_EQ(store_close_others(s, "shared", is_r1, NULL, 3000, NULL), 0);
	CHECK_EQ(store_open_incidents(s, "domain:r1", &open, NULL), 0);
	CHECK_EQ(json_array_size(open), 1);
	CHECK_EQ(store_open_incidents(s, "domain:r2", &host, NULL), 0);
	CHECK_EQ(json_array_size(host), 1);
}

static const struct test tests[] = {
	TEST(a_report_has_its_place_among_those_of_its_host),
	TEST(what_was_not_committed_is_not_there),
	TEST(the_last_run_comes_back_with_its_levels),
	TEST(hosts_are_counted_by_verdict),
	TEST(who_is_bad_with_others_is_bad_for_all_who_look_until_that_is_over),
	TEST(a_topology_comes_back_once_it_is_committed),
	TEST(topologies_that_no_host_has_make_room),
	TEST(what_is_no_store_is_refused_by_name),
	TEST(the_past_comes_back_in_its_order_and_ends),
	TEST(a_store_lies_on_the_vfs_that_is_named),
	TEST(what_stands_stays_open_and_other_checks_too),
};

TEST_SUITE(tests, .end = judged_done);
