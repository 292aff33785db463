/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/decide_let_go.h"

#include "lib/base/duration.h"
#include "lib/policy/decide_inside.h"

#define LET_GO_US USEC_PER_DAY

/*
 * What was in a notice that says what it shares is its host's own once that is over for a day, for
 * heat and load come and go with the hours, and it was bad as often as the rule asks in runs since:
 * those before, and tests among them, were of what it shared.
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
	    deciding_reached(d, finding->told_us, LET_GO_US))
		finding->told_us = 0;
	finding->shared |= finding->told_us > 0;
}

void decide_let_go(struct deciding *d)
{
	size_t i;

	for (i = 0; i < d->out->n_candidates; i++)
		let_go(d, &d->out->candidates[i]);
}
