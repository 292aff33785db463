/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/peers.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"
#include "lib/judge/trend.h"
#include "lib/judge/twins.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"

struct member {
	struct kind kind;
	char *memory;  /* of the kind */
	size_t sample; /* number in the report */
	struct measure m;
	double value; /* the median of its thing */
	bool repeat;  /* an earlier sample measured the same: not a witness */
};

/* Groups members of the same kind, with ascending values. */
static int compare_members(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int r = kind_compare(&x->kind, &y->kind);

	if (r != 0)
		return r;
	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return (x->sample > y->sample) - (x->sample < y->sample);
}

static void set_floor(const struct sample *s, const struct judge_inputs *inputs, struct measure *m)
{
	double ratio = NAN, k = NAN;

	/* A ratio that was written for rates makes no sense for degrees. */
	if (inputs->floor && !m->family->heat &&
	    inputs->floor(inputs->floor_context, s->check, s->locality, &ratio, &k)) {
		m->slack = isfinite(ratio) ? 1 - ratio : m->slack;
		m->k = isfinite(k) ? k : m->k;
	}
}

bool peers_measure(const struct sample *s, const struct judge_inputs *inputs, struct measure *ret)
{
	if (!measure_of(s, ret))
		return false;
	set_floor(s, inputs, ret);
	return true;
}

static size_t collect(const struct report *report, const struct judge_inputs *inputs,
		      struct peer_view *views, struct member *members)
{
	CLEANUP(twins_release) struct twins twins = { 0 };
	size_t n = 0, i;

	twins_find(report, &twins);
	for (i = 0; i < report->n_samples; i++) {
		struct member *member = &members[n];
		struct peer_view *view = &views[i];

		view->m = twins.measure[i];
		view->measured = view->m.family;
		if (!view->measured)
			continue;
		set_floor(&report->samples[i], inputs, &view->m);
		if (!view->m.family->compared || view->m.family->alone)
			continue;
		member->m = view->m;
		member->kind = kind_of(&report->samples[i], &member->memory);
		member->sample = i;
		member->value = twins.value[i];
		member->repeat = twins_repeat(&twins, i);
		n++;
	}
	return n;
}

/*
 * If most are slow by the same amount, the median is slow too and nobody is low against it. The
 * upper quartile still shows it.
 */
static bool far_below_the_good(const struct measure *m, const double *sorted, size_t n)
{
	double good = stats_quantile(sorted, n, m->lower ? 0.25 : 0.75);

	if (n <= REFERENCE_N_MIN)
		return false;
	return m->lower ? m->value > good * (1 + REFERENCE_FEW_SLACK)
			: m->value < good * (1 - REFERENCE_FEW_SLACK);
}

/* Half or more are low; of two, the low one is just the slower one. */
static bool is_spread(size_t n_low, size_t n)
{
	return n_low >= 2 && 2 * n_low >= n;
}

static double median_of_low(const struct peer_view *views, const struct member *members, size_t n)
{
	CLEANUP(freep) double *low = xcalloc(n, sizeof(*low));
	size_t n_low = 0, i;

	for (i = 0; i < n; i++) {
		if (views[members[i].sample].low && !members[i].repeat)
			low[n_low++] = members[i].value;
	}
	return stats_median(low, n_low);
}

/* One value per thing, ascending; returns how many. */
static size_t witnesses_of(const struct member *members, size_t n, double *ret_sorted)
{
	size_t n_witnesses = 0, i;

	for (i = 0; i < n; i++) {
		if (!members[i].repeat)
			ret_sorted[n_witnesses++] = members[i].value;
	}
	return n_witnesses;
}

/* Half or more are low: nobody is blamed by the others. */
static void view_spread(const struct member *members, size_t n, const double *sorted,
			struct peer_group *group, struct peers *p)
{
	size_t i;

	group->n_low = 0;
	for (i = 0; i < n; i++) {
		struct peer_view *view = &p->views[members[i].sample];

		view->low |= far_below_the_good(&members[i].m, sorted, group->n);
		view->known = false;
		group->n_low += view->low && !members[i].repeat;
	}
	group->typical = median_of_low(p->views, members, n);
}

static void view_group(struct member *members, size_t n, double within, struct peers *p)
{
	struct peer_group *group = &p->groups[p->n_groups];
	CLEANUP(freep) double *sorted = xcalloc(n, sizeof(*sorted));
	CLEANUP(freep) double *others = xcalloc(n, sizeof(*others));
	size_t n_far = 0, seen = 0, i;

	*group = (struct peer_group){ .n = witnesses_of(members, n, sorted),
				      .first = members[0].sample };
	group->best = members[0].m.lower ? sorted[0] : sorted[group->n - 1];
	for (i = 0; i < n; i++) {
		struct peer_view *view = &p->views[members[i].sample];

		/* A repeat comes after a witness with its value; without that it would be alone. */
		seen += !members[i].repeat;
		stats_leave_out(sorted, group->n, seen - 1, others);
		view->compared = true;
		view->repeat = members[i].repeat;
		view->group = p->n_groups;
		members[i].m.within = within;
		view->known = expectation_from_peers(&members[i].m, others, group->n - 1, &view->e);
		view->low = view->known && view->e.low;
		if (members[i].repeat)
			continue;
		group->n_low += view->low;
		n_far += far_below_the_good(&members[i].m, sorted, group->n);
	}
	group->spread = is_spread(group->n_low, group->n) || is_spread(n_far, group->n);
	p->n_groups++;
	if (group->spread)
		view_spread(members, n, sorted, group, p);
}

double peers_within(const struct report *report, const struct judge_inputs *inputs, size_t sample)
{
	return inputs->within ? inputs->within(inputs->fleet_context, &report->samples[sample]) : 0;
}

void peers_build(const struct report *report, const struct judge_inputs *inputs, struct peers *ret)
{
	struct member *members = xrealloc(NULL, report->n_samples + 1, sizeof(*members));
	struct peer_view *views = xcalloc(report->n_samples + 1, sizeof(*views));
	size_t n = collect(report, inputs, views, members), i, end;

	*ret = (struct peers){
		.views = views,
		.groups = xcalloc(n + 1, sizeof(*ret->groups)),
	};
	qsort(members, n, sizeof(*members), compare_members);
	for (i = 0; i < n; i = end) {
		end = i + 1;
		while (end < n && kind_compare(&members[end].kind, &members[i].kind) == 0)
			end++;
		view_group(&members[i], end - i, peers_within(report, inputs, members[i].sample),
			   ret);
	}
	for (i = 0; i < n; i++)
		free(members[i].memory);
	free(members);
}

static bool from_sku(const struct sample *s, const struct judge_inputs *inputs,
		     const struct measure *m, struct expectation *ret)
{
	double expected = NAN, floor = NAN;

	return inputs->sku && inputs->sku(inputs->sku_context, s, &expected, &floor) &&
	       expectation_from_sku(m, expected, floor, ret);
}

static bool from_history(const struct sample *s, const struct judge_inputs *inputs,
			 const struct measure *m, struct expectation *ret)
{
	double values[REFERENCE_HISTORY_MAX];
	CLEANUP(freep) char *key = NULL;
	size_t n;

	if (!inputs->history)
		return false;
	key = params_key(s);
	n = inputs->history(inputs->history_context, s->check, s->subject, key, values,
			    ARRAY_SIZE(values));
	return expectation_from_history(m, values, n, ret);
}

/*
 * Its usual ratio to its peers, times what they reach now; with few peers, its ratio to the fleet.
 */
static bool from_usual(const struct sample *s, const struct judge_inputs *inputs,
		       const struct peer_view *view, const struct measure *m,
		       struct expectation *ret)
{
	double values[TREND_MAX];
	size_t n, i;

	if (!view->compared)
		return false;
	if (view->e.n < REFERENCE_N_MIN) {
		n = inputs->own ? inputs->own(inputs->usual_context, s, values) : 0;
		return expectation_from_history(m, values, n, ret);
	}
	if (!inputs->usual)
		return false;
	n = inputs->usual(inputs->usual_context, s, values);
	for (i = 0; i < n; i++)
		values[i] *= view->e.expected;
	return expectation_from_history(m, values, n, ret);
}

size_t peers_expectations(const struct sample *s, const struct judge_inputs *inputs,
			  const struct peer_view *view,
			  struct expectation ret[static EXPECTATIONS_MAX])
{
	size_t n = 0;

	if (!view->measured)
		return 0;
	if (view->known)
		ret[n++] = view->e;
	n += from_history(s, inputs, &view->m, &ret[n]);
	n += from_usual(s, inputs, view, &view->m, &ret[n]);
	n += inputs->fleet && inputs->fleet(inputs->fleet_context, s, &view->m, &ret[n]);
	n += from_sku(s, inputs, &view->m, &ret[n]);
	return n;
}

void peers_release(struct peers *p)
{
	free(p->views);
	free(p->groups);
	*p = (struct peers){ 0 };
}
