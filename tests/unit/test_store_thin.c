/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of the retention job over a store of real rows. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/store/pack.h"
#include "controller/store/retention_job.h"
#include "controller/store/store.h"
#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"
#include "tests/unit/count_incidents.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

#define MIDNIGHT (UINT64_C(20000) * USEC_PER_DAY)
#define QUARTER (15 * USEC_PER_MIN)

static struct store *store_at(const char *name)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", test_dir(), name);
	struct store *s = NULL;

	CHECK_EQ(store_open(path, &s, NULL), 0);
	return s;
}

/* What one report is. */
struct put {
	const char *node, *boot_id, *profile;
	uint64_t seq, seen_us;
	int level;
	size_t n_bad; /* items that are not pass */
};

static void put(struct store *s, const struct put *p)
{
	struct report report = { .node = xstrdup(p->node),
				 .boot_id = xstrdup(p->boot_id),
				 .profile = xstrdup(p->profile),
				 .seq = p->seq };
	struct verdict_item *items = xcalloc(p->n_bad + 1, sizeof(*items));
	struct verdict v = { .level = p->level, .items = items, .n_items = p->n_bad };
	struct packed body = { PACK_PLAIN, "{}", 2 };
	struct store_report row = {
		.report = &report, .verdict = &v, .merged = &v, .body = &body, .seen_us = p->seen_us
	};
	char subject[32];
	size_t i;

	for (i = 0; i < p->n_bad; i++) {
		(void)snprintf(subject, sizeof(subject), "cpu:%zu", i);
		items[i] = (struct verdict_item){ .check = xstrdup("gemm.rate"),
						  .subject = xstrdup(subject),
						  .level = p->level };
	}
	v.profile = report.profile;
	CHECK_EQ(store_add(s, &row, NULL), 0);
	for (i = 0; i < p->n_bad; i++) {
		free(items[i].check);
		free(items[i].subject);
	}
	free(items);
	report_release(&report);
}

/* Reports of some hosts each 15 minutes for `days` before `end_us`. */
static void put_fleet(struct store *s, const struct put *hosts, size_t n_hosts, uint64_t end_us,
		      unsigned days)
{
	unsigned i, n = days * 96;
	size_t j;

	for (i = 0; i < n; i++) {
		for (j = 0; j < n_hosts; j++) {
			struct put p = hosts[j];

			p.seq += i;
			p.seen_us = end_us - (n - i) * QUARTER + QUARTER / 2;
			put(s, &p);
		}
	}
	CHECK_EQ(store_commit(s, NULL), 0);
}

static void put_days(struct store *s, const struct put *host, uint64_t end_us, unsigned days)
{
	put_fleet(s, host, 1, end_us, days);
}

static struct retention_job job_make(void)
{
	return (struct retention_job){ .retention = retention_init() };
}

/* Steps of no time at all: how many it took. */
static unsigned thin_at(struct retention_job *t, struct store *s, uint64_t now_us)
{
	unsigned steps = 0;
	int r = 1;

	CHECK_EQ(retention_job_begin(t, s, now_us, (now_us - MIDNIGHT / 2) + 1, NULL), 0);
	while (r == 1 && steps < 1000000) {
		r = retention_job_step(t, s, clock_mono_us() + 1, NULL);
		steps++;
	}
	CHECK_EQ(r, 0);
	CHECK_EQ(store_commit(s, NULL), 0);
	return steps;
}

struct left {
	unsigned rows, bodies;
	uint64_t newest_us;
};

static struct left left_in(struct store *s)
{
	struct store_thin rows[STORE_THIN_MAX];
	struct left left = { 0 };
	int64_t after = 0;
	int n, i;

	while ((n = store_thin_read(s, after, rows, NULL)) > 0) {
		for (i = 0; i < n; i++) {
			left.bodies += rows[i].body_bytes > 0;
			left.newest_us = MAX(left.newest_us, rows[i].seen_us);
		}
		left.rows += (unsigned)n;
		after = rows[n - 1].id;
	}
	CHECK_EQ(n, 0);
	return left;
}

static void thirty_days_of_hosts_become_so_many_rows(void)
{
	CLEANUP(store_closep) struct store *s = store_at("days.db");
	CLEANUP(retention_job_release) struct retention_job t = job_make();
	const struct put hosts[] = {
		{ "gpu-1", "b0", "quick", 1, 0, VERDICT_PASS, 0 },
		{ "gpu-2", "b0", "quick", 1, 0, VERDICT_PASS, 0 },
		{ "gpu-3", "b0", "quick", 1, 0, VERDICT_PASS, 0 },
	};
	struct left left;
	unsigned steps;

	put_fleet(s, hosts, ARRAY_SIZE(hosts), MIDNIGHT, 30);
	CHECK_EQ(left_in(s).rows, 3 * 2880);
	steps = thin_at(&t, s, MIDNIGHT);
	/* It yields: each step is short, and none does it all. */
	CHECK(steps > 100);
	left = left_in(s);
	CHECK_EQ(left.rows, 3 * (96 + 6 * 24 + 23));
	CHECK_EQ(left.bodies, 3 * (96 + 6 + 23));
	CHECK_EQ(t.counts.reports, 3 * 2880 - left.rows);
	CHECK_EQ(t.counts.rounds, 1);
	/* The next round finds nothing more to do. */
	thin_at(&t, s, MIDNIGHT);
	CHECK_EQ(left_in(s).rows, left.rows);
	CHECK_EQ(left_in(s).bodies, left.bodies);
	CHECK_EQ(t.counts.rounds, 2);
}

static void what_was_taken_back_is_thinned_by_the_next_round(void)
{
	CLEANUP(store_closep) struct store *s = store_at("back.db");
	CLEANUP(retention_job_release) struct retention_job t = job_make();
	const struct put base = { "gpu-1", "b0", "quick", 1, 0, VERDICT_PASS, 0 };
	unsigned i;

	put_days(s, &base, MIDNIGHT, 30);
	CHECK_EQ(retention_job_begin(&t, s, MIDNIGHT, 1, NULL), 0);
	for (i = 0; i < 50; i++)
		CHECK_EQ(retention_job_step(&t, s, clock_mono_us() + 1, NULL), 1);
	CHECK(left_in(s).rows < 2880);
	store_take_back(s);
	retention_job_failed(&t);
	CHECK(t.again);
	CHECK_EQ(left_in(s).rows, 2880);
	thin_at(&t, s, MIDNIGHT);
	CHECK(!t.again);
	CHECK_EQ(left_in(s).rows, 96 + 6 * 24 + 23);
}

static void the_newest_run_of_a_profile_stays_however_old(void)
{
	CLEANUP(store_closep) struct store *s = store_at("newest.db");
	CLEANUP(retention_job_release) struct retention_job t = job_make();
	const struct put rows[] = {
		{ "gpu-1", "b0", "full", 1, MIDNIGHT - 80 * USEC_PER_DAY, VERDICT_PASS, 0 },
		{ "gpu-1", "b0", "full", 2, MIDNIGHT - 70 * USEC_PER_DAY, VERDICT_PASS, 0 },
		{ "gpu-1", "b0", "quick", 3, MIDNIGHT - USEC_PER_HOUR, VERDICT_PASS, 0 },
	};
	struct store_body bodies[STORE_PROFILES_MAX];
	int n;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		put(s, &rows[i]);
	thin_at(&t, s, MIDNIGHT);
	CHECK_EQ(left_in(s).rows, 2);
	n = store_bodies(s, "gpu-1", bodies, STORE_PROFILES_MAX, NULL);
	CHECK_EQ(n, 2);
	while (n > 0)
		free(bodies[--n].bytes);
}

static const struct store_incident incident = {
	.node = "gpu-1",
	.check = "gemm.rate",
	.subject = "cpu:0",
	.action = "observe",
	.sentence = "cpu:0 is slow",
	.level = VERDICT_FAIL,
	.since_us = MIDNIGHT - 100 * USEC_PER_DAY,
};

static void evidence_stays_until_its_incident_is_closed(void)
{
	CLEANUP(store_closep) struct store *s = store_at("evidence.db");
	CLEANUP(retention_job_release) struct retention_job t = job_make();
	uint64_t opened_us = MIDNIGHT - 99 * USEC_PER_DAY;
	const struct put rows[] = {
		/* Before it, its two, one that passed between, after it, of another check. */
		{ "gpu-1", "b0", "quick", 1, incident.since_us - 1, VERDICT_FAIL, 1 },
		{ "gpu-1", "b0", "quick", 2, incident.since_us, VERDICT_FAIL, 20 },
		{ "gpu-1", "b0", "quick", 3, incident.since_us + 1, VERDICT_PASS, 0 },
		{ "gpu-1", "b0", "quick", 4, opened_us, VERDICT_FAIL, 1 },
		{ "gpu-1", "b0", "quick", 5, opened_us + 1, VERDICT_FAIL, 1 },
		{ "gpu-1", "b0", "full", 6, opened_us, VERDICT_FAIL, 0 },
		{ "gpu-2", "b0", "quick", 1, opened_us, VERDICT_FAIL, 1 },
	};
	const struct put newest[] = {
		{ "gpu-1", "b0", "quick", 7, MIDNIGHT, VERDICT_PASS, 0 },
		{ "gpu-1", "b0", "full", 8, MIDNIGHT, VERDICT_PASS, 0 },
		{ "gpu-2", "b0", "quick", 2, MIDNIGHT, VERDICT_PASS, 0 },
	};
	struct left left;
	size_t i;

	t.retention.nodes_us = 200 * USEC_PER_DAY;
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		put(s, &rows[i]);
	CHECK_EQ(store_put_incident(s, &incident, opened_us, NULL), 0);
	for (i = 0; i < ARRAY_SIZE(newest); i++)
		put(s, &newest[i]);
	thin_at(&t, s, MIDNIGHT);
	left = left_in(s);
	CHECK_EQ(left.rows, 2 + ARRAY_SIZE(newest));
	CHECK_EQ(left.bodies, 2 + ARRAY_SIZE(newest));
	CHECK_EQ(store_close_incident(s, "gpu-1", "gemm.rate", MIDNIGHT, NULL), 0);
	thin_at(&t, s, MIDNIGHT);
	CHECK_EQ(left_in(s).rows, ARRAY_SIZE(newest));
}

static void note_name(void *context, const char *node)
{
	free(*(char **)context);
	*(char **)context = xstrdup(node);
}

static void a_host_not_heard_of_is_forgotten_with_all_that_is_of_it(void)
{
	CLEANUP(store_closep) struct store *s = store_at("gone.db");
	CLEANUP(retention_job_release) struct retention_job t = job_make();
	CLEANUP(freep) char *forgotten = NULL;
	const struct put gone = { "gpu-1", "b0", "quick", 1, 0, VERDICT_FAIL, 3 };
	const struct put there = { "gpu-2", "b1", "quick", 1, MIDNIGHT, VERDICT_PASS, 0 };
	const struct store_window window = {
		.check = (char[]){ "gemm.rate" },
		.subject = (char[]){ "cpu:0" },
		.k = 1,
		.n = 3,
	};
	struct store_window *windows = NULL;
	uint64_t n = 0;

	t.forgotten = note_name;
	t.context = &forgotten;
	put_days(s, &gone, MIDNIGHT - 90 * USEC_PER_DAY - 1, 3);
	CHECK_EQ(store_put_incident(s, &incident, MIDNIGHT - 90 * USEC_PER_DAY, NULL), 0);
	CHECK_EQ(store_put_window(s, "gpu-1", &window, NULL), 0);
	put(s, &there);
	/* A moment before, nothing is lost of it but what age takes. */
	thin_at(&t, s, MIDNIGHT - QUARTER);
	CHECK_EQ(store_count_nodes(s, &n, NULL), 0);
	CHECK_EQ(n, 2);
	thin_at(&t, s, MIDNIGHT);
	CHECK_EQ(store_count_nodes(s, &n, NULL), 0);
	CHECK_EQ(n, 1);
	CHECK_STR(forgotten, "gpu-1");
	CHECK_EQ(left_in(s).rows, 1);
	CHECK_EQ(count_incidents(s, &n, NULL), 0);
	CHECK_EQ(n, 0);
	CHECK_EQ(store_windows(s, "gpu-1", &windows, 8, NULL), 0);
	free(windows);
	/* It comes back as a new one, and takes nothing over. */
	put(s, &(struct put){ "gpu-1", "b0", "quick", 1, MIDNIGHT, VERDICT_PASS, 0 });
	CHECK_EQ(store_count_nodes(s, &n, NULL), 0);
	CHECK_EQ(n, 2);
	CHECK_EQ(left_in(s).rows, 2);
}

/* Numbers of the rows of a heap. */
static unsigned heap_rows(struct store *s, enum store_heap heap)
{
	struct store_old rows[STORE_THIN_MAX];
	int n = store_old_read(s, heap, 0, 0, rows, NULL);

	CHECK(n >= 0 && n < STORE_THIN_MAX);
	return (unsigned)n;
}

static void boots_and_incidents_go_when_nothing_needs_them(void)
{
	CLEANUP(store_closep) struct store *s = store_at("heaps.db");
	CLEANUP(retention_job_release) struct retention_job t = job_make();
	uint64_t old_us = MIDNIGHT - 91 * USEC_PER_DAY;
	struct store_incident other = incident;

	/* The boot of 91 days ago has nothing left; that of yesterday has; the newest is needed. */
	put(s, &(struct put){ "gpu-1", "b0", "quick", 1, old_us, VERDICT_PASS, 0 });
	put(s, &(struct put){ "gpu-1", "b1", "quick", 1, old_us + 1, VERDICT_PASS, 0 });
	put(s, &(struct put){ "gpu-1", "b1", "quick", 2, MIDNIGHT - QUARTER, VERDICT_PASS, 0 });
	put(s, &(struct put){ "gpu-1", "b2", "quick", 1, MIDNIGHT, VERDICT_PASS, 0 });
	CHECK_EQ(store_put_incident(s, &incident, MIDNIGHT - 400 * USEC_PER_DAY, NULL), 0);
	CHECK_EQ(store_close_incident(s, "gpu-1", "gemm.rate", MIDNIGHT - 366 * USEC_PER_DAY, NULL),
		 0);
	CHECK_EQ(store_put_incident(s, &incident, MIDNIGHT - 300 * USEC_PER_DAY, NULL), 0);
	CHECK_EQ(store_close_incident(s, "gpu-1", "gemm.rate", MIDNIGHT - 299 * USEC_PER_DAY, NULL),
		 0);
	other.check = "memory.read_bw";
	CHECK_EQ(store_put_incident(s, &other, MIDNIGHT - 91 * USEC_PER_DAY, NULL), 0);
	CHECK_EQ(heap_rows(s, HEAP_BOOTS), 3);
	CHECK_EQ(heap_rows(s, HEAP_INCIDENTS), 3);
	thin_at(&t, s, MIDNIGHT);
	CHECK_EQ(heap_rows(s, HEAP_BOOTS), 2);
	CHECK_EQ(heap_rows(s, HEAP_INCIDENTS), 2);
	CHECK_EQ(t.counts.boots, 1);
	CHECK_EQ(t.counts.incidents, 1);
}

/* What flaps on one host leaves the past of the others alone. */
static void incidents_of_one_host_make_room_for_themselves(void)
{
	CLEANUP(store_closep) struct store *s = store_at("flaps.db");
	CLEANUP(retention_job_release) struct retention_job t = job_make();
	struct store_incident flap = incident;
	json_t *none = NULL;
	unsigned i;

	CHECK_EQ(store_put_incident(s, &incident, MIDNIGHT - USEC_PER_DAY, NULL), 0);
	CHECK_EQ(store_close_incident(s, "gpu-1", "gemm.rate", MIDNIGHT - USEC_PER_DAY, NULL), 0);
	flap.node = "gpu-2";
	for (i = 0; i < STORE_INCIDENTS_NODE_MAX + 100; i++) {
		CHECK_EQ(store_put_incident(s, &flap, MIDNIGHT - USEC_PER_HOUR + i, NULL), 0);
		CHECK_EQ(store_close_incident(s, "gpu-2", "gemm.rate", MIDNIGHT - USEC_PER_HOUR + i,
					      NULL),
			 0);
	}
	thin_at(&t, s, MIDNIGHT);
	CHECK_EQ(t.counts.incidents, 100);
	/* The oldest of all is of another host, and stays. */
	CHECK_EQ(store_incident(s, 1, &none, NULL), 0);
	json_decref(none);
	CHECK_EQ(store_incident(s, 2, &none, NULL), -ENOENT);
}

static void nothing_was_heard_of_an_incident_and_it_is_closed(void)
{
	CLEANUP(store_closep) struct store *s = store_at("silent.db");
	CLEANUP(retention_job_release) struct retention_job t = job_make();
	uint64_t n = 0;

	put(s, &(struct put){ "gpu-1", "b0", "quick", 1, MIDNIGHT, VERDICT_PASS, 0 });
	CHECK_EQ(store_put_incident(s, &incident, MIDNIGHT - 90 * USEC_PER_DAY, NULL), 0);
	thin_at(&t, s, MIDNIGHT);
	CHECK_EQ(count_incidents(s, &n, NULL), 0);
	CHECK_EQ(n, 1);
	thin_at(&t, s, MIDNIGHT + 1);
	CHECK_EQ(count_incidents(s, &n, NULL), 0);
	CHECK_EQ(n, 0);
}

static void profiles_of_one_host_are_bounded(void)
{
	CLEANUP(store_closep) struct store *s = store_at("profiles.db");
	CLEANUP(retention_job_release) struct retention_job t = job_make();
	unsigned i;

	for (i = 0; i < 3 * STORE_PROFILES_MAX; i++) {
		CLEANUP(freep) char *profile = xasprintf("p%u", i);

		put(s, &(struct put){ "gpu-1", "b0", profile, i + 1,
				      MIDNIGHT - 60 * USEC_PER_DAY + i, VERDICT_PASS, 0 });
	}
	thin_at(&t, s, MIDNIGHT);
	/* Their runs went at the end of this round, their reports go in the next. */
	thin_at(&t, s, MIDNIGHT);
	CHECK_EQ(left_in(s).rows, STORE_PROFILES_MAX);
}

static void a_clock_that_is_years_ahead_for_an_hour_costs_a_day(void)
{
	CLEANUP(store_closep) struct store *s = store_at("clock.db");
	CLEANUP(retention_job_release) struct retention_job t = job_make();
	const struct put base = { "gpu-1", "b0", "quick", 1, 0, VERDICT_PASS, 0 };
	uint64_t year_us = 365 * USEC_PER_DAY;
	int r;

	put_days(s, &base, MIDNIGHT, 30);
	thin_at(&t, s, MIDNIGHT);
	put(s, &(struct put){ "gpu-1", "b0", "quick", 9999, MIDNIGHT + year_us, VERDICT_PASS, 0 });
	/* An hour of the monotonic clock later. */
	CHECK_EQ(retention_job_begin(&t, s, MIDNIGHT + year_us, t.round_mono_us + USEC_PER_HOUR,
				     NULL),
		 0);
	while ((r = retention_job_step(&t, s, clock_mono_us() + USEC_PER_SEC, NULL)) == 1)
		continue;
	CHECK_EQ(r, 0);
	CHECK_EQ(t.round.now_us, MIDNIGHT + USEC_PER_DAY);
	/* Of the last day one an hour is left, but nothing is gone. */
	CHECK_EQ(left_in(s).rows, 1 + 6 * 24 + 23);
	/* The one from a time to be does not end the rounds after. */
	put_days(s, &(struct put){ "gpu-1", "b1", "quick", 1, 0, VERDICT_PASS, 0 },
		 MIDNIGHT + 2 * USEC_PER_DAY, 2);
	thin_at(&t, s, MIDNIGHT + 3 * USEC_PER_DAY);
	CHECK_EQ(left_in(s).rows, 1 + 6 * 24 + 23 + 1 /* the newest run */);
}

static void a_store_that_is_full_of_free_pages_uses_them_again(void)
{
	CLEANUP(store_closep) struct store *s = store_at("pages.db");
	CLEANUP(retention_job_release) struct retention_job t = job_make();
	const struct put base = { "gpu-1", "b0", "quick", 1, 0, VERDICT_PASS, 0 };
	struct store_size empty = { 0 }, full = { 0 }, thinned = { 0 }, again = { 0 };

	CHECK_EQ(store_size(s, &empty, NULL), 0);
	put_days(s, &base, MIDNIGHT, 30);
	CHECK_EQ(store_size(s, &full, NULL), 0);
	thin_at(&t, s, MIDNIGHT + 2 * USEC_PER_DAY);
	CHECK_EQ(store_size(s, &thinned, NULL), 0);
	CHECK(thinned.used - empty.used < (full.used - empty.used) / 2);
	CHECK(thinned.used + thinned.free <= full.used + full.free + 65536);
	put_days(s, &(struct put){ "gpu-1", "b1", "quick", 1, 0, VERDICT_PASS, 0 },
		 MIDNIGHT + 5 * USEC_PER_DAY, 3);
	CHECK_EQ(store_size(s, &again, NULL), 0);
	CHECK(again.free < thinned.free);
	CHECK_EQ(again.used + again.free, thinned.used + thinned.free);
}

static const struct test tests[] = {
	TEST(thirty_days_of_hosts_become_so_many_rows),
	TEST(what_was_taken_back_is_thinned_by_the_next_round),
	TEST(the_newest_run_of_a_profile_stays_however_old),
	TEST(evidence_stays_until_its_incident_is_closed),
	TEST(a_host_not_heard_of_is_forgotten_with_all_that_is_of_it),
	TEST(boots_and_incidents_go_when_nothing_needs_them),
	TEST(incidents_of_one_host_make_room_for_themselves),
	TEST(nothing_was_heard_of_an_incident_and_it_is_closed),
	TEST(profiles_of_one_host_are_bounded),
	TEST(a_clock_that_is_years_ahead_for_an_hour_costs_a_day),
	TEST(a_store_that_is_full_of_free_pages_uses_them_again),
};

TEST_SUITE(tests);
