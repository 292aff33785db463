/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/verdict_whole.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/peers.h"
#include "lib/judge/stats.h"
#include "lib/judge/trend.h"
#include "lib/judge/verdict_item.h"
#include "lib/judge/words.h"
#include "lib/report/report.h"

/* The group's values, ascending. New memory. */
static double *values_of(const struct report *report, const struct peers *peers, size_t group,
			 size_t *ret_n)
{
	double *values = xcalloc(peers->groups[group].n + 1, sizeof(*values));
	size_t n = 0, i;

	for (i = 0; i < report->n_samples && n < peers->groups[group].n; i++) {
		const struct peer_view *view = &peers->views[i];

		if (view->compared && !view->repeat && view->group == group)
			values[n++] = report->samples[i].value;
	}
	stats_sort(values, n);
	*ret_n = n;
	return values;
}

/*
 * How many values stand out from their median on the bad side; `within` is the standard deviation
 * of good ones.
 */
static size_t count_out(const struct measure *m, const double *sorted, size_t n, double within)
{
	const double median = stats_median(sorted, n), off = REFERENCE_K * within;
	size_t out = 0;

	while (out < n &&
	       (m->lower ? sorted[n - 1 - out] > median + off : sorted[out] < median - off))
		out++;
	return out;
}

/*
 * The center without these; it leaves out one of them anyway. Two slow parts of eight move a center
 * by more than good hosts differ, but they are reported themselves, and a problem of the whole host
 * affects the other parts too.
 */
static double center_of_others(const struct measure *m, const double *sorted, size_t n,
			       double within)
{
	size_t out = within > 0 ? count_out(m, sorted, n, within) : 0;

	if (out <= 1 || n - out < REFERENCE_N_MIN)
		return trend_center(sorted, n);
	return trend_center(m->lower ? sorted : sorted + out - 1, n - (out - 1));
}

/*
 * True if it is low against other hosts only because of parts that stand out, without which it
 * would reach `others`. A drop below its own usual value counts, whichever parts caused it.
 */
static bool is_by_parts(const struct sample *whole, const struct judge_inputs *inputs,
			struct measure m, double others, unsigned low_by)
{
	struct expectation e[WHOLE_EXPECTATIONS];

	if (low_by & 1U << SOURCE_HISTORY)
		return false;
	m.value = others;
	return expectations_level(e, inputs->whole(inputs->usual_context, whole, &m, e)) ==
	       VERDICT_PASS;
}

static void add_whole(struct verdict *v, const struct report *report,
		      const struct judge_inputs *inputs, struct measure m, double others,
		      size_t first)
{
	struct expectation e[WHOLE_EXPECTATIONS];
	struct sample whole = report->samples[first];
	size_t n = inputs->whole(inputs->usual_context, &whole, &m, e);
	const struct expectation *worst = expectations_worst(e, n);

	if (expectations_level(e, n) == VERDICT_PASS ||
	    is_by_parts(&whole, inputs, m, others, expectations_by(e, n, true)))
		return;
	whole.subject = report->node;
	whole.value = m.value;
	verdict_add(v, report, inputs,
		    (struct verdict_item){
			    .check = verdict_text(inputs, whole.check),
			    .subject = verdict_text(inputs, report->node),
			    .level = expectations_level(e, n),
			    .usual = expectations_usual(e, n),
			    .known_by = expectations_by(e, n, false),
			    .low_by = expectations_by(e, n, true),
			    .value = m.value,
			    .unit = verdict_text(inputs, whole.unit),
			    .expected = worst->expected,
			    .floor = worst->floor,
			    .source = worst->source,
			    .n = worst->n,
			    .sentence = words_low(&whole, e, n),
		    });
}

void verdict_add_wholes(struct verdict *v, const struct report *report,
			const struct judge_inputs *inputs, const struct peers *peers)
{
	size_t i;

	for (i = 0; inputs->whole && i < peers->n_groups; i++) {
		const struct peer_group *group = &peers->groups[i];
		CLEANUP(freep) double *values = NULL;
		struct measure m;
		double within;
		size_t n;

		if (group->n < REFERENCE_N_MIN || group->unresolved)
			continue;
		values = values_of(report, peers, i, &n);
		if (n == 0 || !(values[0] > 0))
			continue;
		within = peers_within(report, inputs, group->first);
		m = peers->views[group->first].m;
		m.value = trend_center(values, n);
		add_whole(v, report, inputs, m, center_of_others(&m, values, n, within),
			  group->first);
	}
}
