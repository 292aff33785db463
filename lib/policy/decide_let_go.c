/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/decide_let_go.h"

#include "lib/base/duration.h"
#include "lib/policy/decide_inside.h"

#define LET_GO_US USEC_PER_DAY

/* If this many hosts that were in a notice together are still bad, they still share the cause. */
enum { STILL_MIN = 3 };

/*
 * True if it was in a notice at the same time, and is bad by its rule still, including a run since.
 */
static bool is_fellow(const struct candidate *c, const struct candidate *other)
{
	const uint64_t a_us = c->finding->told_us, b_us = other->finding->told_us;

	return other->node != c->node && !other->suspect && b_us > 0 &&
	       other->finding->runs_since > 0 &&
	       (a_us > b_us ? a_us - b_us : b_us - a_us) < LET_GO_US &&
	       streq(other->finding->check, c->finding->check) &&
	       ((c->node->domain != NAME_NONE && other->node->domain == c->node->domain) ||
		other->node->sku == c->node->sku);
}

static bool has_fellows(const struct deciding *d, const struct candidate *c)
{
	size_t n = 1, i;

	for (i = 0; i < d->out->n_candidates && n < STILL_MIN; i++)
		n += is_fellow(c, &d->out->candidates[i]);
	return n >= STILL_MIN;
}

/*
 * A finding from a notice becomes its host's own again once the notice has been over for a day
 * (heat and load vary over the day) and it was bad as often as the rule asks in runs since; earlier
 * runs, and tests among them, may show the shared cause. Not while others from the same notice are
 * still bad: if a cause costs little more than the floor allows, each host passes now and then, so
 * the notice ends for lack of hosts while the cause remains.
 */
static void let_go(const struct deciding *d, const struct candidate *c)
{
	struct finding *finding = c->finding;
	unsigned n;

	if (c->fatal || (!c->told && finding->told_us == 0))
		return;
	if (c->told) {
		finding->told_us = d->now_us;
		finding->run_us = finding->seen_us;
		finding->runs_since = 0;
		finding->reproduced = finding->passed = 0;
		return;
	}
	finding->runs_since += finding->seen_us > finding->run_us;
	finding->run_us = finding->seen_us;
	n = MIN(finding->runs_since, (unsigned)c->rule->n);
	if (n > 0 && windows_reached(&finding->windows, (unsigned)c->rule->k, n) &&
	    deciding_reached(d, finding->told_us, LET_GO_US) && !has_fellows(d, c))
		finding->told_us = 0;
	finding->shared |= finding->told_us > 0;
}

void decide_let_go(struct deciding *d)
{
	size_t i;

	for (i = 0; i < d->out->n_candidates; i++)
		let_go(d, &d->out->candidates[i]);
}
