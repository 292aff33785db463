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

/* The center of the group's values; NAN when there is none. */
static double center_of_group(const struct report *report, const struct peers *peers, size_t group)
{
	CLEANUP(freep) double *values = xcalloc(peers->groups[group].n, sizeof(*values));
	size_t n = 0, i;

	for (i = 0; i < report->n_samples && n < peers->groups[group].n; i++) {
		const struct peer_view *view = &peers->views[i];

		if (view->compared && !view->repeat && view->group == group)
			values[n++] = report->samples[i].value;
	}
	stats_sort(values, n);
	return n > 0 && values[0] > 0 ? trend_center(values, n) : NAN;
}

static void add_whole(struct verdict *v, const struct report *report,
		      const struct judge_inputs *inputs, struct measure m, size_t first)
{
	struct expectation e[WHOLE_EXPECTATIONS];
	struct sample whole = report->samples[first];
	size_t n = inputs->whole(inputs->usual_context, &whole, &m, e);
	const struct expectation *worst = expectations_worst(e, n);

	if (expectations_level(e, n) == VERDICT_PASS)
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
	struct measure m;
	size_t i;

	for (i = 0; inputs->whole && i < peers->n_groups; i++) {
		const struct peer_group *group = &peers->groups[i];

		if (group->n < REFERENCE_N_MIN || group->unresolved)
			continue;
		m = peers->views[group->first].m;
		m.value = center_of_group(report, peers, i);
		if (isfinite(m.value))
			add_whole(v, report, inputs, m, group->first);
	}
}
