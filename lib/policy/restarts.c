/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/restarts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/xalloc.h"

/*
 * The end of a process is known up to a minute later, when its host looks and reports: it may seem
 * to overlap with its successor.
 */
#define OVERLAP_US (2 * USEC_PER_MIN)

/* The number of ranks of a run that decide whether it is over. */
enum { SAMPLE_MAX = 256 };

/* --- chance --- */

/* log(C(n, k)), from log factorials. */
static double log_choose(const double *f, uint32_t n, uint32_t k)
{
	return f[n] - f[k] - f[n - k];
}

/* `sum` holds P(K = i) for i < *length; adds one more stratum. */
static void add_stratum(double *sum, size_t *length, const double *f,
			const struct restarts_stratum *s)
{
	const uint32_t low = s->died + s->with > s->joins ? s->died + s->with - s->joins : 0;
	const uint32_t high = MIN(s->died, s->with);
	CLEANUP(freep) double *before = xcalloc(*length, sizeof(*before));
	size_t i;
	uint32_t k;

	memcpy(before, sum, *length * sizeof(*before));
	memset(sum, 0, (*length + high) * sizeof(*sum));
	for (k = low; k <= high; k++) {
		const double p = exp(log_choose(f, s->died, k) +
				     log_choose(f, s->joins - s->died, s->with - k) -
				     log_choose(f, s->joins, s->with));

		for (i = 0; i < *length; i++)
			sum[i + k] += p * before[i];
	}
	*length += high;
}

double restarts_chance(const struct restarts_stratum *strata, size_t n, uint32_t died)
{
	CLEANUP(freep) double *factorials = NULL, *sum = NULL;
	size_t i, length = 1, most = 1, joins = 0;
	double chance = 0;

	for (i = 0; i < n; i++) {
		most += MIN(strata[i].died, strata[i].with);
		joins = MAX(joins, strata[i].joins);
	}
	factorials = xcalloc(joins + 1, sizeof(*factorials));
	for (i = 1; i <= joins; i++)
		factorials[i] = factorials[i - 1] + log((double)i);
	sum = xcalloc(most, sizeof(*sum));
	sum[0] = 1;
	for (i = 0; i < n; i++)
		add_stratum(sum, &length, factorials, &strata[i]);
	for (i = length; i-- > died;) /* smallest first */
		chance += sum[i];
	return MIN(chance, 1.0);
}

double restarts_bound(size_t hosts)
{
	return RESTARTS_FALSE_A_YEAR / (RESTARTS_LOOKS_A_YEAR * (double)MAX(hosts, (size_t)1));
}

/* --- runs --- */

/* Makes room for one more than `n`. */
static void *grow(void *items, size_t n, size_t *alloc, size_t size)
{
	if (n < *alloc)
		return items;
	*alloc = MAX(2 * *alloc, (size_t)64);
	return xrealloc(items, *alloc, size);
}

enum outcome { OPEN, SHORT, LONG };

struct run {
	uint64_t from_us, until_us;
	size_t first, n; /* ranks */
	enum outcome outcome;
	bool joined; /* it has a host that the previous run did not have */
};

/* A host is in a run: number `run` of the decided runs of its job, by time. */
struct member {
	const char *node;
	uint32_t run;
};

/* What a job says of a host. */
struct said {
	const char *node;
	struct restarts_stratum stratum;
	uint32_t died, short_died, short_runs; /* short_died: its joins that count in S */
};

struct judging {
	const struct restarts_rank *ranks; /* sorted */
	uint64_t now_us;
	struct run *runs; /* of one job */
	size_t n_runs, runs_alloc;
	struct member *members;
	size_t n_members, members_alloc;
	struct said *said; /* of all jobs */
	size_t n_said, said_alloc;
	size_t last[RESTARTS_RANKS_MAX]; /* of the current run: 1 + index of the rank; 0 or stale: none */
};

static int compare_ranks(const void *a, const void *b)
{
	const struct restarts_rank *x = a, *y = b;
	int r = strcmp(x->job, y->job);

	if (r == 0)
		r = (x->run > y->run) - (x->run < y->run);
	if (r == 0)
		r = (x->from_us > y->from_us) - (x->from_us < y->from_us);
	if (r == 0)
		r = (x->rank > y->rank) - (x->rank < y->rank);
	return r ? r : strcmp(x->node, y->node);
}

static int compare_runs(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return x->from_us != y->from_us ? (x->from_us > y->from_us) - (x->from_us < y->from_us)
					: (x->first > y->first) - (x->first < y->first);
}

static int compare_members(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int r = strcmp(x->node, y->node);

	return r ? r : (x->run > y->run) - (x->run < y->run);
}

static bool looked_at(const struct judging *j, const struct restarts_rank *rank)
{
	return rank->rank >= 0 && rank->rank < RESTARTS_RANKS_MAX && rank->from_us <= j->now_us;
}

/* True if most ranks have ended by then. If the others go on, a restarted rank belongs to it. */
static bool is_over(const struct judging *j, const struct run *run, uint64_t at_us)
{
	const size_t step = run->n / SAMPLE_MAX + 1;
	size_t i, ended = 0, looked = 0;

	for (i = run->first; i < run->first + run->n; i += step) {
		const struct restarts_rank *rank = &j->ranks[i];

		if (!looked_at(j, rank) || j->last[rank->rank] != i + 1)
			continue; /* it was restarted since */
		looked++;
		ended += rank->until_us <= at_us + OVERLAP_US;
	}
	return 2 * ended >= looked;
}

/* True if a rank of the run starts again. Two processes of a host may have the same rank. */
static bool begins_again(const struct judging *j, const struct run *run,
			 const struct restarts_rank *rank)
{
	const size_t last = j->last[rank->rank];
	const struct restarts_rank *before;

	if (last <= run->first || last > run->first + run->n)
		return false;
	before = &j->ranks[last - 1];
	return (!streq(before->node, rank->node) ||
		before->until_us <= rank->from_us + OVERLAP_US) &&
	       is_over(j, run, rank->from_us);
}

static enum outcome outcome_of(const struct run *run, uint64_t now_us)
{
	const uint64_t lasted_us = MIN(run->until_us, now_us) - run->from_us;

	if (lasted_us >= RESTARTS_SHORT_US)
		return LONG;
	return run->until_us > now_us ? OPEN : SHORT;
}

/* Finds the runs of the job whose ranks begin at `first`; returns where the next job's begin. */
static size_t find_runs(struct judging *j, size_t first, size_t n)
{
	struct run *run = NULL;
	size_t i;

	j->n_runs = 0;
	for (i = first; i < n && streq(j->ranks[i].job, j->ranks[first].job); i++) {
		const struct restarts_rank *rank = &j->ranks[i];

		if (run)
			run->n = i - run->first;
		if (!looked_at(j, rank))
			continue;
		if (!run || rank->run != j->ranks[run->first].run || begins_again(j, run, rank)) {
			j->runs = grow(j->runs, j->n_runs, &j->runs_alloc, sizeof(*j->runs));
			run = &j->runs[j->n_runs++];
			*run = (struct run){ rank->from_us, rank->from_us, i, 1, OPEN, false };
		}
		run->until_us = MAX(run->until_us, rank->until_us);
		j->last[rank->rank] = i + 1;
	}
	if (run)
		run->n = i - run->first;
	return i;
}

/* Finds which hosts were in which decided runs; only these count. */
static void find_members(struct judging *j)
{
	size_t i, k, n = 0;

	if (j->n_runs > 0)
		qsort(j->runs, j->n_runs, sizeof(*j->runs), compare_runs);
	j->n_members = 0;
	i = j->n_runs > RESTARTS_RUNS_MAX ? j->n_runs - RESTARTS_RUNS_MAX : 0;
	for (; i < j->n_runs; i++) {
		j->runs[n] = j->runs[i];
		j->runs[n].outcome = outcome_of(&j->runs[n], j->now_us);
		if (j->runs[n].outcome == OPEN)
			continue;
		for (k = j->runs[n].first; k < j->runs[n].first + j->runs[n].n; k++) {
			if (!looked_at(j, &j->ranks[k]))
				continue;
			j->members = grow(j->members, j->n_members, &j->members_alloc,
					  sizeof(*j->members));
			j->members[j->n_members++] =
				(struct member){ j->ranks[k].node, (uint32_t)n };
		}
		n++;
	}
	j->n_runs = n;
	if (j->n_members == 0)
		return;
	qsort(j->members, j->n_members, sizeof(*j->members), compare_members);
	for (i = n = 1; i < j->n_members; i++) /* once, however many ranks it had */
		if (compare_members(&j->members[i], &j->members[n - 1]) != 0)
			j->members[n++] = j->members[i];
	j->n_members = n;
}

/* --- joins --- */

/* True if the host of a member was not in the previous run. */
static bool is_new(const struct judging *j, size_t member)
{
	const struct member *m = &j->members[member];

	if (m->run == 0)
		return false; /* unknown */
	return member == 0 || !streq(m[-1].node, m->node) || m[-1].run + 1 < m->run;
}

/* True if the run counts as a join of a member's host. */
static bool counts(const struct judging *j, size_t run)
{
	return j->runs[run].joined && j->runs[run - 1].outcome == LONG;
}

/* M and S of the job. */
static struct restarts_stratum find_joins(struct judging *j)
{
	struct restarts_stratum all = { 0 };
	size_t i;

	for (i = 0; i < j->n_members; i++)
		if (is_new(j, i))
			j->runs[j->members[i].run].joined = true;
	for (i = 0; i < j->n_runs; i++) {
		if (!counts(j, i))
			continue;
		all.joins++;
		all.died += j->runs[i].outcome == SHORT;
	}
	return all;
}

/* Follows a host from the run of members[*at], up to `end`; *at is then past the runs it stayed. */
static void follow(const struct judging *j, struct said *said, size_t *at, size_t end)
{
	size_t run = j->members[*at].run;
	const bool joins = is_new(j, *at) && counts(j, run);
	uint32_t short_runs = 0, runs = 0;

	if (joins) {
		said->stratum.with++;
		said->short_died += j->runs[run].outcome == SHORT;
	}
	for (; *at < end && j->members[*at].run == run; (*at)++, run++) {
		short_runs += j->runs[run].outcome == SHORT;
		runs++;
	}
	if (joins && short_runs == runs && run < j->n_runs && j->runs[run].outcome == LONG) {
		said->died++;
		said->short_runs += short_runs;
	}
}

static void judge_job(struct judging *j)
{
	const struct restarts_stratum all = find_joins(j);
	size_t i = 0, end;

	if (all.died == 0 || all.died == all.joins)
		return; /* it says nothing about any host */
	while (i < j->n_members) {
		struct said said = { .node = j->members[i].node, .stratum = all };

		for (end = i + 1;
		     end < j->n_members && streq(j->members[end].node, j->members[i].node);)
			end++;
		while (i < end)
			follow(j, &said, &i, end);
		if (said.stratum.with == 0 || said.stratum.with == all.joins)
			continue;
		j->said = grow(j->said, j->n_said, &j->said_alloc, sizeof(*j->said));
		j->said[j->n_said++] = said;
	}
}

/* --- hosts --- */

static int compare_said(const void *a, const void *b)
{
	const struct said *x = a, *y = b;

	return strcmp(x->node, y->node);
}

static int compare_hosts(const void *a, const void *b)
{
	const struct restarts_host *x = a, *y = b;

	return x->chance != y->chance ? (x->chance > y->chance) - (x->chance < y->chance)
				      : strcmp(x->node, y->node);
}

static struct restarts_host host_of(const struct said *said, size_t n, size_t fleet)
{
	CLEANUP(freep) struct restarts_stratum *strata = xcalloc(n, sizeof(*strata));
	struct restarts_host host = { .node = said->node };
	size_t i;

	for (i = 0; i < n && host.joins < RESTARTS_JOINS_MAX; i++) {
		const struct restarts_stratum *s = &said[i].stratum;

		strata[i] = *s;
		host.jobs++;
		host.joins += s->with;
		host.died += said[i].died;
		host.short_runs += said[i].short_runs;
		host.others += s->joins - s->with;
		host.others_died += s->died - said[i].short_died;
	}
	host.chance = restarts_chance(strata, host.jobs, host.died);
	host.named = host.chance <= restarts_bound(fleet);
	return host;
}

static void judge_hosts(struct judging *j, size_t fleet, struct restarts *ret)
{
	size_t i, end;

	if (j->n_said == 0)
		return;
	qsort(j->said, j->n_said, sizeof(*j->said), compare_said);
	ret->hosts = xcalloc(j->n_said, sizeof(*ret->hosts));
	for (i = 0; i < j->n_said; i = end) {
		for (end = i + 1; end < j->n_said && streq(j->said[end].node, j->said[i].node);)
			end++;
		ret->hosts[ret->n++] = host_of(&j->said[i], end - i, fleet);
	}
	qsort(ret->hosts, ret->n, sizeof(*ret->hosts), compare_hosts);
}

void restarts_judge(struct restarts *ret, struct restarts_rank *ranks, size_t n, size_t fleet,
		    uint64_t now_us)
{
	CLEANUP(freep) struct judging *j = xcalloc(1, sizeof(*j));
	size_t i = 0;

	*ret = (struct restarts){ 0 };
	j->ranks = ranks;
	j->now_us = now_us;
	if (n > 1)
		qsort(ranks, n, sizeof(*ranks), compare_ranks);
	while (i < n) {
		i = find_runs(j, i, n);
		find_members(j);
		judge_job(j);
	}
	judge_hosts(j, fleet, ret);
	free(j->runs);
	free(j->members);
	free(j->said);
}

void restarts_release(struct restarts *r)
{
	free(r->hosts);
	*r = (struct restarts){ 0 };
}

char *restarts_words(const struct restarts_host *host)
{
	return xasprintf("of %" PRIu32 " time%s that it joined one of %" PRIu32
			 " healthy job%s, the job died within %d min %" PRIu32
			 " time%s, until it left; with other hosts, %" PRIu32 " of %" PRIu32
			 ": by chance once in %.0f",
			 host->joins, host->joins == 1 ? "" : "s", host->jobs,
			 host->jobs == 1 ? "" : "s", (int)(RESTARTS_SHORT_US / USEC_PER_MIN),
			 host->died, host->died == 1 ? "" : "s", host->others_died, host->others,
			 host->chance > 0 ? 1 / host->chance : INFINITY);
}
