/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs with and without a host, compared with numbers worked out by hand; and fleets of jobs that
 * die for their own reasons, which name no host, and with a host that kills every job on it, which
 * is named.
 */
#include "lib/policy/restarts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

#define T0 (1000 * USEC_PER_DAY)
#define NOW (T0 + 6 * USEC_PER_DAY)

/* --- by hand --- */

enum { RANKS_MAX = 512 };

static struct restarts_rank ranks[RANKS_MAX];
static size_t n_ranks;
static uint64_t clock_us;

/* Adds a run of some minutes on some of the hosts a, b, c ..., after the previous one. */
static void run_of(const char *job, const char *hosts, unsigned minutes)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f", "x", "y" };
	static const char letters[] = "abcdefxy";
	const uint64_t until_us = clock_us + minutes * USEC_PER_MIN;
	int64_t rank;

	for (rank = 0; hosts[rank]; rank++)
		ranks[n_ranks++] = (struct restarts_rank){
			.job = job,
			.node = names[strchr(letters, hosts[rank]) - letters],
			.rank = rank,
			.from_us = clock_us,
			.until_us = until_us
		};
	clock_us = until_us + 5 * USEC_PER_MIN;
}

static void begin(void)
{
	n_ranks = 0;
	clock_us = T0;
}

/* Returns the result for the host; zeroes: none. */
static struct restarts_host found_of(const char *node)
{
	struct restarts found;
	struct restarts_host host = { 0 };
	size_t i;

	restarts_judge(&found, ranks, n_ranks, 2000, NOW);
	for (i = 0; i < found.n; i++)
		if (streq(found.hosts[i].node, node))
			host = found.hosts[i];
	restarts_release(&found);
	return host;
}

static void the_chance_is_that_of_the_hypergeometric_distribution(void)
{
	static const struct restarts_stratum one[] = { { 7, 3, 3 } };
	static const struct restarts_stratum two[] = { { 3, 1, 1 }, { 3, 1, 1 } };
	static const struct restarts_stratum tight[] = { { 4, 4, 2 }, { 5, 2, 5 } };

	CHECK(fabs(restarts_chance(one, 1, 3) - 1.0 / 35) < 1e-12);
	CHECK(fabs(restarts_chance(one, 1, 2) - 13.0 / 35) < 1e-12);
	CHECK(fabs(restarts_chance(one, 1, 0) - 1) < 1e-12);
	CHECK(fabs(restarts_chance(two, 2, 2) - 1.0 / 9) < 1e-12);
	CHECK(fabs(restarts_chance(two, 2, 1) - 5.0 / 9) < 1e-12);
	CHECK(fabs(restarts_chance(tight, 2, 4) - 1) < 1e-12);
	CHECK(restarts_chance(NULL, 0, 0) == 1);
}

/* Joins of other hosts, none of which may be in two. */
static void quiet(const char *job, int joins)
{
	int i;

	for (i = 0; i < joins; i++)
		run_of(job, i % 2 ? "abc" : "abd", 100);
}

static void a_host_that_kills_what_it_joins_is_seen(void)
{
	begin();
	run_of("j", "abc", 600);
	run_of("j", "abx", 7);
	run_of("j", "abx", 9); /* no host joins */
	run_of("j", "aex", 9); /* after a short one */
	run_of("j", "abd", 600);
	run_of("k", "ef", 600);
	run_of("k", "ex", 3);
	run_of("k", "ef", 600);
	run_of("k", "af", 600);
	const struct restarts_host x = found_of("x");

	CHECK_EQ(x.jobs, 1); /* of j all joins died */
	CHECK_EQ(x.joins, 1);
	CHECK_EQ(x.died, 1);
	CHECK_EQ(x.short_runs, 1);
	CHECK_EQ(x.others, 1);
	CHECK_EQ(x.others_died, 0);
	CHECK_NEAR(x.chance, 0.5, 1e-12);
	CHECK(!x.named);
	quiet("j", 3);
	const struct restarts_host more = found_of("x");

	CHECK_EQ(more.died, 2);
	CHECK_EQ(more.short_runs, 4);
	CHECK_NEAR(more.chance, 1.0 / 6, 1e-12);
	CHECK(!found_of("a").node || found_of("a").died == 0);
	CLEANUP(freep) char *words = restarts_words(&more);
	CHECK_STR(words, "of 2 times that it joined one of 2 healthy jobs, the job died "
			 "within 30 min 2 "
			 "times, until it left; with other hosts, 0 of 3: by chance once in 6");
}

static void a_job_on_the_same_hosts_says_nothing(void)
{
	int i;

	begin();
	for (i = 0; i < 20; i++)
		run_of("flaps", "abx", 4);
	run_of("flaps", "abx", 900);
	for (i = 0; i < 20; i++)
		run_of("flaps", "abx", 4);
	CHECK(!found_of("x").node);
}

static void a_time_in_which_a_job_dies_counts_once_and_for_all_that_joined(void)
{
	int i;

	begin();
	quiet("flaps", 4);
	for (i = 0; i < 20; i++)
		run_of("flaps", "efx", 4);
	quiet("flaps", 4);
	CHECK_EQ(found_of("x").died, 1);
	CHECK_EQ(found_of("e").died, 1);
	begin();
	quiet("flaps", 4);
	for (i = 0; i < 20; i++)
		run_of("flaps", i % 2 ? "efx" : "efc", 4);
	quiet("flaps", 4);
	CHECK(!found_of("x").node);
}

static void good_joins_speak_for_a_host(void)
{
	int i;

	begin();
	for (i = 0; i < 4; i++) {
		quiet("j", 2);
		run_of("j", "abx", 5);
	}
	quiet("j", 2);
	CHECK_EQ(found_of("x").joins, 4);
	CHECK_NEAR(found_of("x").chance, 1.0 / 126, 1e-12);
	for (i = 0; i < 4; i++) {
		run_of("j", "abx", 100);
		quiet("j", 1);
	}
	CHECK_EQ(found_of("x").joins, 8);
	CHECK_NEAR(found_of("x").chance, 70.0 / 2380, 1e-12);
}

static void a_join_that_does_not_end_well_without_the_host_is_not_its_own(void)
{
	begin();
	quiet("j", 4);
	run_of("j", "abx", 5);
	run_of("j", "abx", 100); /* with it all the same */
	quiet("j", 4);
	CHECK_EQ(found_of("x").joins, 1);
	CHECK_EQ(found_of("x").died, 0);
	begin();
	quiet("j", 4);
	run_of("j", "abx", 5);
	run_of("j", "abf", 5); /* and it continues without it */
	quiet("j", 4);
	CHECK_EQ(found_of("x").died, 0);
	begin();
	quiet("j", 4);
	run_of("j", "abx", 5); /* not known yet */
	CHECK_EQ(found_of("x").died, 0);
}

static void what_is_younger_than_short_says_nothing_yet(void)
{
	begin();
	quiet("j", 5);
	run_of("j", "abx", 5);
	clock_us = NOW - 10 * USEC_PER_MIN;
	run_of("j", "abc", 60);
	CHECK_EQ(found_of("x").joins, 1);
	CHECK_EQ(found_of("x").died, 0);
	/* A run that began before and still exists was long; one that began later is unknown. */
	begin();
	quiet("j", 5);
	run_of("j", "abx", 5);
	clock_us = NOW - 40 * USEC_PER_MIN;
	run_of("j", "abc", 10000);
	clock_us = NOW + USEC_PER_MIN;
	run_of("j", "abx", 100);
	CHECK_EQ(found_of("x").joins, 1);
	CHECK_EQ(found_of("x").died, 1);
}

static void a_higher_number_or_a_rank_anew_begins_the_next_run(void)
{
	size_t i;

	begin();
	quiet("j", 4);
	run_of("j", "abx", 5);
	clock_us -= 5 * USEC_PER_MIN; /* at once */
	quiet("j", 4);
	CHECK_EQ(found_of("x").died, 1);
	begin();
	quiet("j", 4);
	run_of("j", "xef", 5);
	quiet("j", 4);
	for (i = 12; i < 15; i++)
		ranks[i].rank += 5; /* no rank appears twice: it is all one run */
	CHECK(!found_of("x").node);
	for (i = 0; i < n_ranks; i++)
		ranks[i].run = i < 12 ? 1 + (int64_t)i / 3 : i < 15 ? 6 : 7 + (int64_t)i / 3;
	CHECK_EQ(found_of("x").died, 1);
}

/* One rank, from one minute to another. */
static void rank_of(const char *node, int64_t rank, unsigned from, unsigned until)
{
	ranks[n_ranks++] = (struct restarts_rank){ .job = "j",
						   .node = node,
						   .rank = rank,
						   .from_us = T0 + from * USEC_PER_MIN,
						   .until_us = T0 + until * USEC_PER_MIN };
}

static void ranks_that_are_started_again_one_by_one_begin_no_run(void)
{
	static const char *const others[] = { "a", "d", "e", "f" };
	unsigned i, at;

	begin();
	for (i = 0; i < ARRAY_SIZE(others); i++)
		rank_of(others[i], i, 0, 5000);
	for (i = 0; i < 20; i++) {
		at = i * 100;
		rank_of("b", 4, at, at + 100);
		rank_of("c", 5, at + 3, at + 103);
		rank_of("x", 6, at + 6, at + 16);
		rank_of("x", 6, at + 16, at + 26);
	}
	CHECK(!found_of("x").node);
	/* One rank moves while the others continue: no host joins when all restart. */
	begin();
	quiet("j", 4);
	for (at = 500, i = 0; i < ARRAY_SIZE(others); i++)
		rank_of(others[i], i, at, at + 300);
	rank_of("b", 4, at, at + 90);
	rank_of("x", 4, at + 100, at + 300);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		rank_of(others[i], i, at + 310, at + 315);
	rank_of("x", 4, at + 310, at + 315);
	clock_us = T0 + 1000 * USEC_PER_MIN;
	quiet("j", 3);
	run_of("j", "aby", 5);
	quiet("j", 1);
	CHECK_EQ(found_of("y").died, 1);
	CHECK_EQ(found_of("y").others, 6);
}

static void the_order_of_what_comes_does_not_matter(void)
{
	struct random random = random_seeded(7);
	struct restarts_host before, after;
	size_t i;

	begin();
	for (i = 0; i < 9; i++) {
		quiet(i % 2 ? "j" : "k", 2);
		run_of(i % 2 ? "j" : "k", "abx", i % 4 ? 5 : 50);
	}
	before = found_of("x");
	for (i = n_ranks - 1; i > 0; i--) {
		const size_t other = random_below(&random, i + 1);
		const struct restarts_rank rank = ranks[i];

		ranks[i] = ranks[other];
		ranks[other] = rank;
	}
	after = found_of("x");
	CHECK(before.died > 0 && before.died == after.died && before.joins == after.joins &&
	      before.chance == after.chance);
}

static void so_many_joins_name_a_host(void)
{
	unsigned joins;

	CHECK_NEAR(restarts_bound(2000), 1 / 730000.0, 1e-15);
	CHECK(restarts_bound(0) == restarts_bound(1));
	begin();
	for (joins = 0; joins < 30 && !found_of("x").named; joins++) {
		quiet("j", 4); /* three, for after it a join does not count */
		run_of("j", "abx", 5);
		quiet("j", 1);
	}
	printf("with four joins of others for each it is named after %u\n", joins);
	CHECK(joins >= 5 && joins <= 9);
}

/* --- fleets --- */

enum { HOSTS = 2000, DAYS = 90, WARM_DAYS = 8, JOBS = 40, SIZE_MAX_HOSTS = 128, SPARES = 24 };

/* How a job gets hosts when it restarts. */
enum places { FIXED, SWAP, SPARE, REDRAW, PLACES };

struct fleet_job {
	char name[16];
	enum places places;
	size_t size;
	unsigned hosts[SIZE_MAX_HOSTS];
	uint64_t deploy_us; /* another version of its code begins */
	bool flaps;	    /* this version dies each time */
	double own;	    /* fraction of other runs that die soon on their own */
};

struct fleet_world {
	struct random random;
	char names[HOSTS][12];
	bool busy[HOSTS];
	struct fleet_job jobs[JOBS];
	struct restarts_rank *rows;
	size_t n_rows, alloc;
	uint64_t outage_us; /* no job of the fleet runs for some hours */
	int bad;	    /* host; -1: none */
	unsigned killed;    /* runs that the bad host killed */
};

static uint64_t after(struct fleet_world *w, uint64_t mean_us)
{
	return (uint64_t)(-log(random_unit(&w->random)) * (double)mean_us);
}

static unsigned pick(struct fleet_world *w, bool spare)
{
	unsigned host, tries = 0;

	do
		host = (unsigned)random_below(&w->random, spare && tries++ < 100 ? SPARES : HOSTS);
	while (w->busy[host]);
	w->busy[host] = true;
	return host;
}

static void place_all(struct fleet_world *w, struct fleet_job *job)
{
	size_t i;

	for (i = 0; i < job->size; i++)
		w->busy[job->hosts[i]] = false;
	for (i = 0; i < job->size; i++)
		job->hosts[i] = pick(w, false);
}

static void place_one(struct fleet_world *w, struct fleet_job *job)
{
	unsigned *host = &job->hosts[random_below(&w->random, job->size)];
	const unsigned gone = *host;

	*host = pick(w, job->places == SPARE);
	w->busy[gone] = false;
}

/* Another version: it is resubmitted, on other hosts unless it has dedicated ones, and one in six
 * has a bug. */
static void deploy(struct fleet_world *w, struct fleet_job *job, uint64_t now_us)
{
	job->flaps = random_below(&w->random, 6) == 0;
	job->deploy_us = now_us + after(w, job->flaps ? 4 * USEC_PER_HOUR : 3 * USEC_PER_DAY);
	if (job->places != FIXED)
		place_all(w, job);
}

static bool has_bad(const struct fleet_world *w, const struct fleet_job *job)
{
	size_t i;

	for (i = 0; w->bad >= 0 && i < job->size; i++)
		if (job->hosts[i] == (unsigned)w->bad)
			return true;
	return false;
}

static uint64_t lasts(struct fleet_world *w, const struct fleet_job *job, uint64_t now_us)
{
	const uint64_t soon_us = 2 * USEC_PER_MIN + random_below(&w->random, 18 * USEC_PER_MIN);
	const bool outage = now_us >= w->outage_us && now_us < w->outage_us + 3 * USEC_PER_HOUR;
	uint64_t long_us;

	if (has_bad(w, job)) {
		w->killed++;
		return soon_us;
	}
	if (job->flaps || outage || random_unit(&w->random) < job->own)
		return soon_us;
	long_us = after(w, 18 * USEC_PER_HOUR);
	return MIN(long_us, MAX(job->deploy_us, now_us + 2 * USEC_PER_MIN) - now_us);
}

static void add_run(struct fleet_world *w, const struct fleet_job *job, uint64_t from_us,
		    uint64_t until_us)
{
	size_t i;

	if (w->n_rows + job->size > w->alloc) {
		w->alloc = 2 * w->alloc + SIZE_MAX_HOSTS;
		w->rows = xrealloc(w->rows, w->alloc, sizeof(*w->rows));
	}
	for (i = 0; i < job->size; i++)
		w->rows[w->n_rows++] = (struct restarts_rank){ .job = job->name,
							       .node = w->names[job->hosts[i]],
							       .rank = (int64_t)i,
							       .from_us = from_us,
							       .until_us = until_us };
}

static void begin_fleet(struct fleet_world *w, uint64_t seed, int bad)
{
	static const size_t sizes[] = { 4, 8, 16, 32, 64, 128 };
	size_t i, taken = 0;

	*w = (struct fleet_world){ .random = random_seeded(seed), .bad = bad };
	for (i = 0; i < HOSTS; i++)
		(void)snprintf(w->names[i], sizeof(w->names[i]), "host-%04zu", i);
	for (i = 0; i < JOBS; i++) {
		struct fleet_job *job = &w->jobs[i];

		(void)snprintf(job->name, sizeof(job->name), "job-%zu", i);
		job->places = (enum places)(i % PLACES);
		job->size = sizes[random_below(&w->random, ARRAY_SIZE(sizes))];
		if (taken + job->size > HOSTS * 9 / 10)
			job->size = sizes[0];
		taken += job->size;
		job->own = 0.3 * random_unit(&w->random) * random_unit(&w->random);
		while (place_all(w, job), job->places == FIXED && has_bad(w, job))
			;
	}
}

static void next_run(struct fleet_world *w, struct fleet_job *job, uint64_t now_us,
		     uint64_t lasted_us)
{
	if (now_us >= job->deploy_us)
		deploy(w, job, now_us);
	else if (job->places == REDRAW)
		place_all(w, job);
	else if (job->places != FIXED &&
		 (lasted_us < RESTARTS_SHORT_US || random_below(&w->random, 2)))
		place_one(w, job);
}

/* All runs of some days, of the jobs in order of time. */
static void run_fleet(struct fleet_world *w, unsigned days)
{
	uint64_t ends_us[JOBS] = { 0 }, lasted_us[JOBS] = { 0 };
	size_t i, next;

	w->outage_us = T0 + after(w, 10 * USEC_PER_DAY);
	while (true) {
		for (next = 0, i = 1; i < JOBS; i++)
			if (ends_us[i] < ends_us[next])
				next = i;
		const uint64_t now_us =
			MAX(ends_us[next], T0) + random_below(&w->random, 10 * USEC_PER_MIN);

		if (now_us > T0 + days * USEC_PER_DAY)
			return;
		if (now_us > w->outage_us + 3 * USEC_PER_HOUR)
			w->outage_us = now_us + after(w, 10 * USEC_PER_DAY);
		next_run(w, &w->jobs[next], now_us, lasted_us[next]);
		lasted_us[next] = lasts(w, &w->jobs[next], now_us);
		ends_us[next] = now_us + lasted_us[next];
		add_run(w, &w->jobs[next], now_us, ends_us[next]);
	}
}

struct looked {
	size_t named;		/* hosts, each once, without the bad one */
	size_t looks, least[3]; /* with a probability of at most 0.01, 0.001, 0.0001 */
	double bad_days;	/* until the bad one was named; -1: it was not */
	unsigned bad_joins, bad_runs;
};

static void look_at_host(const struct fleet_world *w, const struct restarts_host *host,
			 unsigned day, bool *named, struct looked *ret)
{
	static const double levels[] = { 0.01, 0.001, 0.0001 };
	const long number = strtol(host->node + strlen("host-"), NULL, 10);
	size_t i;

	if (number == w->bad) {
		if (host->named && ret->bad_days < 0) {
			ret->bad_days = day;
			ret->bad_joins = host->died;
			ret->bad_runs = host->short_runs;
		}
		return;
	}
	ret->looks++;
	for (i = 0; i < ARRAY_SIZE(levels); i++)
		ret->least[i] += host->chance <= levels[i];
	ret->named += host->named && !named[number];
	named[number] |= host->named;
}

/* Once a day, like the controller. */
static struct looked look_daily(const struct fleet_world *w, unsigned first, unsigned days)
{
	CLEANUP(freep) struct restarts_rank *part = xcalloc(w->n_rows + 1, sizeof(*part));
	CLEANUP(freep) bool *named = xcalloc(HOSTS, sizeof(*named));
	struct looked ret = { .bad_days = -1 };
	struct restarts found;
	unsigned day;
	size_t i, n;

	for (day = first; day <= days; day++) {
		const uint64_t now_us = T0 + day * USEC_PER_DAY;
		const uint64_t since_us = now_us - MIN(now_us, RESTARTS_WINDOW_US);

		for (n = i = 0; i < w->n_rows; i++)
			if (w->rows[i].from_us <= now_us && w->rows[i].until_us >= since_us)
				part[n++] = w->rows[i];
		restarts_judge(&found, part, n, HOSTS, now_us);
		for (i = 0; i < found.n; i++)
			look_at_host(w, &found.hosts[i], day, named, &ret);
		restarts_release(&found);
	}
	return ret;
}

/*
 * What a plain count would name: hosts in many of the last week's short runs, each of which
 * includes a host with a probability given by its size (tail of a Poisson distribution). It shows
 * that these fleets are difficult.
 */
static size_t count_plainly(const struct fleet_world *w)
{
	CLEANUP(freep) unsigned *in = xcalloc(HOSTS, sizeof(*in));
	const uint64_t since_us = T0 + (WARM_DAYS + DAYS) * USEC_PER_DAY - RESTARTS_WINDOW_US;
	double expected = 0;
	size_t i, named = 0;

	for (i = 0; i < w->n_rows; i++) {
		const struct restarts_rank *row = &w->rows[i];

		if (row->from_us < since_us || row->until_us - row->from_us >= RESTARTS_SHORT_US)
			continue;
		in[strtol(row->node + strlen("host-"), NULL, 10)]++;
		expected += 1.0 / HOSTS;
	}
	for (i = 0; i < HOSTS; i++) {
		double term = exp(-expected), below = 0;
		unsigned k;

		for (k = 0; k < in[i]; k++) {
			below += term;
			term *= expected / (k + 1);
		}
		named += 1 - below <= restarts_bound(HOSTS);
	}
	return named;
}

static void nobody_is_named_where_jobs_die_by_themselves(void)
{
	static struct fleet_world w;
	const size_t fleets = test_times(24, 1);
	struct looked all = { 0 };
	size_t i, k, plain = 0;

	for (i = 0; i < fleets; i++) {
		struct looked one;

		begin_fleet(&w, 1000 + i, -1);
		run_fleet(&w, WARM_DAYS + DAYS);
		one = look_daily(&w, WARM_DAYS, WARM_DAYS + DAYS);
		all.named += one.named;
		all.looks += one.looks;
		for (k = 0; k < ARRAY_SIZE(all.least); k++)
			all.least[k] += one.least[k];
		plain += count_plainly(&w);
		free(w.rows);
	}
	printf("%zu fleets of %d hosts, %d days: %zu named; of %zu looks %.2g at 0.01, %.2g at "
	       "0.001, %.2g at 0.0001\n",
	       fleets, HOSTS, DAYS, all.named, all.looks, (double)all.least[0] / (double)all.looks,
	       (double)all.least[1] / (double)all.looks, (double)all.least[2] / (double)all.looks);
	printf("a plain count names %zu on the last day\n", plain);
	CHECK(plain > 0);
	CHECK((double)all.named <= RESTARTS_FALSE_A_YEAR * (double)fleets * DAYS / 365);
	CHECK((double)all.least[0] <= 0.01 * (double)all.looks);
	CHECK((double)all.least[1] <= 0.001 * (double)all.looks);
}

static int compare_numbers(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

enum { BAD_FLEETS_MAX = 24 };

static void a_host_that_kills_its_jobs_is_named(void)
{
	static struct fleet_world w;
	const size_t fleets = test_times(BAD_FLEETS_MAX, 2);
	double days[BAD_FLEETS_MAX], runs[BAD_FLEETS_MAX];
	size_t i, named = 0, others = 0;

	for (i = 0; i < fleets; i++) {
		struct looked one;

		/* One of the spares: a restart picks it often. */
		begin_fleet(&w, 2000 + i, i % 2 ? 3 : 1234);
		run_fleet(&w, 30);
		one = look_daily(&w, 1, 30);
		others += one.named;
		printf("fleet %zu: %u runs killed in 30 days; ", i, w.killed);
		if (one.bad_days >= 0) {
			printf("named on day %.0f, after %u joins, %u runs\n", one.bad_days,
			       one.bad_joins, one.bad_runs);
			days[named] = one.bad_days;
			runs[named++] = one.bad_runs;
		} else {
			printf("not named\n");
		}
		free(w.rows);
	}
	CHECK_EQ(others, 0);
	CHECK(named * 2 >= fleets);
	if (named == 0)
		return;
	qsort(days, named, sizeof(*days), compare_numbers);
	qsort(runs, named, sizeof(*runs), compare_numbers);
	printf("%zu of %zu named; median on day %.0f, after %.0f short runs\n", named, fleets,
	       days[named / 2], runs[named / 2]);
}

static const struct test tests[] = {
	TEST(the_chance_is_that_of_the_hypergeometric_distribution),
	TEST(a_host_that_kills_what_it_joins_is_seen),
	TEST(a_job_on_the_same_hosts_says_nothing),
	TEST(a_time_in_which_a_job_dies_counts_once_and_for_all_that_joined),
	TEST(good_joins_speak_for_a_host),
	TEST(a_join_that_does_not_end_well_without_the_host_is_not_its_own),
	TEST(what_is_younger_than_short_says_nothing_yet),
	TEST(a_higher_number_or_a_rank_anew_begins_the_next_run),
	TEST(ranks_that_are_started_again_one_by_one_begin_no_run),
	TEST(the_order_of_what_comes_does_not_matter),
	TEST(so_many_joins_name_a_host),
	TEST(nobody_is_named_where_jobs_die_by_themselves),
	TEST(a_host_that_kills_its_jobs_is_named),
};

TEST_SUITE(tests);
