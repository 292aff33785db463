/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how often good hosts are suspected, and how many slow ones are found:
 *
 *	windows FIRST_SEED JOBS [spread=PERCENT] [small|of64] [exponential] [known] [tested]
 *	        [only=good|slow] [curve]
 *
 * Each job runs three windows on good hosts, and three with one host slower by 5 to 25 % and no
 * other fault. Good hosts vary by a gamma distribution of shape 2.4 with its tail on the slow side
 * (tests/fleet/silicon.py) or, with `exponential`, like assay-sim (docs/sim.md): a normal
 * distribution, with 6 in 100 also slower by an exponential one. 30 in 100 jobs on good hosts also
 * have uneven sequences, a heavy last stage or pauses. `known`: attribution gets the true variation
 * of good hosts; otherwise it assumes 3.4 %. `curve`: also prints other thresholds, in standard
 * deviations.
 *
 * `tested`: attribution gets the speeds of hosts from their own tests, except for 3 in 100. In a
 * job a host differs from its tests by 1 % (standard deviation; 1 in 200 hosts by 4 %), and the
 * tests differ from the truth by 0.6 %. Half of the slow hosts became slow after the tests. The
 * variation of good hosts is estimated from the tests of FLEET hosts.
 *
 * A window suspects the hosts that two of the last three windows blame (lib/policy/suspicion.h).
 *The first window of a job suspects no host and is not counted; the third is skipped if the first
 *two blame no host.
 *
 * A slow host is identifiable if its true rate is below the 0.5th percentile of good hosts and at
 * least 5 % below the next-slowest of its job. A good host may be that slow by chance (the tail):
 *no trace can tell it from a sick one, so finding it is not an error. A false suspicion is of a
 *host that is not identifiable; those of the tail are counted separately. Tune on seeds below 3000,
 *and judge on unused seeds.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "attribution/attribution.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/policy/blame.h"
#include "lib/policy/suspicion.h"
#include "tests/attribution/as_trace.h"
#include "tests/attribution/inject.h"

enum {
	WINDOWS = 3,
	STEPS = 20,
	HOSTS_MAX = 64,
	POINTS_MAX = 7,
	PERCENTILE_DRAWS = 100000,
	ELSE = 30,	  /* percent of jobs with another cause */
	MB_MIN = 8,	  /* minimum of micro-batches */
	MB_OF_STAGES = 4, /* micro-batches per stage: keeps the pipeline mostly full */
	FLEET = 1000,	  /* hosts tested to estimate the variation */
};

/* The differences between tests of hosts and their speed in a job. */
#define TEST_NOISE 0.006
#define IN_JOB 0.01
#define IN_JOB_WILD 0.04
#define WILD_SHARE 0.005
#define UNTESTED_SHARE 0.03

#define SHAPE 2.4
#define BELOW_NEXT 0.95
#define LOWEST 0.005

/* The exponential tail of assay-sim at a spread of 3.4 %, and the normal remainder. */
#define TAIL_SHARE 0.06
#define TAIL_MEAN (0.045 / 0.034)

/* Thresholds of the curve of false alarms against detections. */
static const double points[POINTS_MAX] = { 4.0, 5.0, 5.5, LOTTERY_BEYOND, 6.5, 7.0, 8.0 };
enum { USUAL_POINT = 3 };

/* dp and pp of jobs of 16 and 64 hosts, of small ones, and of 64 alone. */
enum { OF_16_AND_64, SMALL, OF_64, SIZES };
static const int shapes[SIZES][5][2] = {
	{ { 16, 1 }, { 8, 2 }, { 4, 4 }, { 16, 4 }, { 8, 8 } },
	{ { 2, 1 }, { 2, 2 }, { 4, 1 }, { 4, 2 }, { 2, 4 } },
	{ { 64, 1 }, { 32, 2 }, { 16, 4 }, { 8, 8 }, { 4, 16 } },
};

struct options {
	uint64_t first, jobs;
	double spread;
	int sizes; /* OF_16_AND_64, ... */
	bool exponential, known, tested, curve, no_good, no_slow;
	double median; /* of the tests of good hosts */
	struct silicon good;
};

/* Results for jobs of one kind at one threshold. */
struct tally {
	uint64_t windows, jobs, host_windows;			/* that suspect a good host */
	uint64_t false_windows, false_jobs, false_host_windows; /* the same without the tail */
	uint64_t else_jobs; /* of `jobs`, those with another cause */
	uint64_t found, found_identifiable;
};

struct totals {
	uint64_t windows, jobs, host_windows, else_jobs,
		natural; /* natural: with a host of the tail */
	uint64_t identifiable;
	struct tally at[POINTS_MAX];
};

struct draw {
	const struct job *job;
	uint64_t what, n;
};

static double chance(struct draw *draw)
{
	return job_chance(draw->job, 7000 + draw->what, draw->n++, 0, 0);
}

/* Approximately normal: the sum of twelve uniform numbers. */
static double normal(struct draw *draw)
{
	double sum = -6;
	int i;

	for (i = 0; i < 12; i++)
		sum += chance(draw);
	return sum;
}

/* Gamma distribution of mean SHAPE (Marsaglia, Tsang 2000). */
static double gamma_of(struct draw *draw)
{
	double d = SHAPE - 1.0 / 3, c = 1 / sqrt(9 * d);

	for (;;) {
		double x = normal(draw), v = pow(1 + c * x, 3);

		if (v > 0 && log(1 - chance(draw)) < 0.5 * x * x + d - d * v + d * log(v))
			return d * v;
	}
}

/* Like assay-sim: the normal part has the rest of the variance. */
static double exponential_rate(struct draw *draw, double spread)
{
	double mean = TAIL_MEAN * spread;
	double tail = (2 * TAIL_SHARE - TAIL_SHARE * TAIL_SHARE) * mean * mean;
	double slower = normal(draw) * sqrt(spread * spread - tail) - TAIL_SHARE * mean;

	if (chance(draw) < TAIL_SHARE)
		slower -= mean * log(1 - chance(draw));
	return MAX(1 - slower, 0.5);
}

/* Returns the rate of a good host; the mean is 1. */
static double good_rate(struct draw *draw, const struct options *options)
{
	if (options->exponential)
		return exponential_rate(draw, options->spread);
	return MAX(1 - options->spread * (gamma_of(draw) - SHAPE) / sqrt(SHAPE), 0.5);
}

static int by_value(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static double lowest_good(const struct options *options)
{
	CLEANUP(freep) struct job *job = xcalloc(1, sizeof(*job));
	CLEANUP(freep) double *rates = xcalloc(PERCENTILE_DRAWS, sizeof(*rates));
	struct draw draw = { job, 1, 0 };
	int i;

	for (i = 0; i < PERCENTILE_DRAWS; i++)
		rates[i] = good_rate(&draw, options);
	qsort(rates, PERCENTILE_DRAWS, sizeof(*rates), by_value);
	return rates[(int)(LOWEST * PERCENTILE_DRAWS)];
}

/* Returns the tested speed of a host with this rate in a job; 1 is usual. */
static double test_of(struct draw *draw, double rate, const struct options *options)
{
	double in_job = chance(draw) < WILD_SHARE ? IN_JOB_WILD : IN_JOB;

	rate /= 1 + in_job * normal(draw);
	return rate * (1 + TEST_NOISE * normal(draw)) / options->median;
}

/* Estimates the variation of good hosts from tests of the fleet. */
static void test_fleet(struct options *options)
{
	CLEANUP(freep) struct job *job = xcalloc(1, sizeof(*job));
	struct draw draw = { job, 4, 0 };
	double tests[FLEET];
	size_t i;

	options->median = 1;
	for (i = 0; i < FLEET; i++)
		tests[i] = test_of(&draw, good_rate(&draw, options), options);
	qsort(tests, FLEET, sizeof(*tests), by_value);
	options->median = tests[FLEET / 2];
	options->good.spread = silicon_spread(tests, FLEET);
	options->good.low = silicon_low(tests, FLEET) / options->median;
}

/* Creates a job on good hosts; a worker is a host. Sets `rates`; clears `is_else` unless there is
 * another cause. */
static void make_job(uint64_t seed, const struct options *options, double rates[static HOSTS_MAX],
		     bool *is_else, struct job *job)
{
	static const char *const others[] = { "sequences", "last-stage", "pauses" };
	struct job sizes = { .tp = 8, .steps = STEPS };
	struct job seeded = { .seed = seed };
	struct draw draw = { &seeded, 2, 0 };
	const char *name = "none";
	size_t shape = (size_t)(chance(&draw) * (double)ARRAY_SIZE(shapes[0]));
	int i;

	sizes.dp = shapes[options->sizes][shape][0];
	sizes.pp = shapes[options->sizes][shape][1];
	sizes.mb = MAX(MB_OF_STAGES * sizes.pp, MB_MIN);
	*is_else = *is_else && chance(&draw) * 100 < ELSE;
	if (*is_else)
		name = others[(size_t)(chance(&draw) * (double)ARRAY_SIZE(others))];
	injection_job(injection_find(name), &sizes, seed, job);
	for (i = 0; i < job->dp * job->pp; i++) {
		rates[i] = good_rate(&draw, options);
		job->slow[i] = (struct job_slow){ i / job->pp, i % job->pp, 0, STEPS, 1 / rates[i] };
	}
	job->n_slow = job->dp * job->pp;
}

/* Adds a window to the run's suspicion at a threshold. */
static void keep(struct suspicion *run, const struct suspects *found, uint64_t number)
{
	static const uint64_t apart_us = 400 * 1000000ull, long_us = 60 * 1000000ull;
	char names[SUSPECTS_MAX][16];
	const char *hosts[SUSPECTS_MAX];
	struct suspicion_suspect suspects[SUSPECTS_MAX];
	struct suspicion_window window = { .id = (int64_t)number + 1,
					   .from_us = (number + 1) * apart_us,
					   .until_us = (number + 1) * apart_us + long_us,
					   .steps = STEPS,
					   .suspects = suspects,
					   .n_suspects = found->n };
	struct err err = ERR_INIT;
	size_t i;

	for (i = 0; i < found->n; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%u", found->list[i].worst);
		hosts[i] = names[i];
		suspects[i] = (struct suspicion_suspect){
			.hosts = &hosts[i],
			.n_hosts = 1,
			.class = found->transfers ? BLAME_LINK : BLAME_COMPUTE,
			.counts = found->counts,
			.identifiable = found->identifiable,
			.share = isfinite(found->share.value) ? found->share.value : 0,
		};
	}
	if (suspicion_add(run, &window, &err) < 0)
		abort();
}

/* Returns a bit for each worker that enough windows blame. */
static uint64_t read_run(const struct suspicion *run, uint64_t number)
{
	CLEANUP(freep) struct suspicion_list *list = xcalloc(1, sizeof(*list));
	const struct policy_jobs jobs = policy_jobs_init();
	uint64_t who = 0;
	size_t i;

	suspicion_read(run, &jobs, NULL, (number + 2) * 400 * 1000000ull, list);
	for (i = 0; i < list->n; i++) {
		if (list->items[i].counts == BLAME_K_OF_N)
			who |= 1ull << strtoul(list->items[i].hosts[0], NULL, 10);
	}
	return who;
}

/* Sets the tested speeds of a job's hosts, given their rates at that time. */
static void test_hosts(const struct job *job, const double *rates, const struct options *options,
		       struct speeds *ret)
{
	struct draw draw = { job, 5, 0 };
	int d, p;

	*ret = (struct speeds){ .good = options->good };
	ret->spans = xcalloc(HOSTS_MAX, sizeof(*ret->spans));
	for (p = 0; p < job->pp; p++) {
		for (d = 0; d < job->dp; d++) {
			double speed = test_of(&draw, rates[d * job->pp + p], options);

			if (chance(&draw) >= UNTESTED_SHARE)
				ret->spans[ret->n++] =
					(struct speeds_span){ job_rank(job, d, p), job->tp, speed };
		}
	}
}

/* Runs a window and adds it to the run at each threshold. Returns whether it blames any host. */
static bool run_window(const struct job *job, const struct options *options,
		       const struct speeds *speeds, uint64_t number,
		       struct suspicion runs[static POINTS_MAX])
{
	struct attribution_options how = ATTRIBUTION_OPTIONS;
	CLEANUP(attribution_freep) struct attribution *a = NULL;
	struct err err = ERR_INIT;
	bool blames = false;
	size_t p;

	how.n_threads = 1;
	how.nodes = false;
	how.spread = options->known    ? options->spread
		     : options->tested ? speeds->good.spread
				       : how.spread;
	how.speeds = options->tested ? speeds : NULL;
	if (attribution_new(job_as_trace(job), &how, &a, &err) < 0)
		abort();
	for (p = 0; p < POINTS_MAX; p++) {
		CLEANUP(suspects_release) struct suspects found = { .n = 0 };
		struct suspects_case of = {
			a->trace,      a->graph,
			&a->cost,      a->slowdown.step_simulated,
			&a->bootstrap, how.min_gain,
			how.share,     { how.spread, a->speeds, options->good.low },
			points[p]
		};

		if (p != USUAL_POINT && !options->curve)
			continue;
		if (p != USUAL_POINT && suspects_find(&of, how.n_threads, &found, &err) < 0)
			abort();
		keep(&runs[p], p == USUAL_POINT ? &a->suspects : &found, number);
		blames |= p == USUAL_POINT ? a->suspects.counts : found.counts;
	}
	return blames;
}

static void count_window(uint64_t good, uint64_t far, struct tally *tally)
{
	tally->windows += good != 0;
	tally->host_windows += (uint64_t)__builtin_popcountll(good);
	tally->false_windows += (good & ~far) != 0;
	tally->false_host_windows += (uint64_t)__builtin_popcountll(good & ~far);
}

/* Runs all windows of a job; `good` hosts are good, `far` ones are of the tail. `ret_who`: the
 * final suspects. */
static void run_job(struct job *job, const struct options *options, const double *tested,
		    const uint64_t of[2], struct totals *totals, uint64_t ret_who[static POINTS_MAX])
{
	struct suspicion runs[POINTS_MAX] = { { NULL, 0 } };
	CLEANUP(speeds_release) struct speeds speeds = { .n = 0 };
	uint64_t seed = job->seed, w;
	bool blamed = false;
	size_t p;

	if (options->tested)
		test_hosts(job, tested, options, &speeds);

	for (w = 0; w < WINDOWS; w++) {
		job->seed = seed + (w << 32);
		if (w + 1 < WINDOWS || blamed)
			blamed |= run_window(job, options, &speeds, w, runs);
		for (p = 0; w > 0 && p < POINTS_MAX; p++) {
			ret_who[p] = read_run(&runs[p], w);
			count_window(ret_who[p] & of[0], of[1], &totals->at[p]);
		}
		totals->windows += w > 0;
		totals->host_windows += w > 0 ? (uint64_t)(job->dp * job->pp) : 0;
	}
	job->seed = seed;
	totals->jobs++;
	for (p = 0; p < POINTS_MAX; p++) {
		totals->at[p].jobs += (ret_who[p] & of[0]) != 0;
		totals->at[p].false_jobs += (ret_who[p] & of[0] & ~of[1]) != 0;
		suspicion_release(&runs[p]);
	}
}

/* Is a host with this rate identifiable? */
static bool is_identifiable(const double *rates, int n, int host, double rate, double lowest)
{
	double next = INFINITY;
	int i;

	for (i = 0; i < n; i++)
		next = i == host ? next : MIN(next, rates[i]);
	return rate < lowest && rate <= BELOW_NEXT * next;
}

static void run_good(struct job *job, const double *rates, double lowest,
		     const struct options *options, struct totals *totals)
{
	uint64_t who[POINTS_MAX], of[2] = { UINT64_MAX, 0 };
	int n = job->dp * job->pp, i;

	for (i = 0; i < n; i++)
		of[1] |= (uint64_t)is_identifiable(rates, n, i, rates[i], lowest) << i;
	totals->natural += of[1] != 0;
	run_job(job, options, rates, of, totals, who);
}

static void run_slow(struct job *job, double *rates, double lowest, const struct options *options,
		     struct totals *totals)
{
	struct draw draw = { job, 3, 0 };
	int n = job->dp * job->pp, slow = (int)(chance(&draw) * n);
	double rate = rates[slow] * (1 - (0.05 + 0.2 * chance(&draw)));
	uint64_t who[POINTS_MAX], of[2] = { ~(1ull << slow), 0 };
	bool identifiable = is_identifiable(rates, n, slow, rate, lowest);
	size_t p;

	job->slow[slow].factor = 1 / rate;
	/* Half were already slow when they were tested. */
	if (chance(&draw) < 0.5)
		rates[slow] = rate;
	run_job(job, options, rates, of, totals, who);
	totals->identifiable += identifiable;
	for (p = 0; p < POINTS_MAX; p++) {
		bool found = who[p] >> slow & 1;

		totals->at[p].found += found;
		totals->at[p].found_identifiable += found && identifiable;
	}
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void show_good(const struct options *options, const struct totals *all)
{
	size_t p;

	printf("good hosts: %llu jobs (%llu with another cause, %llu with a host of the tail), "
	       "%llu "
	       "windows that may suspect\n"
	       "beyond  false of windows  of jobs  of hosts  | with the tail: windows   jobs    "
	       "hosts  "
	       "| jobs with another cause\n",
	       (unsigned long long)all->jobs, (unsigned long long)all->else_jobs,
	       (unsigned long long)all->natural, (unsigned long long)all->windows);
	for (p = 0; p < POINTS_MAX; p++) {
		const struct tally *at = &all->at[p];

		if (p == USUAL_POINT || options->curve)
			printf("%6.1f %14.3f %% %6.3f %% %7.4f %% %22.2f %% %6.2f %% %7.4f %% "
			       "%10llu\n",
			       points[p], percent(at->false_windows, all->windows),
			       percent(at->false_jobs, all->jobs),
			       percent(at->false_host_windows, all->host_windows),
			       percent(at->windows, all->windows), percent(at->jobs, all->jobs),
			       percent(at->host_windows, all->host_windows),
			       (unsigned long long)at->else_jobs);
	}
}

static void show_slow(const struct options *options, const struct totals *all, double lowest)
{
	size_t p;

	printf("slow hosts: %llu, of which %llu (%.1f %%) are identifiable: below %.3f and 5 %% "
	       "below "
	       "the next\n"
	       "beyond  found of the identifiable  of all  jobs that suspect another\n",
	       (unsigned long long)all->jobs, (unsigned long long)all->identifiable,
	       percent(all->identifiable, all->jobs), lowest);
	for (p = 0; p < POINTS_MAX; p++) {
		const struct tally *at = &all->at[p];

		if (p == USUAL_POINT || options->curve)
			printf("%6.1f %24.2f %% %5.2f %% %19.3f %%\n", points[p],
			       percent(at->found_identifiable, all->identifiable),
			       percent(at->found, all->jobs), percent(at->jobs, all->jobs));
	}
}

static bool take_word(const char *word, struct options *options)
{
	if (starts_with(word, "spread="))
		options->spread = strtod(word + 7, NULL) / 100;
	else if (streq(word, "small"))
		options->sizes = SMALL;
	else if (streq(word, "of64"))
		options->sizes = OF_64;
	else if (streq(word, "exponential"))
		options->exponential = true;
	else if (streq(word, "known"))
		options->known = true;
	else if (streq(word, "tested"))
		options->tested = true;
	else if (streq(word, "curve"))
		options->curve = true;
	else if (streq(word, "only=good"))
		options->no_slow = true;
	else if (streq(word, "only=slow"))
		options->no_good = true;
	else
		return false;
	return true;
}

static bool take(int argc, char **argv, struct options *options)
{
	int i;

	if (argc < 3)
		return false;
	options->first = strtoull(argv[1], NULL, 10);
	options->jobs = strtoull(argv[2], NULL, 10);
	for (i = 3; i < argc; i++) {
		if (!take_word(argv[i], options))
			return false;
	}
	return options->jobs > 0;
}

/* Runs a job on good hosts, and the same job with a slow one. */
static void run_seed(uint64_t seed, const struct options *options, double lowest,
		     struct totals totals[2])
{
	CLEANUP(freep) struct job *job = xcalloc(1, sizeof(*job));
	uint64_t before[POINTS_MAX];
	double rates[HOSTS_MAX];
	bool is_else = true;
	size_t p;

	if (!options->no_good) {
		make_job(seed, options, rates, &is_else, job);
		for (p = 0; p < POINTS_MAX; p++)
			before[p] = totals[0].at[p].jobs;
		run_good(job, rates, lowest, options, &totals[0]);
		totals[0].else_jobs += is_else;
		for (p = 0; is_else && p < POINTS_MAX; p++)
			totals[0].at[p].else_jobs += totals[0].at[p].jobs - before[p];
	}
	if (!options->no_slow) {
		is_else = false;
		make_job(seed, options, rates, &is_else, job);
		run_slow(job, rates, lowest, options, &totals[1]);
	}
}

int main(int argc, char **argv)
{
	struct options options = { .spread = 0.034 };
	CLEANUP(freep) struct totals *totals = xcalloc(2, sizeof(*totals));
	double lowest;
	uint64_t seed;

	if (!take(argc, argv, &options)) {
		fprintf(stderr, "usage: windows FIRST_SEED JOBS [spread=PERCENT] [small|of64] "
				"[exponential] "
				"[known] [tested] [only=good|slow] [curve]\n");
		return 2;
	}
	lowest = lowest_good(&options);
	test_fleet(&options);
	for (seed = options.first; seed < options.first + options.jobs; seed++)
		run_seed(seed, &options, lowest, totals);
	if (!options.no_good)
		show_good(&options, &totals[0]);
	if (!options.no_slow)
		show_slow(&options, &totals[1], lowest);
	return 0;
}
