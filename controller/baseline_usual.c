/* SPDX-License-Identifier: Apache-2.0 */
/* What hosts and their parts usually reach, of those under one key of the baselines. */
#include <math.h>

#include "controller/baseline_inside.h"
#include "lib/judge/verdict.h"
#include "lib/report.h"

/* A host whose middle part is so far beyond those of the others is low as a whole. */
#define WHOLE_LOW 0.05

/* So many slacks below the middle a part that is apart is told: 7.5 % where that is 5 %. */
#define APART_SLACKS 1.5

/* Is it below its own usual in the check? What was born low goes on to be learnt. */
static bool has_dropped(const struct verdict *v, const char *check)
{
	size_t i;

	for (i = 0; i < v->n_items && v->items[i].level != VERDICT_PASS; i++) {
		if (v->items[i].usual == USUAL_DROPPED && streq(v->items[i].check, check))
			return true;
	}
	return false;
}

/* A run that is low once counts for little (usual.c); what all have in common comes out even. */
static void learn_tail(struct baseline *line, const char *node, const struct usual_value *values,
		       size_t n)
{
	const bool lower = line->key.kind.better == BETTER_LOWER;
	const struct center *hosts = baseline_center_but(line, node);
	const double middle = n > 0 ? values[n / 2].value / hosts->median : NAN;

	/* The parts of a host that is low as a whole are no tail of good ones. */
	if (hosts->n >= WITHIN_HOSTS_MIN &&
	    (lower ? middle > 1 + WHOLE_LOW : middle < 1 - WHOLE_LOW)) {
		usuals_no_tail(&line->usuals, node);
		return;
	}
	if (n <= REFERENCE_N_MIN || !(values[0].value > 0))
		return;
	usuals_tail(&line->usuals, node, lower ? -log(values[n - 1].value) : log(values[0].value),
		    lower ? -log(values[n - 2].value) : log(values[1].value));
}

/*
 * Parts spread as silicon does, with a long tail: what is far below the middle is low only when it
 * has no other part near it, or is so far that no good one is.
 */
static void hold_part(struct baseline *line, const char *node, const struct measure *m,
		      double middle, struct expectation *e)
{
	const double beyond = m->lower ? e->expected / m->value : m->value / e->expected;
	const double far = m->lower ? m->value - e->expected : e->expected - m->value;
	const bool deep = line->within > 0 && far > USUAL_DEEP_K * line->within && e->low;
	enum usual_place place;
	double apart = -INFINITY;

	place = usuals_place(&line->usuals, node, deep ? USUAL_APART_DEEP : USUAL_APART, &apart);
	if (place == PLACE_UNKNOWN)
		return;
	/* One run tells less, and so much less as parts differ more. */
	if (place == PLACE_EARLY)
		apart -= line->within / e->expected;
	/* A host that is low as a whole has no tail: hosts differ less than parts. */
	if (e->n >= REFERENCE_N_MIN && (m->lower ? middle > e->expected * (1 + m->slack)
						 : middle < e->expected * (1 - m->slack)))
		return;
	e->low = beyond < REFERENCE_BROKEN || ((deep || beyond < 1 - APART_SLACKS * m->slack) &&
					       (m->lower ? -log(m->value) : log(m->value)) < apart);
	e->far &= e->low;
	e->deep = deep && e->low;
	if (e->low && e->margin >= 1) {
		e->floor = e->expected * (m->lower ? 1 + m->slack : 1 - m->slack);
		e->margin = beyond / (1 - m->slack);
	}
}

bool baseline_hold(struct baseline *line, const char *node, const struct measure *m, double middle,
		   struct expectation *ret)
{
	const struct center *center = baseline_center_but(line, node);
	const bool parts = m->family->silicon && line->within > 0;
	struct center few = *center;
	double apart;

	/* So few hosts tell no median, but their parts are many. */
	if (parts && center->n < REFERENCE_N_MIN &&
	    usuals_place(&line->usuals, node, USUAL_APART, &apart) != PLACE_UNKNOWN)
		few.n = REFERENCE_N_MIN;
	if (!expectation_from_fleet(m, &few, ret))
		return false;
	ret->n = center->n;
	if (parts)
		hold_part(line, node, m, middle, ret);
	return true;
}

void baseline_learn_usual(struct baseline *line, const struct verdict *verdict, const char *node,
			  const struct usual_value *values, size_t n)
{
	const struct center *fleet = baseline_center_but(line, node);
	const double control = fleet->n >= WITHIN_HOSTS_MIN ? fleet->median : NAN;

	learn_tail(line, node, values, n);
	usuals_note(&line->usuals, node, values, n, control);
	if (!has_dropped(verdict, line->check))
		usuals_learn(&line->usuals, node, values, n, control);
}

size_t baselines_usual(const struct baselines *b, const struct report *report,
		       const struct sample *s, double *ret_ratios)
{
	struct baseline *line = baseline_of(b, report->sku, s);

	return line ? usuals_part(&line->usuals, report->node, s->subject, ret_ratios) : 0;
}

size_t baselines_whole(const struct baselines *b, const struct report *report,
		       const struct sample *s, const struct measure *m, struct expectation *ret)
{
	struct baseline *line = baseline_of(b, report->sku, s);
	const struct center *fleet = line ? baseline_center_but(line, report->node) : NULL;

	/* A few are control enough for what a host was itself; its level is held against more. */
	if (!line || fleet->n < WITHIN_HOSTS_MIN)
		return 0;
	return usuals_whole(&line->usuals, report->node, m, fleet->median, ret);
}
