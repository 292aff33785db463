/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "lib/base/xalloc.h"
#include "probes/all_to_all/all_to_all.h"

enum { LINKS_MAX = 64, NAMES_SIZE = 256 };

/* "link 3", "links 3, 12": those that are down; "" none is known. */
static void name_down(uint64_t down, char ret[static NAMES_SIZE])
{
	unsigned link;
	size_t used = 0;

	ret[0] = '\0';
	for (link = 0; link < LINKS_MAX && used < NAMES_SIZE; link++) {
		if (!(down & UINT64_C(1) << link))
			continue;
		used += (size_t)snprintf(ret + used, NAMES_SIZE - used, "%s%u",
					 used		       ? ", "
					 : (down & (down - 1)) ? "links "
							       : "link ",
					 link);
	}
}

static void fill_down(struct sample *s, struct all_to_all *t, const struct all_to_all_end *end,
		      const struct accel_condition *now, unsigned most)
{
	char names[NAMES_SIZE];

	name_down(now->links_down, names);
	s->ok = TRI_NO;
	s->severity = SEVERITY_FAIL;
	s->code = xstrdup("nvlink-down");
	s->note = xasprintf("%u of %u NVLinks are up, the same as its peers%s%s (%s)",
			    now->links_up, most, names[0] ? "; down: " : "", names, end->pci);
	(void)snprintf(t->suspect, sizeof(t->suspect), "%s has %u of %u NVLinks", end->subject,
		       now->links_up, most);
}

static struct sample sample_of(const struct all_to_all_end *end, unsigned up)
{
	struct sample s = sample_init();

	s.check = xstrdup("all_to_all.nvlinks");
	s.subject = xstrdup(end->subject);
	s.locality = xstrdup("self");
	s.unit = xstrdup("1");
	s.value = up;
	s.ok = TRI_YES;
	return s;
}

/* How many are built in is not the measure: a bridge may use a part of them on every GPU. */
int all_to_all_links(struct all_to_all *t)
{
	struct accel *a = t->plan->accel;
	struct accel_condition now[COLL_RANKS_MAX] = { { 0 } };
	unsigned most = 0, i;
	int r = 0;

	for (i = 0; i < t->n; i++) {
		if (a->ops->condition(a, i, &now[i], NULL) < 0)
			now[i] = (struct accel_condition){ 0 };
		most = MAX(most, now[i].links_up);
		t->links_to = i == 0 || t->links_to == now[i].links_to ? now[i].links_to
								       : ACCEL_LINKS_UNKNOWN;
	}
	for (i = 0; r == 0 && i < t->n && most; i++) {
		struct sample s = sample_of(&t->ends[i], now[i].links_up);

		if (now[i].links_up < most)
			fill_down(&s, t, &t->ends[i], &now[i], most);
		r = all_to_all_emit(t, &s);
	}
	return r;
}
