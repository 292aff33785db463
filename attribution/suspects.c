/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/suspects.h"

#include <math.h>
#include <stdlib.h>

#include "attribution/pace.h"
#include "attribution/subjects.h"
#include "attribution/trace_job.h"
#include "attribution/wave.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

enum {
	TRIED_MAX = SUSPECTS_BY_COMPUTE + SUSPECTS_BY_TRANSFER,
	SETS_MAX = 2 * SUSPECTS_MAX, /* by gain and by pace, of 1, 2 and 3 hosts each */
};

/* Smaller differences, relative to a step, are rounding errors. */
#define NOTHING 1e-9
#define TRANSFERS_MOST 0.5 /* computes explain less than this share of the gain */

/* A candidate set of hosts, with its hypothetical step times. */
struct set {
	const struct subject *members[SUSPECTS_MAX];
	size_t n;
	const struct set *before; /* without the last member; NULL: empty */
	const double *fixed;	  /* valid until the end */
	const double *computes, *even, *ideal, *but[SUSPECTS_MAX];
	bool identifiable, transfers;
	double now[SUSPECTS_MAX]; /* speed, 1 is usual; NAN: unknown */
	bool beyond;		  /* each is slower than the others, and than the spread explains */
	struct interval gain, adds, share, alone[SUSPECTS_MAX];
};

struct search {
	const struct suspects_case *of;
	const struct trace *trace; /* of the case */
	struct pace pace;
	struct subjects subjects;
	struct wave kept, brief; /* of all sets, and of one being judged */
	struct wave *wave;	 /* the one in use */
	const struct subject *tried[TRIED_MAX];
	size_t n_tried;
	bool *left_out; /* owned: [worker] */
	struct set sets[SETS_MAX];
	size_t n_sets;
};

static void search_release(struct search *search)
{
	wave_release(&search->kept);
	wave_release(&search->brief);
	subjects_release(&search->subjects);
	pace_release(&search->pace);
	free(search->left_out);
}

static size_t n_workers(const struct search *search)
{
	return (size_t)search->trace->job.dp * search->trace->job.pp;
}

/* The level of workers outside the set. */
static struct pace_level level_without(struct search *search, const struct set *set, bool all_stages)
{
	size_t i, j;

	memset(search->left_out, 0, n_workers(search) * sizeof(*search->left_out));
	for (i = 0; i < set->n; i++) {
		for (j = 0; j < set->members[i]->n; j++)
			search->left_out[set->members[i]->workers[j]] = true;
	}
	return pace_level_of(&search->pace, search->left_out, all_stages);
}

/* Rule; its context is struct wave_stages. */
static enum whatif_choice paced(const struct trace_key *key, const void *context)
{
	const struct whatif_set *set = ((const struct wave_stages *)context)->set;

	return set->first[key->stage + 1] > set->first[key->stage] ? WHATIF_PACED : WHATIF_ORIGINAL;
}

enum change { REPLACED, COMPUTES_REPLACED, EVENED };

static struct whatif_pace pace_of(const struct search *search, const struct pace_level *level,
				  enum change change, size_t worker, enum optype type)
{
	if (change == EVENED)
		return pace_even(&search->pace, level, worker, type);
	return pace_replaced(&search->pace, level, worker, type, change == REPLACED);
}

/* Add a simulation with these workers at the pace of the level. */
static const double *add(struct search *search, const struct pace_level *level, enum change change,
			 const uint32_t *workers, size_t n)
{
	const double *times = wave_add_set(search->wave, paced, workers, n);
	struct whatif *whatif = wave_newest(search->wave);
	struct whatif_pace *pace =
		pool_take(&search->wave->pool, (n + 1) * OPTYPE_N * sizeof(*pace));
	size_t pp = search->trace->job.pp, stage, type;
	uint32_t i;

	for (stage = 0; stage < pp; stage++) {
		for (i = whatif->set.first[stage]; i < whatif->set.first[stage + 1]; i++) {
			for (type = 0; type < OPTYPE_N; type++)
				pace[i * OPTYPE_N + type] = pace_of(
					search, level, change, whatif->set.ranks[i] * pp + stage,
					(enum optype)type);
		}
	}
	whatif->pace = pace;
	return times;
}

/* The workers of a set, in memory of the wave. */
static uint32_t *workers_of(struct search *search, const struct set *set, size_t *ret_n)
{
	uint32_t *workers =
		pool_take(&search->wave->pool, (n_workers(search) + 1) * sizeof(*workers));
	size_t i, n = 0;

	for (i = 0; i < set->n; i++) {
		memcpy(workers + n, set->members[i]->workers, set->members[i]->n * sizeof(*workers));
		n += set->members[i]->n;
	}
	*ret_n = n;
	return workers;
}

static const double *add_replaced(struct search *search, const struct set *set, enum change change)
{
	CLEANUP(pace_level_release) struct pace_level level = level_without(search, set, false);
	size_t n;
	const uint32_t *workers = workers_of(search, set, &n);

	return add(search, &level, change, workers, n);
}

static bool is_member(const struct set *set, const struct subject *subject)
{
	size_t i;

	for (i = 0; i < set->n; i++) {
		if (set->members[i] == subject)
			return true;
	}
	return false;
}

static struct set with(const struct set *before, const struct subject *subject)
{
	struct set set = { .n = 0 };

	if (before)
		set = *before;
	set.before = before;
	set.members[set.n++] = subject;
	return set;
}

/* Extend the set by the host that gains most; false if none is left. */
static bool grow_by_gain(struct search *search, const struct set *before, struct set *ret_set)
{
	struct set candidates[TRIED_MAX];
	size_t i, n = 0, best = 0;

	for (i = 0; i < search->n_tried; i++) {
		if (before && is_member(before, search->tried[i]))
			continue;
		candidates[n] = with(before, search->tried[i]);
		candidates[n].fixed = add_replaced(search, &candidates[n], REPLACED);
		n++;
	}
	if (n == 0)
		return false;
	wave_run(search->wave);
	for (i = 1; i < n; i++) {
		if (wave_mean(candidates[i].fixed, search->trace->n_steps) <
		    wave_mean(candidates[best].fixed, search->trace->n_steps))
			best = i;
	}
	*ret_set = candidates[best];
	return true;
}

/* All workers except those of a subject (NULL: none) at the pace of the level. */
static const double *add_even(struct search *search, const struct pace_level *level,
			      const struct subject *but)
{
	uint32_t *workers =
		pool_take(&search->wave->pool, (n_workers(search) + 1) * sizeof(*workers));
	size_t n = 0, next = 0;
	uint32_t w;

	for (w = 0; w < n_workers(search); w++) {
		if (but && next < but->n && but->workers[next] == w)
			next++;
		else
			workers[n++] = w;
	}
	return add(search, level, EVENED, workers, n);
}

/* Step time with all hosts alike: no set of them gains more. */
static double time_even(struct search *search)
{
	static const struct set nobody;
	CLEANUP(pace_level_release) struct pace_level level = level_without(search, &nobody, true);
	const double *times = add_even(search, &level, NULL);

	wave_run(search->wave);
	return wave_mean(times, search->trace->n_steps);
}

/* Find sets by gain, then by pace, until the remaining gain is too small for a suspect. */
static void find_sets(struct search *search)
{
	double even = time_even(search);
	double all = wave_mean(search->of->step_times, search->trace->n_steps);
	size_t i, n = MIN((size_t)SUSPECTS_MAX, search->subjects.n - 1);
	const struct set *before = NULL;

	for (i = 0; i < n; i++) {
		if (!grow_by_gain(search, before, &search->sets[search->n_sets]))
			return;
		before = &search->sets[search->n_sets++];
		if (wave_mean(before->fixed, search->trace->n_steps) - even <
		    search->of->min_gain * all)
			return;
	}
	/* Equally slow hosts, which gain does not show. */
	for (before = NULL, i = 0; i < MIN(n, search->n_tried); i++) {
		struct set *set = &search->sets[search->n_sets++];

		*set = with(before, search->tried[i]);
		set->fixed = add_replaced(search, set, REPLACED);
		before = set;
	}
	wave_run(search->wave);
}

/* Cost of each key at the mean of all workers, [key], in memory of the wave. */
static const double *ideal_of(struct search *search, const struct pace_level *level)
{
	const struct trace *trace = search->trace;
	double *ideal = pool_take(&search->wave->pool, trace->n_keys * sizeof(*ideal));
	double sum[OPTYPE_N] = { 0 }, n[OPTYPE_N] = { 0 };
	size_t w, type, i;

	for (w = 0; w < n_workers(search); w++) {
		for (type = 0; type < OPTYPE_N; type++) {
			double count = search->pace.count[w % trace->job.pp * OPTYPE_N + type];

			sum[type] += count * search->pace.mean[w * OPTYPE_N + type] *
				     pace_scale(&search->pace, level, w, (enum optype)type);
			n[type] += count;
		}
	}
	for (i = 0; i < trace->n_keys; i++) {
		type = trace->keys[i].type;
		ideal[i] = optype_is_communication((enum optype)type)
				   ? search->of->cost->ideal[type]
				   : sum[type] / n[type];
	}
	return ideal;
}

static enum whatif_choice ideal(const struct trace_key *key UNUSED, const void *context UNUSED)
{
	return WHATIF_IDEAL;
}

/* Uses `search->left_out` of the set. */
static bool is_beyond(const struct search *search, struct set *set)
{
	CLEANUP(lottery_release)
	struct lottery others = lottery_of(&search->pace, search->left_out, &search->of->known);
	bool all = true;
	size_t i, j;

	for (i = 0; i < set->n; i++) {
		const struct subject *member = set->members[i];
		bool beyond = false;

		for (j = 0; j < member->n; j++)
			beyond |= lottery_ratio(&others, member->workers[j]) >=
				  lottery_least(&others, member->workers[j], search->of->beyond,
						set->n);
		set->now[i] = others.tested ? 1 / lottery_ratio(&others, member->worst)
					    : (double)NAN;
		all &= beyond;
	}
	return all;
}

/* Compute the remaining values of a set. */
static void add_rest(struct search *search, struct set *set)
{
	CLEANUP(pace_level_release) struct pace_level level = level_without(search, set, true);
	size_t i, j;

	set->computes = add_replaced(search, set, COMPUTES_REPLACED);
	set->even = add_even(search, &level, NULL);
	set->ideal = wave_add(search->wave, ideal, NULL);
	wave_newest(search->wave)->ideal = ideal_of(search, &level);
	set->beyond = is_beyond(search, set);
	set->identifiable = true;
	for (i = 0; i < set->n; i++) {
		set->but[i] = add_even(search, &level, set->members[i]);
		for (j = 0; j < set->members[i]->n; j++)
			set->identifiable &=
				level.alike[set->members[i]->workers[j] % search->trace->job.pp];
	}
}

/* Means over all steps and over each draw, in memory of the wave. */
static double *means_of(struct search *search, const double *times)
{
	double *means = pool_take(&search->wave->pool,
				  (search->of->bootstrap->n_draws + 1) * sizeof(*means));

	bootstrap_means(search->of->bootstrap, times, means);
	return means;
}

static double ratio(double part, double whole, double step)
{
	return whole > NOTHING * step ? part / whole : (double)NAN;
}

static void judge(struct search *search, struct set *set)
{
	size_t n = search->of->bootstrap->n_draws + 1, i, j;
	const double *all = means_of(search, search->of->step_times);
	const double *fixed = means_of(search, set->fixed), *even = means_of(search, set->even);
	const double *ideals = means_of(search, set->ideal);
	const double *before = set->before ? means_of(search, set->before->fixed) : all;
	CLEANUP(freep) double *gain = xcalloc(n, sizeof(*gain));
	CLEANUP(freep) double *adds = xcalloc(n, sizeof(*adds));
	CLEANUP(freep) double *share = xcalloc(n, sizeof(*share));
	CLEANUP(freep) double *alone = xcalloc(n, sizeof(*alone));

	for (i = 0; i < n; i++) {
		double gained = MAX(all[i] - fixed[i], 0), lost = MAX(even[i] - ideals[i], 0);

		gain[i] = (all[i] - fixed[i]) / all[i];
		adds[i] = (before[i] - fixed[i]) / all[i];
		share[i] = ratio(gained, gained + lost, all[i]);
	}
	set->transfers = all[0] - means_of(search, set->computes)[0] <
			 TRANSFERS_MOST * (all[0] - fixed[0]);
	set->gain = bootstrap_interval(search->of->bootstrap, gain);
	set->adds = bootstrap_interval(search->of->bootstrap, adds);
	set->share = bootstrap_interval(search->of->bootstrap, share);
	for (j = 0; j < set->n; j++) {
		const double *but = means_of(search, set->but[j]);

		for (i = 0; i < n; i++)
			alone[i] = ratio(but[i] - even[i], all[i] - even[i], all[i]);
		set->alone[j] = bootstrap_interval(search->of->bootstrap, alone);
	}
}

/* Would the set count if the numbers were exact? */
static bool seems(const struct search *search, const struct set *set)
{
	size_t i;

	for (i = 0; i < set->n; i++) {
		if (!(set->alone[i].value >= SUSPECTS_ALONE))
			return false;
	}
	return set->identifiable && (set->beyond || set->transfers) &&
	       set->gain.value >= search->of->min_gain && set->adds.value >= search->of->min_gain &&
	       set->share.value >= search->of->share;
}

static bool counts(const struct search *search, const struct set *set)
{
	return seems(search, set) && set->gain.low >= search->of->min_gain &&
	       set->adds.low >= search->of->min_gain && set->share.low >= search->of->share;
}

/*
 * Intervals shrink with the square root of the steps: number of steps until the lower end is
 * `least`.
 */
static double steps_until(const struct search *search, const struct interval *interval, double least)
{
	double half = interval->value - interval->low, room = interval->value - least;

	if (interval->low >= least)
		return (double)search->trace->n_steps;
	return (double)search->trace->n_steps * (half / room) * (half / room);
}

static size_t steps_needed(const struct search *search, const struct set *set)
{
	double steps = BOOTSTRAP_STEPS_MIN;

	if (bootstrap_is_enough(search->of->bootstrap)) {
		steps = MAX(steps, steps_until(search, &set->gain, search->of->min_gain));
		steps = MAX(steps, steps_until(search, &set->adds, search->of->min_gain));
		steps = MAX(steps, steps_until(search, &set->share, search->of->share));
	}
	return steps < SUSPECTS_STEPS_MAX ? (size_t)ceil(steps) : SUSPECTS_STEPS_MAX;
}

/* The largest set for which `holds`, preferably one by gain. */
static const struct set *choose(const struct search *search,
				bool (*holds)(const struct search *search, const struct set *set))
{
	const struct set *chosen = NULL;
	size_t i;

	for (i = 0; i < search->n_sets; i++) {
		const struct set *set = &search->sets[i];

		if ((!chosen || set->before == chosen) && holds(search, set))
			chosen = set;
	}
	return chosen;
}

static struct suspect suspect_of(const struct search *search, const struct subject *subject,
				 struct interval alone, double now)
{
	const double *tested = search->of->known.speeds;
	const struct trace_job *job = &search->trace->job;
	struct suspect suspect = {
		.workers = xcalloc(subject->n, sizeof(*suspect.workers)),
		.n = subject->n,
		.worst = subject->worst,
		.node = job->named ? job->workers[subject->workers[0]].node : -1,
		.first_rank = INT64_MAX,
		.alone = alone,
		.now = now,
		.tested = tested ? tested[subject->worst] : (double)NAN,
	};
	size_t j;

	memcpy(suspect.workers, subject->workers, subject->n * sizeof(*suspect.workers));
	for (j = 0; j < subject->n; j++) {
		int64_t rank = job->workers[subject->workers[j]].rank;

		suspect.first_rank = MIN(suspect.first_rank, rank);
		suspect.last_rank =
			MAX(suspect.last_rank, rank + (int64_t)job->tp * (int64_t)job->dsp - 1);
	}
	return suspect;
}

/*
 * A transfer is charged to both ends, and does not tell which one is slow: so if there is only
 * one suspect, add the other end, on the stage to which most time is lost.
 */
static void add_other_end(struct search *search, const struct set *set, struct suspects *suspects)
{
	static const enum optype to_next[] = { OP_FORWARD_SEND, OP_BACKWARD_RECV };
	static const enum optype from_before[] = { OP_FORWARD_RECV, OP_BACKWARD_SEND };
	CLEANUP(pace_level_release) struct pace_level level = level_without(search, set, true);
	uint32_t pp = search->trace->job.pp, worst = set->members[0]->worst, other;
	double next = 0, before = 0;
	const struct subject *subject;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(to_next); i++) {
		next += pace_excess_of(&search->pace, &level, worst, to_next[i]);
		before += pace_excess_of(&search->pace, &level, worst, from_before[i]);
	}
	if (set->n > 1 || MAX(next, before) <= 0)
		return;
	other = worst / pp * pp + (worst % pp + (next > before ? 1 : pp - 1)) % pp;
	subject = subjects_with(&search->subjects, other);
	if (subject != set->members[0])
		suspects->list[suspects->n++] = suspect_of(
			search, subject, (struct interval){ NAN, NAN, NAN }, (double)NAN);
}

/* Does the set neither gain nor lose anything? Then it is just the first of equals. */
static bool is_idle(const struct set *set)
{
	return isnan(set->alone[0].value) && set->gain.value <= NOTHING;
}

static struct suspects answer(struct search *search)
{
	const struct set *sure = choose(search, counts), *seeming = choose(search, seems);
	const struct set *set = sure ? sure : seeming ? seeming : &search->sets[0];
	struct suspects suspects = {
		.n = is_idle(set) ? 0 : set->n,
		.gain = set->gain,
		.share = set->share,
		.transfers = set->transfers,
		.identifiable = set->identifiable,
		.counts = sure != NULL,
		.enough = bootstrap_is_enough(search->of->bootstrap) && (sure || !seeming),
	};
	size_t i;

	if (!suspects.enough)
		suspects.steps_needed = steps_needed(search, set);
	for (i = 0; i < suspects.n; i++)
		suspects.list[i] = suspect_of(search, set->members[i], set->alone[i], set->now[i]);
	if (suspects.counts && suspects.transfers)
		add_other_end(search, set, &suspects);
	return suspects;
}

int suspects_find(const struct suspects_case *of, size_t n_threads, struct suspects *ret_suspects,
		  struct err *err)
{
	CLEANUP(search_release) struct search search = { .of = of, .trace = of->trace };
	size_t i;
	int r;

	search.wave = &search.kept;
	*ret_suspects = (struct suspects){ .enough = bootstrap_is_enough(of->bootstrap),
					   .steps_needed = BOOTSTRAP_STEPS_MIN };
	search.subjects = subjects_of(&of->trace->job);
	if (search.subjects.n < 2)
		return 0;
	r = wave_open(&search.kept, of->trace, of->graph, of->cost, n_threads, err);
	if (r < 0)
		return r;
	search.left_out = xcalloc(n_workers(&search), sizeof(*search.left_out));
	search.pace = pace_find(of->trace, of->cost, n_threads);
	search.n_tried = subjects_worst(&search.subjects, &search.pace, search.left_out,
					SUSPECTS_BY_COMPUTE, SUSPECTS_BY_TRANSFER, search.tried);
	find_sets(&search);
	search.wave = &search.brief;
	for (i = 0; i < search.n_sets; i++) {
		r = wave_open(&search.brief, of->trace, of->graph, of->cost, n_threads, err);
		if (r < 0)
			return r;
		add_rest(&search, &search.sets[i]);
		wave_run(&search.brief);
		judge(&search, &search.sets[i]);
		wave_release(&search.brief);
	}
	if (search.n_sets)
		*ret_suspects = answer(&search);
	return 0;
}

void suspects_release(struct suspects *suspects)
{
	size_t i;

	for (i = 0; i < suspects->n; i++)
		free(suspects->list[i].workers);
	*suspects = (struct suspects){ 0 };
}
