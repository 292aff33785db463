/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/all_to_all/all_to_all_run.h"

#include <stdlib.h>

#include "probes/all_to_all/all_to_all.h"
#include "probes/all_to_all/all_to_all_pairs.h"
#include "probes/all_to_all/all_to_all_rate.h"

int all_to_all_measure(struct all_to_all *t)
{
	int r = all_to_all_verify(t);

	if (r == 0 && !t->over)
		r = all_to_all_rate(t);
	if (r == 0 && !t->over && !all_to_all_gives_way(t) && (t->plan->full || t->suspect[0]))
		r = all_to_all_pairs(t);
	/* It is valid even if a pair did not end. */
	if (r == 0 && (t->total.n || t->total.state != SAMPLE_MEASURED))
		r = all_to_all_emit(t, &t->total);
	return r;
}

void all_to_all_release(struct all_to_all *t)
{
	sample_release(&t->total);
	free(t->pairs);
	free(t->guard);
	if (t->coll && !t->plan->leaves)
		t->coll->ops->close(t->coll);
}
