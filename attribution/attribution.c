/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/attribution.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"

int attribution_new(struct trace *trace, bool align, size_t n_threads,
		    struct attribution **ret_attribution, struct err *err)
{
	CLEANUP(attribution_freep) struct attribution *a = xcalloc(1, sizeof(*a));
	int r;

	a->trace = trace;
	a->aligned = align;
	r = graph_new(trace, &a->graph, err);
	if (r == 0 && align)
		r = align_clocks(trace, a->graph, &a->alignment, err);
	if (r == 0)
		r = cost_find(trace, a->graph, n_threads, &a->cost, err);
	if (r == 0)
		r = slowdown_find(trace, a->graph, &a->cost, n_threads, &a->slowdown, err);
	if (r < 0)
		return r;
	a->cause = cause_find(trace, &a->slowdown);
	a->hints = hints_find(trace, a->graph);
	*ret_attribution = TAKE(a);
	return 0;
}

void attribution_free(struct attribution *a)
{
	if (!a)
		return;
	hints_release(&a->hints);
	slowdown_release(&a->slowdown);
	cost_release(&a->cost);
	alignment_release(&a->alignment);
	graph_free(a->graph);
	trace_free(a->trace);
	free(a);
}
