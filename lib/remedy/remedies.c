/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/remedy/remedies.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/remedy/replicas.h"

#define SECONDS_PER_HOUR 3600.0

/* Planned collections take at most this part of the steps. */
#define GC_PART 0.01

const char *const remedy_kind_names[] = {
	[REMEDY_NONE] = "none",
	[REMEDY_REPLACE] = "replace",
	[REMEDY_DROP] = "drop-replica",
	[REMEDY_MICROBATCHES] = "micro-batches",
	[REMEDY_LAYERS] = "layers",
	[REMEDY_BOTH] = "layers+micro-batches",
	[REMEDY_SEQUENCES] = "sequences",
	[REMEDY_GC] = "gc",
	[REMEDY_STAGE] = "stage",
	[REMEDY_DATA] = "data",
	[REMEDY_KINDS] = NULL,
};

const char *const remedy_sure_names[] = {
	[REMEDY_EXACT] = "exact",
	[REMEDY_MODEL] = "model",
	[REMEDY_BOUND] = "bound",
	NULL,
};

static const struct remedy_range unknown = { NAN, NAN, NAN };

/* --- gain and cost --- */

/* Steps until it pays off; NAN if never. */
static double pays(double cost_s, double gain_s)
{
	return gain_s > 0 ? cost_s / gain_s : (double)NAN;
}

/* The gain, from certain to possible: for a mere bound it may be nothing. */
static struct remedy_range gain_of(const struct remedies_facts *f, enum remedy_sure sure,
				   struct remedy_range after)
{
	const double gain = f->simulated_s - after.value;
	const double tolerance = sure == REMEDY_MODEL ? REMEDIES_TOLERANCE * after.value : 0;
	struct remedy_range range = { gain, gain - tolerance, gain + tolerance };

	if (isfinite(after.low) && isfinite(after.high)) {
		range.low = MIN(f->simulated_s - after.high, gain);
		range.high = MAX(f->simulated_s - after.low, gain);
	}
	if (sure == REMEDY_BOUND)
		range.low = MIN(range.low, 0);
	return range;
}

/* `remedy` has kind, sure, needs, spares, cost_s and note; one without gain is not added. */
static void add(const struct remedies_facts *f, const struct remedy *remedy,
		struct remedy_range after, struct remedies *all)
{
	struct remedy one = *remedy;
	double hours;

	one.gain_s = gain_of(f, one.sure, after);
	if (all->n == REMEDIES_MAX || !(one.gain_s.value > REMEDIES_LEAST * f->simulated_s))
		return;
	one.after_s = f->now_s - one.gain_s.value;
	one.pays_steps = (struct remedy_range){ pays(one.cost_s, one.gain_s.value),
						pays(one.cost_s, one.gain_s.high),
						pays(one.cost_s, one.gain_s.low) };
	hours = one.after_s / SECONDS_PER_HOUR;
	one.pays_hours = (struct remedy_range){
		one.pays_steps.value * hours,
		one.pays_steps.low * (f->now_s - one.gain_s.high) / SECONDS_PER_HOUR,
		one.pays_steps.high * (f->now_s - one.gain_s.low) / SECONDS_PER_HOUR
	};
	one.over_s = f->remaining * one.gain_s.value - one.cost_s;
	one.spares_missing = one.spares > f->spares ? one.spares - f->spares : 0;
	one.possible = one.spares_missing == 0;
	all->list[all->n++] = one;
}

static double restart_cost(const struct remedies_costs *c)
{
	return c->restart_s + c->lost_s + c->warm_up_s;
}

/* Cost and needs if the job's code does it while running, or else with a restart. */
static struct remedy changing(const struct remedies_facts *f, enum remedy_kind kind,
			      enum remedy_sure sure, double while_it_runs_s)
{
	const bool restart = isnan(while_it_runs_s);

	return (struct remedy){
		.kind = kind,
		.sure = sure,
		.needs = REMEDY_NEEDS_CODE | (restart ? (unsigned)REMEDY_NEEDS_RESTART : 0u),
		.cost_s = restart ? restart_cost(&f->costs) : while_it_runs_s,
	};
}

static struct remedy_range just(double value)
{
	return (struct remedy_range){ value, NAN, NAN };
}

/* --- the remedies --- */

static void add_nothing(const struct remedies_facts *f, struct remedies *all)
{
	all->list[all->n++] = (struct remedy){
		.kind = REMEDY_NONE,
		.sure = REMEDY_EXACT,
		.after_s = f->now_s,
		.pays_steps = unknown,
		.pays_hours = unknown,
		.over_s = isnan(f->remaining) ? (double)NAN : 0,
		.possible = true,
	};
}

/* `than`: the last offered set of fewer hosts; NULL: none. */
static bool worth_its_hosts(const struct remedies_facts *f, const struct remedies_set *set,
			    const struct remedies_set *than)
{
	return !than || than->after_s.value - set->after_s.value >=
				REMEDIES_HOST_LEAST * f->simulated_s * (double)(set->n - than->n);
}

static void add_replacing(const struct remedies_facts *f, struct remedies *all)
{
	const struct remedies_set *offered = NULL;
	size_t i;

	for (i = 0; i < f->n_sets; i++) {
		const struct remedies_set *set = &f->sets[i];
		const size_t n = all->n;
		const struct remedy one = {
			.kind = REMEDY_REPLACE,
			.sure = REMEDY_EXACT,
			.needs = REMEDY_NEEDS_SPARE | REMEDY_NEEDS_RESTART,
			.spares = set->n,
			.cost_s = restart_cost(&f->costs),
			.set = i,
			.gap_s = set->gap_s,
		};

		if (worth_its_hosts(f, set, offered))
			add(f, &one, set->after_s, all);
		if (all->n > n)
			offered = set;
	}
}

static void add_dropping(const struct remedies_facts *f, double fixed, struct remedies *all)
{
	const struct replicas *r = f->replicas;
	CLEANUP(freep) bool *gone = xcalloc(r->dp, sizeof(*gone));
	struct remedy one = changing(f, REMEDY_DROP, REMEDY_MODEL, f->costs.regroup_s);
	const double time = replicas_drop(r, gone, &one.count);
	size_t each, d;

	if (isnan(time))
		return;
	each = (r->microbatches * r->dp + r->dp - one.count - 1) / (r->dp - one.count);
	for (d = 0; d < r->dp && !gone[d]; d++)
		;
	(void)snprintf(one.note, sizeof(one.note),
		       "without %zu of %zu replicas (dp %zu%s), %zu micro-batches each instead of "
		       "%zu; frees %zu worker%s",
		       one.count, r->dp, d, one.count > 1 ? " and others" : "", each,
		       r->microbatches, one.count * r->pp, one.count * r->pp == 1 ? "" : "s");
	add(f, &one, just(fixed + time), all);
}

/* The fewest micro-batches of any replica, and the most. */
static size_t fewest(const struct replicas *r, const size_t *counts, size_t *ret_most)
{
	size_t d, least = 0;

	for (*ret_most = 0, d = 0; d < r->dp; d++) {
		least = counts[d] < counts[least] ? d : least;
		*ret_most = MAX(*ret_most, counts[d]);
	}
	return least;
}

static void add_dealing(const struct remedies_facts *f, double fixed, bool layers,
			struct remedies *all)
{
	const struct replicas *r = f->replicas;
	CLEANUP(freep) size_t *counts = xcalloc(r->dp, sizeof(*counts));
	struct remedy one =
		layers ? changing(f, REMEDY_BOTH, REMEDY_MODEL, f->costs.layers_s)
		       : changing(f, REMEDY_MICROBATCHES, REMEDY_MODEL, f->costs.microbatches_s);
	const double time = replicas_deal(r, layers, counts);
	size_t most, least = fewest(r, counts, &most);

	one.count = counts[least];
	if (layers)
		one.needs |= REMEDY_NEEDS_MEMORY;
	(void)snprintf(one.note, sizeof(one.note),
		       "dp %zu runs %zu micro-batch%s instead of %zu, others up to %zu", least,
		       one.count, one.count == 1 ? "" : "es", r->microbatches, most);
	add(f, &one, just(fixed + time), all);
}

static void add_layers(const struct remedies_facts *f, double fixed, struct remedies *all)
{
	struct remedy one = changing(f, REMEDY_LAYERS, REMEDY_MODEL, f->costs.layers_s);

	one.needs |= REMEDY_NEEDS_MEMORY;
	add(f, &one, just(fixed + replicas_layers(f->replicas)), all);
}

static void add_stages(const struct remedies_facts *f, double fixed, struct remedies *all)
{
	struct remedy one = changing(f, REMEDY_STAGE, REMEDY_BOUND, f->costs.layers_s);

	one.needs |= REMEDY_NEEDS_MEMORY;
	(void)snprintf(one.note, sizeof(one.note),
		       "at most: layers are indivisible, and the first and last stage hold more "
		       "than layers");
	add(f, &one, just(fixed + replicas_even(f->replicas)), all);
}

static void add_shape(const struct remedies_facts *f, struct remedies *all)
{
	const struct replicas *r = f->replicas;
	const double fixed = r ? replicas_fixed(r, f->simulated_s) : (double)NAN;

	if (!r)
		return;
	add_dropping(f, fixed, all);
	if (r->dp > 1)
		add_dealing(f, fixed, false, all);
	if (r->pp > 1 && r->layers)
		add_layers(f, fixed, all);
	if (r->pp > 1 && r->dp > 1 && r->layers)
		add_dealing(f, fixed, true, all);
	if (r->pp > 1 && f->stages)
		add_stages(f, fixed, all);
}

/* So rarely that collections take at most GC_PART of the time. */
static void add_gc(const struct remedies_facts *f, struct remedies *all)
{
	struct remedy one = changing(f, REMEDY_GC, REMEDY_MODEL, NAN);
	struct remedy_range after = f->gc_s;
	double each;

	if (isnan(f->gc_s.value) || !(f->pause_s >= 0))
		return;
	one.count = (size_t)MAX(ceil(f->pause_s / (GC_PART * f->gc_s.value)), 1);
	each = f->pause_s / (double)one.count;
	after.value += each;
	after.low += each;
	after.high += each;
	(void)snprintf(one.note, sizeof(one.note),
		       "collect on all workers at once, every %zu step%s: gc.disable(), then "
		       "gc.collect()",
		       one.count, one.count == 1 ? "" : "s");
	add(f, &one, after, all);
}

static void add_owner(const struct remedies_facts *f, struct remedies *all)
{
	struct remedy data = changing(f, REMEDY_DATA, REMEDY_BOUND, NAN);
	struct remedy sequences = changing(f, REMEDY_SEQUENCES, REMEDY_BOUND, NAN);
	const double waits = f->now_s - f->simulated_s;

	if (!isnan(f->sequences_s.value)) {
		(void)snprintf(
			sequences.note, sizeof(sequences.note),
			"at most: sequences distributed over replicas by the squares of their "
			"lengths");
		add(f, &sequences, f->sequences_s, all);
	}
	add_gc(f, all);
	(void)snprintf(
		data.note, sizeof(data.note),
		"at most: the part of a step outside its operations (data, interpreter, launches)");
	if (waits >= REMEDIES_LEAST_DATA * f->now_s)
		add(f, &data, just(f->simulated_s - waits), all);
}

/* --- order --- */

static double less(double a, double b)
{
	return a < b ? -1 : (a > b ? 1 : 0);
}

static int by_gain(const void *a, const void *b)
{
	const struct remedy *left = a, *right = b;
	double order = (double)right->possible - (double)left->possible;

	if (order == 0)
		order = less(right->over_s, left->over_s);
	if (order == 0)
		order = (double)left->kind - (double)right->kind;
	return order < 0 ? -1 : order > 0;
}

static int by_cost(const void *a, const void *b)
{
	const struct remedy *left = a, *right = b;
	double order = (double)right->possible - (double)left->possible;

	if (order == 0)
		order = less(left->cost_s, right->cost_s);
	if (order == 0)
		order = less(right->gain_s.value, left->gain_s.value);
	if (order == 0)
		order = (double)left->kind - (double)right->kind;
	return order < 0 ? -1 : order > 0;
}

size_t remedies_rung(const double *costs, size_t n, double lost_s)
{
	size_t rung = 0, i;

	for (i = 1; i < n && costs[i] <= lost_s; i++)
		rung = i;
	return rung;
}

/* Each costs more than the previous one, and gains more than all before. */
static size_t rungs_of(const struct remedies *all, size_t ret[static REMEDIES_MAX])
{
	double best = -1;
	size_t n = 0, i;

	for (i = 0; i < all->n && all->list[i].possible; i++) {
		if (all->list[i].gain_s.value <= best)
			continue;
		best = all->list[i].gain_s.value;
		ret[n++] = i;
	}
	return n;
}

static void climb(const struct remedies_facts *f, struct remedies *all)
{
	size_t rungs[REMEDIES_MAX] = { 0 }, n = rungs_of(all, rungs), rung, i;
	double costs[REMEDIES_MAX], loss; /* per step */

	if (n == 0)
		return;
	loss = all->list[rungs[n - 1]].gain_s.value;
	for (i = 0; i < n; i++)
		costs[i] = all->list[rungs[i]].cost_s;
	all->lost_s = f->slow_steps * loss;
	rung = remedies_rung(costs, n, isnan(all->lost_s) ? 0 : all->lost_s);
	all->advised = rungs[rung];
	if (rung + 1 == n)
		return;
	all->next = rungs[rung + 1];
	all->next_steps = (costs[rung + 1] - (isnan(all->lost_s) ? 0 : all->lost_s)) / loss;
}

/* By the gain over the remaining steps, or by the loss so far. */
static void sort(const struct remedies_facts *f, struct remedies *all)
{
	const bool known = !isnan(f->remaining);

	qsort(all->list, all->n, sizeof(all->list[0]), known ? by_gain : by_cost);
	all->advised = 0;
	all->next = all->n;
	all->next_steps = all->lost_s = NAN;
	if (!known)
		climb(f, all);
}

/* --- all remedies --- */

static bool is_time(double seconds)
{
	return seconds > 0 && isfinite(seconds);
}

static bool is_cost(double seconds, bool known)
{
	return (seconds >= 0 && isfinite(seconds)) || (!known && isnan(seconds));
}

static int check(const struct remedies_facts *f, struct err *err)
{
	const struct remedies_costs *c = &f->costs;

	if (!is_time(f->now_s) || !is_time(f->simulated_s))
		return err_set(err, EINVAL, "a step takes no time");
	if (f->n_sets > REMEDIES_SETS_MAX)
		return err_set(err, EINVAL, "%zu sets of hosts: expected at most %d", f->n_sets,
			       REMEDIES_SETS_MAX);
	if (f->replicas && !replicas_ok(f->replicas))
		return err_set(err, EINVAL,
			       "the shape of the job is out of bounds: at most %d workers and %d "
			       "micro-batches, each taking some time",
			       REPLICAS_WORKERS_MAX, REPLICAS_MICROBATCHES_MAX);
	if (!is_cost(c->restart_s, true) || !is_cost(c->lost_s, true) ||
	    !is_cost(c->warm_up_s, true) || !is_cost(c->regroup_s, false) ||
	    !is_cost(c->microbatches_s, false) || !is_cost(c->layers_s, false))
		return err_set(err, EINVAL, "a cost is not a number of seconds");
	if (f->remaining < 0 || f->slow_steps < 0)
		return err_set(err, EINVAL, "a number of steps is negative");
	return 0;
}

int remedies_find(const struct remedies_facts *facts, struct remedies *ret, struct err *err)
{
	int r = check(facts, err);

	if (r < 0)
		return r;
	ret->n = 0;
	add_nothing(facts, ret);
	add_replacing(facts, ret);
	add_shape(facts, ret);
	add_owner(facts, ret);
	sort(facts, ret);
	return 0;
}

struct remedies_loss remedies_without(const struct remedies_facts *f, const bool *gone)
{
	const struct replicas *r = f->replicas;
	CLEANUP(freep) bool *stop = xcalloc(r->dp, sizeof(*stop));
	struct remedies_loss loss = { .left = r->dp, .after_s = f->now_s };
	double fixed, time;
	size_t w;

	for (w = 0; w < r->dp * r->pp; w++) {
		if (!gone[w])
			continue;
		loss.workers++;
		loss.replicas += !stop[w / r->pp];
		stop[w / r->pp] = true;
	}
	loss.left -= loss.replicas;
	if (loss.replicas == 0)
		return loss;
	fixed = replicas_fixed(r, f->simulated_s);
	time = replicas_without(r, stop);
	loss.after_s = f->now_s - f->simulated_s + fixed + time;
	return loss;
}
