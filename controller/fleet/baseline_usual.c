/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/baseline_usual.h"

#include <math.h>
#include <search.h>

#include "controller/fleet/baseline_hosts.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"

/* A host is low as a whole if its median part is this far below those of others, as a logarithm. */
#define WHOLE_LOW 0.05

/* An outlier must be this many slacks below the median: 7.5 % for a slack of 5 %. */
#define APART_SLACKS 1.5

/*
 * A part is alone, so that few runs suffice, if it is DEEP_K standard deviations of a host's parts
 * below the median, and ALONE_K, at least 3 %, below the next of its SKU. The heaviest known tail
 * of good parts falls to a third within 1.3 of them (tests/sim/noise.c): one such tail in seven
 * ends that far from the next part.
 */
#define DEEP_K 6.0
#define ALONE_K 2.5
#define ALONE_MIN 0.03

/* Is it below its own usual value in the check? Hosts born slow go on learning. */
static bool has_dropped(const struct verdict *v, const char *check)
{
	size_t i;

	for (i = 0; i < v->n_items && v->items[i].level != VERDICT_PASS; i++) {
		if (v->items[i].usual == USUAL_DROPPED && streq(v->items[i].check, check))
			return true;
	}
	return false;
}

/*
 * A single low run counts for little (self_baseline.c), and what all hosts have in common cancels
 * out. A host that is low as a whole has the same tail as others: that loss is not attributed to
 * its parts.
 */
static void learn_tail(struct baseline *line, const char *node,
		       const struct self_baseline_value *values, size_t n)
{
	const bool lower = line->key.kind.better == BETTER_LOWER;
	const struct center *hosts = baseline_center_but(line, node);
	const double side = lower ? -1 : 1;
	double whole = 0;

	if (n <= REFERENCE_N_MIN || !(values[0].value > 0))
		return;
	if (hosts->n >= WITHIN_HOSTS_MIN)
		self_baselines_set_spread(&line->usuals, line->within / hosts->median);
	/* With fewer it is unknown which host is low, and a good one would hide the tails of
	 * others. */
	if (hosts->n >= REFERENCE_N_MIN)
		whole = side * log(values[n / 2].value / hosts->median);
	if (whole > -WHOLE_LOW)
		whole = 0;
	self_baselines_tail(&line->usuals, node, side * log(values[lower ? n - 1 : 0].value) - whole,
			    side * log(values[lower ? n - 2 : 1].value) - whole);
}

/*
 * Parts vary as silicon does, with a long tail: one far below the median is low only if no other
 * part is near it, or it is beyond what any good part reaches.
 */
static void hold_part(struct baseline *line, const char *node, const struct measure *m,
		      double middle, struct expectation *e)
{
	const double beyond = m->lower ? e->expected / m->value : m->value / e->expected;
	const double slack = APART_SLACKS * m->slack;
	enum self_baseline_place place;
	const double within = line->within / e->expected;
	const double value = m->lower ? -log(m->value) : log(m->value);
	struct self_baseline_limits limits = { -INFINITY, -INFINITY };
	bool alone;

	place = self_baselines_place(&line->usuals, node, &limits);
	if (place == PLACE_UNKNOWN)
		return;
	alone = e->low && value < limits.next - fmax(ALONE_MIN, ALONE_K * within) - within &&
		beyond < 1 - DEEP_K * within;
	/* A single run tells less, the more so the more parts differ. */
	if (place == PLACE_EARLY)
		limits.apart = alone ? limits.next : limits.apart - within;
	/* A host that is low as a whole has no such tail: hosts vary less than parts. */
	if (e->n >= REFERENCE_N_MIN && (m->lower ? middle > e->expected * (1 + m->slack)
						 : middle < e->expected * (1 - m->slack)))
		return;
	e->low = beyond < REFERENCE_BROKEN ||
		 ((alone || beyond < 1 - slack) && value < limits.apart);
	e->deep = alone && e->low;
	e->parts = true;
	e->limit = m->lower ? e->expected / REFERENCE_TAIL : e->expected * REFERENCE_TAIL;
	e->far = e->low && beyond < REFERENCE_TAIL;
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
	struct self_baseline_limits limits;

	/* Too few hosts for a median, but they have many parts. */
	if (parts && center->n < REFERENCE_N_MIN &&
	    self_baselines_place(&line->usuals, node, &limits) != PLACE_UNKNOWN)
		few.n = REFERENCE_N_MIN;
	if (!expectation_from_fleet(m, &few, ret))
		return false;
	ret->n = center->n;
	if (parts)
		hold_part(line, node, m, middle, ret);
	return true;
}

struct among {
	const struct baseline *line;
	const char *node, *subject;
	const struct measure *m;
	double middle;
	bool found;
};

/* Is its ratio to the other parts of its host the same as there? */
static bool is_as_there(struct self_baselines *there, const struct among *among)
{
	double ratios[TREND_MAX];
	struct measure beside = *among->m;
	struct expectation usual;
	const size_t n = self_baselines_part(there, among->node, among->subject, ratios);

	beside.value /= among->middle;
	return expectation_from_history(&beside, ratios, n, &usual) && !usual.low;
}

static void look_among(const void *at, VISIT visit, void *closure)
{
	struct baseline *other = *(struct baseline *const *)at;
	struct among *among = closure;
	struct kind kind = other->key.kind;

	if ((visit != postorder && visit != leaf) || among->found || other == among->line ||
	    other->usuals.n_tails <= among->line->usuals.n_tails ||
	    !streq(other->sku, among->line->sku))
		return;
	kind.params = among->line->key.kind.params;
	among->found = kind_compare(&kind, &among->line->key.kind) == 0 &&
		       self_baselines_among(&other->usuals, among->node) &&
		       is_as_there(&other->usuals, among);
}

bool baselines_among(const struct baselines *b, const struct baseline *line,
		     const struct baseline_part *part)
{
	struct among among = { .line = line,
			       .node = part->node,
			       .subject = part->subject,
			       .m = part->m,
			       .middle = part->middle };

	twalk_r(b->tree, look_among, &among);
	return among.found;
}

void baseline_learn_usual(struct baseline *line, const struct verdict *verdict, const char *node,
			  const struct self_baseline_value *values, size_t n)
{
	const struct center *fleet = baseline_center_but(line, node);
	const double control = fleet->n >= WITHIN_HOSTS_MIN ? fleet->median : NAN;

	learn_tail(line, node, values, n);
	self_baselines_note(&line->usuals, node, values, n, control);
	if (!has_dropped(verdict, line->check))
		self_baselines_learn(&line->usuals, node, values, n, control);
}
