/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often good hosts are suspected, and how many slow ones are found:
 *
 *	windows FIRST_SEED JOBS [spread=PERCENT] [small|of64] [exponential] [known] [tested]
 *	        [only=good|slow] [curve]
 *
 * Each job runs three times, each time a window: on good hosts, and with one of them slower by
 * 5 to 25 %, of which nothing else is wrong. Good hosts differ by a gamma distribution of
 * shape 2.4 whose tail is to the slow side (tests/fleet/silicon.py), or, `exponential`, as
 * assay-sim has it (docs/sim.md): a normal distribution, and 6 in 100 slower by an exponential
 * one besides. 30 in 100 jobs on good hosts have uneven sequences, a heavy last stage or
 * pauses besides. `known`: attribution is told how far good hosts differ; else it takes 3.4 %.
 * `curve`: also where a suspect is beyond more or fewer standard deviations.
 *
 * `tested`: attribution is told how fast the hosts are by their own tests, but for 3 in 100.
 * In a job a host differs from its tests by 1 % (one standard deviation; 1 in 200 hosts by 4
 * %), and they from the truth by 0.6 %. Of slow hosts half have become so since the tests. How
 * far good hosts differ is what the tests of FLEET of them show.
 *
 * A window suspects whom two of the last three blame (lib/policy/suspicion.h); the first of a job
 * suspects nobody, and is not counted; the third is not played where neither before blames anybody.
 *
 * A slow host is identifiable when its true rate is below the 0.5th percentile of good hosts
 * and at least 5 % below the next-slowest of its job. A good host may be that slow by the
 * lottery of silicon, the tail: no trace tells it from a sick one, and who finds all such
 * finds it too. So false is who suspects a host that is not identifiable; those of the tail
 * are counted beside it. Tune on seeds below 3000, judge on others that nobody has looked at.
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
	ELSE = 30,	  /* in 100: jobs with another cause */
	MB_MIN = 8,	  /* micro-batches: */
	MB_OF_STAGES = 4, /* so many times the stages, so that the pipeline is mostly full */
	FLEET = 1000,	  /* hosts whose tests say how far they differ */
};

/* How the tests of hosts differ from what they do in a job. */
#define TEST_NOISE 0.006
#define IN_JOB 0.01
#define IN_JOB_WILD 0.04
#define WILD_SHARE 0.005
#define UNTESTED_SHARE 0.03

#define SHAPE 2.4
#define BELOW_NEXT 0.95
#define LOWEST 0.005

/* The exponential tail of assay-sim at a spread of 3.4 %, and the normal rest of it. */
#define TAIL_SHARE 0.06
#define TAIL_MEAN (0.045 / 0.034)

/* Where a suspect must be beyond: the curve of false alarms against what is found. */
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
	double median; /* of tests of good hosts */
	struct silicon good;
};

/* What came of jobs of one kind, at one point. */
struct tally {
	uint64_t windows, jobs, host_windows; /* that suspect somebody good */
	uint64_t false_windows, false_jobs,
		false_host_windows; /* likewise, somebody not of the tail */
	uint64_t else_jobs;	    /* of `jobs`, those with another cause */
	uint64_t found, found_identifiable;
};

struct totals {
	uint64_t windows, jobs, host_windows, else_jobs,
		natural; /* natural: with one of the tail */
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

/* Nearly normal: what twelve chances add up to. */
static double normal(struct draw *draw)
{
	double sum = -6;
	int i;

	for (i = 0; i < 12; i++)
		sum += chance(draw);
	return sum;
}

/* A gamma distribution of mean SHAPE (Marsaglia, Tsang 2000). */
static double gamma_of(struct draw *draw)
{
	double d = SHAPE - 1.0 / 3, c = 1 / sqrt(9 * d);

	for (;;) {
		double x = normal(draw), v = pow(1 + c * x, 3);

		if (v > 0 && log(1 - chance(draw)) < 0.5 * x * x + d - d * v + d * log(v))
			return d * v;
	}
}

/* As assay-sim has it: the normal part is what is left of the variance. */
static double exponential_rate(struct draw *draw, double spread)
{
	double mean = TAIL_MEAN * spread;
	double tail = (2 * TAIL_SHARE - TAIL_SHARE * TAIL_SHARE) * mean * mean;
	double slower = normal(draw) * sqrt(spread * spread - tail) - TAIL_SHARE * mean;

	if (chance(draw) < TAIL_SHARE)
		slower -= mean * log(1 - chance(draw));
	return MAX(1 - slower, 0.5);
}

/* The rate of a good host: 1 in the mean. */
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

/* How fast tests find a host that is so fast in a job; 1 is usual. */
static double test_of(struct draw *draw, double rate, const struct options *options)
{
	double in_job = chance(draw) < WILD_SHARE ? IN_JOB_WILD : IN_JOB;

	rate /= 1 + in_job * normal(draw);
	return rate * (1 + TEST_NOISE * normal(draw)) / options->median;
}

/* What the tests of the fleet say. */
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

/* A job of good hosts; a worker is a host. `rates` becomes those of the hosts; `is_else` stays if
 * there is another cause. */
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

/* One window into the memory of the run at a point. */
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

/* Whom enough windows blame by now: a bit for each worker. */
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

/* What is known of the hosts of a job that were tested when they were so fast. */
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

/* Whom a window blames at each point goes into the memory of the run there; is it anybody? */
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

/* All windows of a job, of which `good` hosts are good, and `far` of the tail. `ret_who`: suspected
 * in the end. */
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

/* Is a host of this rate one that a trace can tell from good ones? */
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
	/* Half have been so when they were tested. */
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

/* A job of good hosts, and the same with a slow one. */
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
