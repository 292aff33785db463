/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "lib/xalloc.h"
#include "probes/all_to_all/all_to_all.h"

static void fill_down(struct sample *s, struct all_to_all *t, const char *subject, unsigned up,
		      unsigned most)
{
	s->ok = TRI_NO;
	s->severity = SEVERITY_FAIL;
	s->code = xstrdup("nvlink-down");
	s->note = xasprintf("%u of %u NVLinks are up, as many as its peers have", up, most);
	(void)snprintf(t->suspect, sizeof(t->suspect), "%s has %u of %u NVLinks", subject, up, most);
}

/* How many are built in is not the measure: a bridge may use a part of them on every GPU. */
int all_to_all_links(struct all_to_all *t)
{
	struct accel *a = t->plan->accel;
	unsigned up[COLL_RANKS_MAX] = { 0 }, most = 0, i;
	int r = 0;

	for (i = 0; i < t->n; i++) {
		struct accel_condition now = { 0 };

		if (a->ops->condition(a, i, &now, NULL) == 0)
			up[i] = now.links_up;
		most = MAX(most, up[i]);
	}
	for (i = 0; r == 0 && i < t->n && most; i++) {
		const char *subject = t->devices[i].subject;
		struct sample s = sample_init();

		s.check = xstrdup("all_to_all.nvlinks");
		s.subject = xstrdup(subject);
		s.locality = xstrdup("self");
		s.unit = xstrdup("1");
		s.value = up[i];
		s.ok = TRI_YES;
		if (up[i] < most)
			fill_down(&s, t, subject, up[i], most);
		r = all_to_all_emit(t, &s);
	}
	return r;
}
