/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often good hosts are suspected, and how many slow ones are found:
 *
 *	windows FIRST_SEED JOBS [spread=PERCENT] [small]
 *
 * Each job runs three times, each time a window: on good hosts, and with one of them slower by
 * 5 to 25 %, of which nothing else is wrong. Good hosts differ by a gamma distribution of shape 2.4
 *whose tail is to the slow side (tests/fleet/silicon.py). 30 in 100 jobs on good hosts have uneven
 *sequences, a heavy last stage or pauses besides. A host is suspected when it counts in two of
 *three windows.
 *
 * A slow host is identifiable when its true rate is below the 0.5th percentile of good hosts and at
 * least 5 % below the next-slowest of its job. A good host may be that slow by the lottery of
 * silicon: no trace tells it from a sick one, so such are counted apart, as the tail. Tune on seeds
 *below 1000, judge on seeds from 5000 on.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "attribution/attribution.h"
#include "attribution/crew.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/attribution/as_trace.h"
#include "tests/attribution/inject.h"

enum {
	WINDOWS = 3,
	NEEDED = 2,
	STEPS = 20,
	HOSTS_MAX = 64,
	GAINS_MAX = 6,
	PERCENTILE_DRAWS = 20000,
	ELSE = 30,	  /* in 100: jobs with another cause */
	MB_MIN = 8,	  /* micro-batches: */
	MB_OF_STAGES = 4, /* so many times the stages, so that the pipeline is mostly full */
};

#define SHAPE 2.4
#define BELOW_NEXT 0.95
#define LOWEST 0.005

/* Gains that a suspect must reach: the curve of false alarms against what is found. */
static const double gains[GAINS_MAX] = { 0.02, 0.03, 0.04, 0.06, 0.08, 0.10 };

/* dp and pp of jobs of 16 and 64 hosts, and of small ones. */
static const int shapes[2][5][2] = {
	{ { 16, 1 }, { 8, 2 }, { 4, 4 }, { 16, 4 }, { 8, 8 } },
	{ { 2, 1 }, { 2, 2 }, { 4, 1 }, { 4, 2 }, { 2, 4 } },
};

struct options {
	uint64_t first, jobs;
	double spread;
	bool small;
};

/* What came of jobs of one kind. */
struct tally {
	int jobs, windows, else_jobs, hosts; /* hosts: of all windows */
	int false_windows[GAINS_MAX], false_jobs[GAINS_MAX], false_else[GAINS_MAX];
	int false_near[GAINS_MAX]; /* false jobs but those whose host is as slow as an identifiable one */
	int slow, identifiable, found[GAINS_MAX], found_identifiable[GAINS_MAX];
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

/* The rate of a good host: 1 in the mean. */
static double good_rate(struct draw *draw, double spread)
{
	return MAX(1 - spread * (gamma_of(draw) - SHAPE) / sqrt(SHAPE), 0.5);
}

static int by_value(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static double lowest_good(double spread)
{
	CLEANUP(freep) struct job *job = xcalloc(1, sizeof(*job));
	CLEANUP(freep) double *rates = xcalloc(PERCENTILE_DRAWS, sizeof(*rates));
	struct draw draw = { job, 1, 0 };
	int i;

	for (i = 0; i < PERCENTILE_DRAWS; i++)
		rates[i] = good_rate(&draw, spread);
	qsort(rates, PERCENTILE_DRAWS, sizeof(*rates), by_value);
	return rates[(int)(LOWEST * PERCENTILE_DRAWS)];
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

	sizes.dp = shapes[options->small][shape][0];
	sizes.pp = shapes[options->small][shape][1];
	sizes.mb = MAX(MB_OF_STAGES * sizes.pp, MB_MIN);
	*is_else = *is_else && chance(&draw) * 100 < ELSE;
	if (*is_else)
		name = others[(size_t)(chance(&draw) * (double)ARRAY_SIZE(others))];
	injection_job(injection_find(name), &sizes, seed, job);
	for (i = 0; i < job->dp * job->pp; i++) {
		rates[i] = good_rate(&draw, options->spread);
		job->slow[i] = (struct job_slow){ i / job->pp, i % job->pp, 0, STEPS, 1 / rates[i] };
	}
	job->n_slow = job->dp * job->pp;
}

/* Whom a window suspects, at each gain: a bit for each worker. */
static void run_window(const struct job *job, uint64_t ret_suspects[static GAINS_MAX])
{
	struct attribution_options options = ATTRIBUTION_OPTIONS;
	CLEANUP(attribution_freep) struct attribution *a = NULL;
	struct err err = ERR_INIT;
	size_t g, i;

	options.n_threads = crew_threads();
	options.nodes = false;
	if (attribution_new(job_as_trace(job), &options, &a, &err) < 0)
		abort();
	for (g = 0; g < GAINS_MAX; g++) {
		struct suspects_case of = { a->trace,	   a->graph,
					    &a->cost,	   a->slowdown.step_simulated,
					    &a->bootstrap, gains[g] };
		CLEANUP(suspects_release) struct suspects found = { .n = 0 };

		ret_suspects[g] = 0;
		if (suspects_find(&of, options.n_threads, &found, &err) < 0)
			abort();
		for (i = 0; i < found.n && found.counts && a->cause.primary != CAUSE_REJECTED; i++)
			ret_suspects[g] |= 1ull << found.list[i].worst;
	}
}

/* The hosts that are suspected in two of three windows; adds to the windows that accuse good ones. */
static void run_job(struct job *job, uint64_t good, int false_windows[static GAINS_MAX],
		    uint64_t ret_suspects[static GAINS_MAX])
{
	uint64_t seen[WINDOWS][GAINS_MAX], seed = job->seed;
	size_t g, w;

	for (w = 0; w < WINDOWS; w++) {
		job->seed = seed + ((uint64_t)w << 32);
		run_window(job, seen[w]);
	}
	job->seed = seed;
	for (g = 0; g < GAINS_MAX; g++) {
		ret_suspects[g] = (seen[0][g] & seen[1][g]) | (seen[0][g] & seen[2][g]) |
				  (seen[1][g] & seen[2][g]);
		for (w = 0; w < WINDOWS; w++)
			false_windows[g] += (seen[w][g] & good) != 0;
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

static void run_good(struct job *job, const double *rates, double lowest, bool is_else,
		     struct tally *tally)
{
	uint64_t suspects[GAINS_MAX], far = 0;
	int n = job->dp * job->pp, i;
	size_t g;

	for (i = 0; i < n; i++)
		far |= (uint64_t)is_identifiable(rates, n, i, rates[i], lowest) << i;

	run_job(job, UINT64_MAX, tally->false_windows, suspects);
	tally->jobs++;
	tally->windows += WINDOWS;
	tally->else_jobs += is_else;
	tally->hosts += WINDOWS * job->dp * job->pp;
	for (g = 0; g < GAINS_MAX; g++) {
		tally->false_jobs[g] += suspects[g] != 0;
		tally->false_near[g] += (suspects[g] & ~far) != 0;
		tally->false_else[g] += is_else && suspects[g] != 0;
	}
}

static void run_slow(struct job *job, const double *rates, double lowest, struct tally *tally)
{
	struct draw draw = { job, 3, 0 };
	int n = job->dp * job->pp, slow = (int)(chance(&draw) * n);
	double rate = rates[slow] * (1 - (0.05 + 0.2 * chance(&draw)));
	uint64_t suspects[GAINS_MAX];
	bool identifiable = is_identifiable(rates, n, slow, rate, lowest);
	size_t g;

	job->slow[slow].factor = 1 / rate;
	run_job(job, ~(1ull << slow), tally->false_windows, suspects);
	tally->jobs++;
	tally->windows += WINDOWS;
	tally->slow++;
	tally->identifiable += identifiable;
	for (g = 0; g < GAINS_MAX; g++) {
		bool found = suspects[g] >> slow & 1;

		tally->found[g] += found;
		tally->found_identifiable[g] += found && identifiable;
		tally->false_jobs[g] += (suspects[g] & ~(1ull << slow)) != 0;
	}
}

static double percent(int part, int whole)
{
	return whole ? 100.0 * part / whole : 0;
}

static void show(const struct tally *good, const struct tally *slow, double lowest)
{
	size_t g;

	printf("good hosts: %d jobs (%d with another cause), %d windows\n", good->jobs,
	       good->else_jobs, good->windows);
	printf("slow hosts: %d, of which %d (%.1f %%) are identifiable: below %.3f and 5 %% below "
	       "the "
	       "next\n\n",
	       slow->slow, slow->identifiable, percent(slow->identifiable, slow->slow), lowest);
	printf("min-gain  false: windows  of hosts  jobs (2 of 3)  but for the tail  with another "
	       "cause  "
	       "found: identifiable     all  others beside\n");
	for (g = 0; g < GAINS_MAX; g++)
		printf("%8.2f %15.2f %% %7.3f %% %12.2f %% %15.2f %% %17.2f %% %18.2f %% %5.2f %% "
		       "%12.2f "
		       "%%\n",
		       gains[g], percent(good->false_windows[g], good->windows),
		       percent(good->false_windows[g], good->hosts),
		       percent(good->false_jobs[g], good->jobs),
		       percent(good->false_near[g], good->jobs),
		       percent(good->false_else[g], good->else_jobs),
		       percent(slow->found_identifiable[g], slow->identifiable),
		       percent(slow->found[g], slow->slow),
		       percent(slow->false_jobs[g], slow->jobs));
}

static bool take(int argc, char **argv, struct options *options)
{
	int i;

	if (argc < 3)
		return false;
	options->first = strtoull(argv[1], NULL, 10);
	options->jobs = strtoull(argv[2], NULL, 10);
	for (i = 3; i < argc; i++) {
		if (starts_with(argv[i], "spread="))
			options->spread = strtod(argv[i] + 7, NULL) / 100;
		else if (streq(argv[i], "small"))
			options->small = true;
		else
			return false;
	}
	return options->jobs > 0;
}

int main(int argc, char **argv)
{
	struct options options = { .spread = 0.034 };
	CLEANUP(freep) struct job *job = xcalloc(1, sizeof(*job));
	CLEANUP(freep) struct tally *tallies = xcalloc(2, sizeof(*tallies));
	double rates[HOSTS_MAX], lowest;
	bool is_else;
	uint64_t seed;

	if (!take(argc, argv, &options)) {
		fprintf(stderr, "usage: windows FIRST_SEED JOBS [spread=PERCENT] [small]\n");
		return 2;
	}
	lowest = lowest_good(options.spread);
	for (seed = options.first; seed < options.first + options.jobs; seed++) {
		is_else = true;
		make_job(seed, &options, rates, &is_else, job);
		run_good(job, rates, lowest, is_else, &tallies[0]);
		is_else = false;
		make_job(seed, &options, rates, &is_else, job);
		run_slow(job, rates, lowest, &tallies[1]);
	}
	show(&tallies[0], &tallies[1], lowest);
	return 0;
}
