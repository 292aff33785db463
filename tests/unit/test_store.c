/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/pack.h"
#include "controller/rules.h"
#include "lib/err.h"
#include "lib/xalloc.h"
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
	row.late = place == PLACE_LATE;
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
	struct verdict runs[STORE_PROFILES_MAX] = { { 0 } };

	CHECK_EQ(put_one(s, "boot-a", 1, good), PLACE_NEWEST);
	CHECK_EQ(put_one(s, "boot-a", 2, bad), PLACE_NEWEST);
	CHECK_EQ(store_runs(s, "host1", runs, STORE_PROFILES_MAX, NULL), 1);
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
	CHECK_EQ(store_runs(s, "host1", runs, STORE_PROFILES_MAX, NULL), 1);
	CHECK_EQ(item_level(&runs[0], "gemm.rate", "cpu:3"), VERDICT_PASS);
	verdict_release(&runs[0]);
	CHECK_EQ(store_runs(s, "nobody", runs, STORE_PROFILES_MAX, NULL), 0);
}

static void hosts_are_counted_by_verdict(void)
{
	CLEANUP(store_closep) struct store *s = store_at("counts.db");
	uint64_t counts[4];
	bool known = true;

	CHECK_EQ(put_one(s, "boot-a", 1, bad), PLACE_NEWEST);
	CHECK_EQ(store_count_verdicts(s, counts, NULL), 0);
	CHECK_EQ(counts[VERDICT_FAIL], 1);
	CHECK_EQ(counts[VERDICT_PASS], 0);
	CHECK_EQ(store_has_node(s, "host1", &known, NULL), 0);
	CHECK(known);
	CHECK_EQ(store_has_node(s, "host2", &known, NULL), 0);
	CHECK(!known);
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

static const struct test tests[] = {
	TEST(a_report_has_its_place_among_those_of_its_host),
	TEST(what_was_not_committed_is_not_there),
	TEST(the_last_run_comes_back_with_its_levels),
	TEST(hosts_are_counted_by_verdict),
	TEST(what_is_no_store_is_refused_by_name),
};

int main(void)
{
	int r = TEST_MAIN("store", tests);

	judged_done();
	return r;
}
