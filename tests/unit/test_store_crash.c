/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The power fails at random moments of a working store: everything it reported
 * as durable is there exactly once, and nothing is incomplete. Each life begins
 * with the disk left by the last one; senders resend what was not acknowledged,
 * and sometimes what was.
 */
#include <stdio.h>
#include <stdlib.h>

#include "controller/fleet/baseline.h"
#include "controller/fleet/hosts.h"
#include "controller/fleet/rules.h"
#include "controller/ingest/ingest.h"
#include "controller/store/store.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/fakes/crash_vfs.h"
#include "tests/unit/random.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

enum {
	HOSTS = 3,
	BOOTS = 2,
	SEQS = 60,
	REPORTS = HOSTS * BOOTS * SEQS,
	CRASHES = 200,
	CRASHES_FULL = 2000,
	LIVES = 8,     /* crashes of one disk */
	CHANGES = 800, /* of the file, between two crashes, at most; a store is made in fewer */
	BATCH = 12,
	TURNS = 40,
	TWIN_EVERY = 4, /* divides LIVES */
};

static const char path[] = "/assay.db";
static const char twin_path[] = "/twin.db";

/* One disk and its senders. */
struct world {
	struct random random;
	bool sent[REPORTS];  /* in the transaction that is open or failed to commit */
	bool acked[REPORTS]; /* its commit said so */
	size_t next[HOSTS];  /* each host sends in order */
	size_t n_missing, n_twice, n_half, n_wrong, n_unreadable;
	size_t n_alarms; /* the store said that it is not as it was left */
	size_t n_acked, n_crashes;
	size_t n_in_file; /* crashes that fell into the copying of the WAL */
};

static struct rules rules_of_test(void)
{
	struct rules rules = { .policy = policy_init() };

	rules.policy.rules = xcalloc(1, sizeof(*rules.policy.rules));
	rules.policy.rules[0] = (struct policy_rule){ .name = xstrdup("slow"),
						      .check = xstrdup("gemm.*"),
						      .k = 2,
						      .n = 3,
						      .action = ACTION_RETEST };
	rules.policy.n_rules = 1;
	return rules;
}

/* Report `i` is the same whenever it is sent; a third of them are bad. */
static struct report report_at(size_t i)
{
	struct random random = random_seeded(i);
	double cores[8];
	struct report r = report_make();
	size_t core;

	for (core = 0; core < ARRAY_SIZE(cores); core++)
		cores[core] = 70 + (double)core / 10;
	if (random_below(&random, 3) == 0)
		cores[random_below(&random, 2)] = 20;
	report_put_cores(&r, cores, ARRAY_SIZE(cores));
	free(r.node);
	free(r.boot_id);
	r.node = xasprintf("host%zu", i / (BOOTS * SEQS));
	r.boot_id = xasprintf("boot%zu", i / SEQS % BOOTS);
	r.seq = i % SEQS + 1;
	return r;
}

static int keep(struct store *s, size_t i)
{
	CLEANUP(hosts_release) struct hosts hosts = { 0 };
	CLEANUP(baselines_release) struct baselines baselines = { 0 };
	CLEANUP(rules_release) struct rules rules = rules_of_test();
	struct ingest in = { .report = report_at(i),
			     .body = { PACK_PLAIN, "{}", 2 },
			     .arrival = { .now_us = 1000, .measured_us = 1000, .fresh = true } };
	int place = ingest_keep(s, &rules, &baselines, &hosts, &in, NULL);

	ingest_release(&in);
	return place;
}

static void commit(struct world *w, struct store *s)
{
	size_t i;

	if (store_commit(s, NULL) < 0)
		return;
	for (i = 0; i < REPORTS; i++) {
		w->n_acked += w->sent[i] && !w->acked[i];
		w->acked[i] |= w->sent[i];
		w->sent[i] = false;
	}
}

/* The next of a host that was not acknowledged; sometimes one that was. */
static size_t choose(struct world *w)
{
	size_t host = random_below(&w->random, HOSTS), first = host * BOOTS * SEQS;
	size_t n = w->next[host];

	if (n == BOOTS * SEQS || (n > 0 && random_below(&w->random, 4) == 0))
		return first + random_below(&w->random, n);
	w->next[host]++;
	return first + n;
}

/* Who has no answer begins again at the first of them. */
static void go_back(struct world *w)
{
	size_t host, n;

	for (host = 0; host < HOSTS; host++) {
		for (n = 0; n < BOOTS * SEQS && w->acked[host * BOOTS * SEQS + n]; n++)
			;
		w->next[host] = n;
	}
	memset(w->sent, 0, sizeof(w->sent));
}

/* One start of the program: until the power fails, or a clean stop. False: it does not start. */
static bool live(struct world *w)
{
	CLEANUP(store_closep) struct store *s = NULL;
	size_t turns = random_below(&w->random, TURNS), turn, n;
	struct store_health health;

	if (store_open(path, &s, NULL) < 0)
		return crash_vfs_dead();
	health = store_health(s);
	w->n_alarms += health.sums > SUMS_NEW || health.lost_commits > 0 || health.damaged > 0;
	for (turn = 0; !crash_vfs_dead() && turn < turns; turn++) {
		for (n = random_below(&w->random, BATCH) + 1; n > 0; n--) {
			size_t i = choose(w);
			int place = keep(s, i);

			if (place < 0) { /* all that was sent is taken back */
				memset(w->sent, 0, sizeof(w->sent));
				return true;
			}
			w->sent[i] = true;
		}
		commit(w, s);
	}
	return true;
}

/* --- what is there afterwards --- */

/* The reports of a store in the order in which they came; how many, or -1 when it is broken. */
static int read_reports(const char *where, size_t order[REPORTS])
{
	CLEANUP(freep)
	char *sql = xasprintf("SELECT (substr(n.node, 5) * %d + substr(b.boot_id, 5)) * %d"
			      " + r.seq - 1 FROM reports r JOIN boots b ON b.id = r.boot"
			      " JOIN nodes n ON n.id = b.node ORDER BY r.id",
			      BOOTS, SEQS);

	return crash_vfs_numbers(where, sql, order, REPORTS);
}

/* A store that the same reports reached and that never crashed holds the same. */
static bool is_as_if_nothing_happened(const char *text, const size_t *order, int n)
{
	CLEANUP(store_closep) struct store *s = NULL;
	CLEANUP(freep) char *twin = NULL;
	int i;

	crash_vfs_remove(twin_path);
	if (store_open(twin_path, &s, NULL) < 0)
		return false;
	for (i = 0; i < n; i++) {
		if (keep(s, order[i]) < 0)
			return false;
	}
	if (store_commit(s, NULL) < 0)
		return false;
	store_close(TAKE(s));
	twin = crash_vfs_dump(twin_path);
	return streq(twin, text);
}

/* All of the last transaction is there, or nothing of it. */
static bool is_half(const struct world *w, const bool present[REPORTS])
{
	size_t some = 0, all = 0, i;

	for (i = 0; i < REPORTS; i++) {
		if (w->acked[i])
			continue;
		all += w->sent[i];
		some += present[i];
		if (present[i] && !w->sent[i])
			return true;
	}
	return some != 0 && some != all;
}

static bool has_acked(const struct world *w)
{
	return memchr(w->acked, true, sizeof(w->acked)) != NULL;
}

static void look(struct world *w)
{
	CLEANUP(freep) char *text = crash_vfs_dump(path);
	bool present[REPORTS] = { false };
	size_t order[REPORTS], i;
	int n = text ? read_reports(path, order) : -1;

	if (n < 0) { /* it is allowed to be no store yet, before anything was acknowledged */
		w->n_unreadable += has_acked(w);
		return;
	}
	for (i = 0; i < (size_t)n; i++) {
		w->n_twice += present[order[i]];
		present[order[i]] = true;
	}
	for (i = 0; i < REPORTS; i++)
		w->n_missing += w->acked[i] && !present[i];
	w->n_half += is_half(w, present);
	/* What is wrong stays wrong: not each time. One without a report may stand between two
	 * versions of the schema. */
	if (n > 0 && w->n_crashes % TWIN_EVERY == 0)
		w->n_wrong += !is_as_if_nothing_happened(text, order, n);
	memcpy(w->acked, present, sizeof(present));
}

static bool all_sent(const struct world *w)
{
	return memchr(w->acked, false, sizeof(w->acked)) == NULL;
}

/* From start to start until the power fails; a disk that is full of all reports is replaced. */
static void one_crash(struct world *w, enum crash_loss loss)
{
	bool good = true;

	if (w->n_crashes % LIVES == 0 || all_sent(w)) {
		crash_vfs_begin(random_next(&w->random));
		memset(w->acked, 0, sizeof(w->acked));
	}
	go_back(w);
	crash_vfs_fail_at(1 + random_below(&w->random, CHANGES));
	while (good && !crash_vfs_dead() && !all_sent(w))
		good = live(w);
	w->n_unreadable += !good;
	w->n_crashes += !good || crash_vfs_dead();
	w->n_in_file += crash_vfs_dead() && crash_vfs_in_file();
	crash_vfs_restart(loss);
	look(w);
}

static struct world crash_many(uint64_t seed, enum crash_loss loss, size_t crashes)
{
	struct world w = { .random = random_seeded(seed) };

	while (w.n_crashes < crashes)
		one_crash(&w, loss);
	crash_vfs_end();
	return w;
}

static void check(const struct world *w)
{
	(void)printf("  %zu crashes, %zu of them while the file was written, "
		     "%zu reports acknowledged\n",
		     w->n_crashes, w->n_in_file, w->n_acked);
	CHECK(w->n_in_file > w->n_crashes / 20);
	CHECK(w->n_acked > w->n_crashes);
	CHECK_EQ(w->n_missing, 0);
	CHECK_EQ(w->n_alarms, 0);
	CHECK_EQ(w->n_twice, 0);
	CHECK_EQ(w->n_half, 0);
	CHECK_EQ(w->n_wrong, 0);
	CHECK_EQ(w->n_unreadable, 0);
}

static void nothing_is_lost_when_only_what_was_synced_survives(void)
{
	struct world w = crash_many(1, CRASH_NONE_SURVIVES, test_times(CRASHES_FULL, CRASHES));

	check(&w);
}

static void nothing_is_lost_when_torn_writes_survive_in_no_order(void)
{
	struct world w = crash_many(2, CRASH_SOME_SURVIVE, test_times(CRASHES_FULL, CRASHES));

	check(&w);
}

/* The same disk finds out a store that syncs too little. */
static void a_careless_store_is_found_out(void)
{
	static const struct {
		const char *synchronous; /* 1: NORMAL, 0: OFF */
		enum crash_loss loss;
	} rows[] = {
		{ "1", CRASH_NONE_SURVIVES },
		{ "1", CRASH_SOME_SURVIVE },
		{ "0", CRASH_NONE_SURVIVES },
		{ "0", CRASH_SOME_SURVIVE },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct world w;

		crash_vfs_force("synchronous", rows[i].synchronous);
		w = crash_many(3 + i, rows[i].loss, CRASHES / 10);
		crash_vfs_force("synchronous", NULL);
		(void)printf("  synchronous = %s: %zu missing, %zu half, %zu unreadable, "
			     "%zu told\n",
			     rows[i].synchronous, w.n_missing, w.n_half, w.n_unreadable, w.n_alarms);
		CHECK(w.n_missing + w.n_unreadable > 0);
	}
}

static const struct test tests[] = {
	TEST(nothing_is_lost_when_only_what_was_synced_survives),
	TEST(nothing_is_lost_when_torn_writes_survive_in_no_order),
	TEST(a_careless_store_is_found_out),
};

/* Pages of the WAL: so that it is often copied to the file. */
static void copy_often(void)
{
	crash_vfs_force("wal_autocheckpoint", "30");
}

TEST_SUITE(tests, .begin = copy_often, .end = judged_done);
