/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/job_grade.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"
#include "lib/policy/job_judge.h"
#include "lib/sys/table.h"
#include "tests/sim/job_window.h"
#include "tests/sim/sim.h"

#define LOW_QUANTILE 0.005
#define BELOW_NEXT 0.95
#define HELD_US (20 * USEC_PER_MIN)

enum { IDENTIFIABLE_WINDOWS = 3 };

static const char *const truth_names[JOB_TRUTHS] = { "sick", "shared", "tail", "well" };
static const char *const source_names[JOB_SOURCES] = { "honest", "forged", "stale" };

/* --- ground truth --- */

/* Returns the value of its slowest GPU, from the start. */
static double value_of(const struct sim_host *host)
{
	double least = INFINITY;
	size_t part;

	for (part = 0; part < HOST_PARTS; part++) {
		least = fmin(least,
			     host->part[KIND_COMPUTE][part] * host_born(host, KIND_COMPUTE, part));
	}
	return least;
}

void job_grade_begin(struct sim *s)
{
	struct job_grade *g = &s->jobs.grade;
	const size_t n = s->options->nodes;
	CLEANUP(freep) double *good = xcalloc(n * HOST_PARTS, sizeof(*good));
	size_t i, part, n_good = 0;

	g->hosts = xcalloc(n, sizeof(*g->hosts));
	g->values = xcalloc(n, sizeof(*g->values));
	g->named_run = xcalloc(s->jobs.n, sizeof(*g->named_run));
	g->n_models = world_skus(&s->faults->world, n);
	g->lottery_of_model = xcalloc(g->n_models, sizeof(*g->lottery_of_model));
	for (i = 0; i < n; i++) {
		g->values[i] = value_of(&s->hosts[i]);
		if (s->hosts[i].model >= s->faults->world.models)
			continue;
		for (part = 0; part < HOST_PARTS; part++)
			good[n_good++] = s->hosts[i].part[KIND_COMPUTE][part];
	}
	stats_sort(good, n_good);
	g->low = n_good ? stats_quantile(good, n_good, LOW_QUANTILE) : 0;
}

void job_grade_release(struct job_grade *g)
{
	free(g->hosts);
	free(g->values);
	free(g->named_run);
	free(g->lottery_of_model);
	free(g->to_suspect.s);
	free(g->to_decided.s);
	free(g->idle_to_decided.s);
	*g = (struct job_grade){ .hosts = NULL };
}

void job_grade_mended(struct sim *s, size_t number)
{
	const struct sim_host *host = &s->hosts[number];
	double least = INFINITY;
	size_t part;

	if (s->jobs.n == 0)
		return;
	for (part = 0; part < HOST_PARTS; part++)
		least = fmin(least, host->part[KIND_COMPUTE][part]);
	s->jobs.grade.values[number] = least;
}

static bool is_now(const struct ailment *a, uint64_t now_us)
{
	return a->onset_us <= now_us && now_us < a->until_us;
}

/* Returns a fault of its own that slows its compute. */
static const struct ailment *sickness(const struct sim *s, size_t host)
{
	const struct ailment *a = host_has(&s->hosts[host], FAULT_SLOW_GPU, s->now_us);

	a = a ? a : host_has(&s->hosts[host], FAULT_SLOW_HOST, s->now_us);
	return a ? a : host_has(&s->hosts[host], FAULT_DYING_GPU, s->now_us);
}

static bool shares(const struct sim *s, size_t number)
{
	const struct sim_host *host = &s->hosts[number];
	size_t i;

	for (i = 0; i < host->n_ailments; i++) {
		const struct ailment *a = &host->ailments[i];

		if (is_now(a, s->now_us) &&
		    (fault_traits[a->fault->kind].shared || a->fault->kind == FAULT_ROLL_OUT))
			return true;
	}
	return false;
}

static double next_slowest(const struct sim *s, const struct sim_job *job, size_t host)
{
	double next = INFINITY;
	size_t i;

	for (i = 0; i < job->n; i++) {
		if (job->hosts[i] != host)
			next = fmin(next, s->jobs.grade.values[job->hosts[i]]);
	}
	return next;
}

static bool is_identifiable(const struct sim *s, const struct sim_job *job, size_t host)
{
	const struct job_grade *g = &s->jobs.grade;

	return g->values[host] < g->low &&
	       g->values[host] <= BELOW_NEXT * next_slowest(s, job, host);
}

/* `job` NULL: for any job, JOB_TAIL is a good GPU that cannot be told from a sick one. */
static enum job_truth truth_of(const struct sim *s, const struct sim_job *job, size_t host)
{
	if (sickness(s, host))
		return JOB_SICK;
	if (shares(s, host))
		return JOB_SHARED;
	if (job ? is_identifiable(s, job, host) : s->jobs.grade.values[host] < s->jobs.grade.low)
		return JOB_TAIL;
	return JOB_WELL;
}

/* --- events --- */

void job_grade_run(struct sim *s, const struct sim_job *job, bool pair)
{
	struct job_grade *g = &s->jobs.grade;
	size_t i;

	g->runs++;
	g->own_runs += job->own != NULL;
	g->pair_runs += pair;
	g->stale_runs += job->stale;
	g->forged_runs += job->forged != JOB_NOBODY;
	for (i = 0; i < job->n; i++)
		g->hosts[job->hosts[i]].counted = 0;
}

void job_grade_ended(struct sim *s, const struct sim_job *job)
{
	size_t i;

	for (i = 0; i < job->n; i++) {
		struct job_host *host = &s->jobs.grade.hosts[job->hosts[i]];

		if (host->named_us && !host->idle_us)
			host->idle_us = s->now_us;
	}
}

/* Counts also for jobs that slow themselves. */
static void feel(struct sim *s, const struct sim_job *job)
{
	size_t i;

	for (i = 0; i < job->n; i++) {
		struct job_host *host = &s->jobs.grade.hosts[job->hosts[i]];
		const struct ailment *a = sickness(s, job->hosts[i]);

		if (!a || a->onset_us == 0 || host->felt_us)
			continue;
		host->felt_us = s->now_us;
		s->jobs.grade.felt++;
	}
}

static void count_windows(struct sim *s, const struct sim_job *job)
{
	size_t i;

	for (i = 0; i < job->n; i++) {
		struct job_host *host = &s->jobs.grade.hosts[job->hosts[i]];

		if (is_identifiable(s, job, job->hosts[i]))
			host->windows = MAX(host->windows, ++host->counted);
	}
}

void job_grade_window(struct sim *s, const struct sim_job *job, bool stale,
		      const struct job_window_result *found)
{
	struct job_grade *g = &s->jobs.grade;

	g->windows++;
	g->stale_windows += stale;
	g->forged_windows += job->forged != JOB_NOBODY;
	g->own_windows += job->own != NULL;
	g->own_told += job->own && found->class == BLAME_JOB;
	g->blaming += found->n > 0;
	if (job->forged == JOB_NOBODY)
		feel(s, job);
	/* Forged windows and jobs that slow themselves identify no host. */
	if (!stale && job->forged == JOB_NOBODY && !job->own)
		count_windows(s, job);
}

static enum job_source source_of(const struct sim_job *job, size_t host)
{
	size_t i;

	if (job->forged == host)
		return JOB_FORGED;
	for (i = 0; i < job->n && job->hosts[i] != host; i++)
		;
	return i == job->n ? JOB_STALE : JOB_HONEST;
}

void job_grade_named(struct sim *s, const struct sim_job *job, size_t number)
{
	struct job_grade *g = &s->jobs.grade;
	struct job_host *host = &g->hosts[number];
	const enum job_source source = source_of(job, number);
	const enum job_truth truth = truth_of(s, job, number);

	g->named[source][truth]++;
	if (g->named_run[job->number] != job->loop.run) {
		g->named_run[job->number] = job->loop.run;
		g->named_runs++;
		g->own_named += job->own != NULL;
	}
	if (source == JOB_HONEST)
		host->named |= (unsigned char)(1U << truth);
	if (truth == JOB_SICK && source == JOB_HONEST && !host->named_us) {
		host->named_us = s->now_us;
		if (host->felt_us)
			job_times_add(&g->to_suspect, host->felt_us, s->now_us);
	}
	if (s->options->trace && truth == JOB_WELL)
		(void)fprintf(stderr, "day %.3f %s is well: it is a suspect of %s (%s)\n",
			      (double)s->now_us / (double)USEC_PER_DAY - 1, s->hosts[number].name,
			      job->name, source_names[source]);
}

void job_grade_answer(struct sim *s, const struct job_judge_item *item, bool often)
{
	struct job_grade *g = &s->jobs.grade;
	const bool watch = item->action == BLAME_WATCH;

	g->answers[item->action]++;
	g->differing += watch && item->incident == BLAME_SET_UP;
	g->looked += watch && item->incident != BLAME_SET_UP && often;
}

void job_grade_silicon(struct sim *s, size_t number)
{
	s->jobs.grade.hosts[number].silicon = true;
}

static void decided(struct job_grade *g, struct job_host *host, uint64_t now_us)
{
	if (!host->named_us || host->decided_us)
		return;
	host->decided_us = now_us;
	job_times_add(&g->to_decided, host->named_us, now_us);
	if (host->idle_us)
		job_times_add(&g->idle_to_decided, host->idle_us, now_us);
}

bool job_grade_cordon(struct sim *s, size_t number, const struct decision *d)
{
	struct job_grade *g = &s->jobs.grade;
	const struct finding *f = d->finding;
	struct job_host *host;
	enum job_truth truth;
	bool lottery;

	if (s->jobs.n == 0)
		return false;
	host = &g->hosts[number];
	lottery = f && fleet_is_born_part(f);
	truth = truth_of(s, NULL, number);
	decided(g, host, s->now_us);
	if (!f || !blame_fits(&d->node->blame, f->check, f->seen_us, s->now_us))
		return lottery;
	/* It is reported even if a budget refuses the cordon. */
	host->shown |= !d->refused || d->refused->by == REFUSED_BY_BORN;
	if (d->refused)
		return lottery;
	g->evicted[truth]++;
	g->lottery[truth] += lottery;
	g->lottery_of_model[s->hosts[number].model] += lottery;
	host->evicted = true;
	if (s->options->trace)
		(void)fprintf(stderr, "day %.3f %s is %s: it is cordoned for %s%s\n",
			      (double)s->now_us / (double)USEC_PER_DAY - 1, s->hosts[number].name,
			      truth_names[truth], d->node->blame.job,
			      lottery ? ", for a part that has always been slow" : "");
	return lottery;
}

/* --- results --- */

/* Hosts born at least 10 % slow that ran long enough in jobs where they are identifiable. */
struct born {
	uint64_t hosts, ran, named, told, both, cordoned;
	uint64_t warned; /* of those reported: by own findings */
};

/* Was it born that slow? `ret_told`: was that reported? */
static bool born_slow(const struct sim *s, size_t number, bool *ret_told)
{
	const struct sim_host *host = &s->hosts[number];
	bool any = false;
	size_t j;

	*ret_told = false;
	for (j = 0; j < host->n_ailments; j++) {
		const struct ailment *a = &host->ailments[j];

		if (a->onset_us != 0 || a->fault->slow < 0.1 - 1e-9 ||
		    (a->fault->kind != FAULT_SLOW_GPU && a->fault->kind != FAULT_SLOW_HOST))
			continue;
		any = true;
		*ret_told |= s->grade.faults[number * HOST_FAULTS + j].warned;
	}
	return any;
}

static struct born count_born(const struct sim *s)
{
	struct born b = { .hosts = 0 };
	size_t i;

	for (i = 0; i < s->options->nodes; i++) {
		const struct job_host *host = &s->jobs.grade.hosts[i];
		bool told;

		if (!born_slow(s, i, &told))
			continue;
		b.hosts++;
		if (host->windows < IDENTIFIABLE_WINDOWS)
			continue;
		b.ran++;
		b.named += host->named != 0;
		b.warned += told;
		told |= host->silicon || host->shown;
		b.told += told;
		b.both += host->named != 0 && told;
		b.cordoned += host->evicted;
	}
	return b;
}

/* Prints a line for each host that ran where it is identifiable. */
static void trace_born(const struct sim *s)
{
	size_t i;

	for (i = 0; i < s->options->nodes; i++) {
		const struct job_host *host = &s->jobs.grade.hosts[i];
		bool told;

		if (born_slow(s, i, &told) && host->windows >= IDENTIFIABLE_WINDOWS)
			(void)fprintf(stderr,
				      "%s was born slow, its slowest GPU at %.3f (one good one in "
				      "two hundred: %.3f): %u windows in a run that can tell it, "
				      "%snamed, %stold, %scordoned\n",
				      s->hosts[i].name, s->jobs.grade.values[i], s->jobs.grade.low,
				      host->windows, host->named ? "" : "not ",
				      told			     ? ""
				      : host->silicon || host->shown ? "by the job "
								     : "not ",
				      host->evicted ? "" : "not ");
	}
}

void job_grade_end(struct sim *s)
{
	struct job_grade *g = &s->jobs.grade;
	size_t i;

	for (i = 0; s->jobs.n > 0 && i < s->options->nodes; i++) {
		const struct fleet_node *node = s->agents[i].node;

		g->left_held += node->out & OUT_HOLD && node->record.ordered_us == 0 &&
				node->record.hold_until_us + HELD_US < s->now_us;
	}
	job_times_sort(&g->to_suspect);
	job_times_sort(&g->to_decided);
	job_times_sort(&g->idle_to_decided);
	job_waits_end(&s->jobs.waits);
	if (s->jobs.n > 0 && s->options->trace)
		trace_born(s);
}

/* Returns how many hosts jobs.born allows to cordon, over all models; `ret_beyond`: cordoned beyond. */
static uint64_t lottery_allowed(const struct sim *s, uint64_t *ret_beyond)
{
	const struct job_grade *g = &s->jobs.grade;
	uint64_t all = 0;
	size_t i, first;

	*ret_beyond = 0;
	for (i = 0; i < g->n_models; i++) {
		const size_t n = world_hosts_of(&s->faults->world, s->options->nodes, i, &first);
		const uint64_t most =
			(uint64_t)((double)n * s->rules.policy.jobs.born_percent / 100);

		all += most;
		*ret_beyond += g->lottery_of_model[i] > most ? g->lottery_of_model[i] - most : 0;
	}
	return all;
}

static json_t *encode_truths(const uint64_t counts[JOB_TRUTHS])
{
	json_t *value = json_object();
	size_t i;

	for (i = 0; i < JOB_TRUTHS; i++)
		(void)json_object_set_new(value, truth_names[i],
					  json_integer((json_int_t)counts[i]));
	return value;
}

/* Hosts named by honest windows, each once per state. */
static json_t *encode_hosts(const struct sim *s)
{
	uint64_t counts[JOB_TRUTHS] = { 0 };
	size_t i, truth;

	for (i = 0; i < s->options->nodes; i++) {
		for (truth = 0; truth < JOB_TRUTHS; truth++)
			counts[truth] += s->jobs.grade.hosts[i].named >> truth & 1;
	}
	return encode_truths(counts);
}

/* Hosts reported as slow silicon, by their true state. */
static json_t *encode_silicon(const struct sim *s)
{
	uint64_t counts[JOB_TRUTHS] = { 0 };
	size_t i;

	for (i = 0; i < s->options->nodes; i++)
		counts[truth_of(s, NULL, i)] += s->jobs.grade.hosts[i].silicon;
	return encode_truths(counts);
}

static json_t *encode_answers(const struct job_grade *g)
{
	json_t *value = json_object();
	size_t i;

	for (i = 0; i < BLAME_ACTIONS; i++)
		(void)json_object_set_new(value, blame_action_names[i],
					  json_integer((json_int_t)g->answers[i]));
	(void)json_object_set_new(value, "differs", json_integer((json_int_t)g->differing));
	(void)json_object_set_new(value, "looked", json_integer((json_int_t)g->looked));
	return value;
}

static json_t *encode_named(const struct job_grade *g)
{
	json_t *value = json_object();
	size_t i;

	for (i = 0; i < JOB_SOURCES; i++)
		(void)json_object_set_new(value, source_names[i], encode_truths(g->named[i]));
	return value;
}

static json_t *encode_born(const struct sim *s)
{
	const struct born b = count_born(s);
	uint64_t beyond;
	const uint64_t allowed = lottery_allowed(s, &beyond);

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:I, s:I, s:o}", "hosts",
			 (json_int_t)b.hosts, "ran", (json_int_t)b.ran, "named",
			 (json_int_t)b.named, "warned", (json_int_t)b.warned, "told",
			 (json_int_t)b.told, "named_and_told", (json_int_t)b.both, "cordoned",
			 (json_int_t)b.cordoned, "lottery", encode_truths(s->jobs.grade.lottery),
			 "allowed", (json_int_t)allowed, "beyond", (json_int_t)beyond, "silicon",
			 encode_silicon(s));
}

json_t *job_grade_encode(const struct sim *s)
{
	const struct job_grade *g = &s->jobs.grade;
	const struct {
		const char *key;
		uint64_t n;
	} counts[] = {
		{ "jobs", s->jobs.n },
		{ "runs", g->runs },
		{ "own_runs", g->own_runs },
		{ "pair_runs", g->pair_runs },
		{ "stale_runs", g->stale_runs },
		{ "forged_runs", g->forged_runs },
		{ "windows", g->windows },
		{ "analysed", g->analysed },
		{ "stale_windows", g->stale_windows },
		{ "forged_windows", g->forged_windows },
		{ "own_windows", g->own_windows },
		{ "own_windows_told", g->own_told },
		{ "blaming_windows", g->blaming },
		{ "runs_with_suspect", g->named_runs },
		{ "own_runs_with_suspect", g->own_named },
		{ "felt", g->felt },
		{ "tests", g->tests },
		{ "tests_failed", g->outcomes[TEST_FAILED] },
		{ "tests_passed", g->outcomes[TEST_PASSED] },
		{ "left_held", g->left_held },
	};
	json_t *v = json_object();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(counts); i++)
		(void)json_object_set_new(v, counts[i].key, json_integer((json_int_t)counts[i].n));
	(void)json_object_set_new(v, "suspects", encode_named(g));
	(void)json_object_set_new(v, "suspect_hosts", encode_hosts(s));
	(void)json_object_set_new(v, "answers", encode_answers(g));
	(void)json_object_set_new(v, "evicted", encode_truths(g->evicted));
	(void)json_object_set_new(v, "born", encode_born(s));
	(void)json_object_set_new(v, "felt_to_suspect_s", job_times_encode(&g->to_suspect));
	(void)json_object_set_new(v, "suspect_to_decided_s", job_times_encode(&g->to_decided));
	(void)json_object_set_new(v, "idle_to_decided_s", job_times_encode(&g->idle_to_decided));
	(void)json_object_set_new(v, "waits", job_waits_encode(&s->jobs.waits));
	return v;
}

static double hours_at(const struct job_times *times, double q)
{
	return times->n ? stats_quantile(times->s, times->n, q) / 3600 : NAN;
}

static void print_truths(const char *what, const uint64_t counts[JOB_TRUTHS], FILE *out)
{
	size_t i;

	(void)fprintf(out, "%s:", what);
	for (i = 0; i < JOB_TRUTHS; i++)
		(void)fprintf(out, " %llu %s%s", (unsigned long long)counts[i], truth_names[i],
			      i + 1 < JOB_TRUTHS ? "," : "");
}

void job_grade_print(const struct sim *s, FILE *out)
{
	const struct job_grade *g = &s->jobs.grade;
	const struct born b = count_born(s);
	uint64_t beyond;
	const uint64_t allowed = lottery_allowed(s, &beyond);
	size_t i;

	(void)fprintf(
		out,
		"jobs: %zu in %llu runs, %llu windows of which %llu blame somebody; %llu runs "
		"with a suspect, %llu tests for them\n",
		s->jobs.n, (unsigned long long)g->runs, (unsigned long long)g->windows,
		(unsigned long long)g->blaming, (unsigned long long)g->named_runs,
		(unsigned long long)g->tests);
	for (i = 0; i < JOB_SOURCES; i++) {
		print_truths(source_names[i], g->named[i], out);
		(void)fputs(i + 1 < JOB_SOURCES ? "; " : " suspects\n", out);
	}
	print_truths("cordoned for jobs", g->evicted, out);
	(void)fprintf(
		out,
		"; born 10 %% slow: %llu, of which %llu ran where it can be told: %llu named, "
		"%llu told, %llu cordoned; parts that always were slow: %llu beyond the %llu of "
		"jobs.born\n",
		(unsigned long long)b.hosts, (unsigned long long)b.ran, (unsigned long long)b.named,
		(unsigned long long)b.told, (unsigned long long)b.cordoned,
		(unsigned long long)beyond, (unsigned long long)allowed);
	(void)fprintf(out, "first felt to suspect: p50 %.1f h; suspect to decided: p50 %.1f h\n",
		      hours_at(&g->to_suspect, 0.5), hours_at(&g->to_decided, 0.5));
}
