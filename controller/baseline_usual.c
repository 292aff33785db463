/* SPDX-License-Identifier: Apache-2.0 */
/* What hosts and their parts usually reach, of those under one key of the baselines. */
#include <math.h>

#include "controller/baseline_inside.h"
#include "lib/judge/verdict.h"
#include "lib/report.h"

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

void baseline_learn_usual(struct baseline *line, const struct verdict *verdict, const char *node,
			  const struct usual_value *values, size_t n)
{
	const struct center *fleet = baseline_center_but(line, node);
	const double control = fleet->n >= REFERENCE_N_MIN ? fleet->median : NAN;

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

	if (!line || fleet->n < REFERENCE_N_MIN)
		return 0;
	return usuals_whole(&line->usuals, report->node, m, fleet->median, ret);
}
