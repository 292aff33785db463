/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/standing.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/missing.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"

bool standing_possible(const struct report *report, const struct verdict *now)
{
	size_t i;

	if (streq(report->profile, PROFILE_HAND_PICKED))
		return true;
	for (i = 0; i < report->n_problems; i++) {
		if (report->problems[i].code != PROBLEM_NOT_APPLICABLE)
			return true;
	}
	for (i = 0; i < now->n_items; i++) {
		if (now->items[i].level == VERDICT_INCONCLUSIVE)
			return true;
	}
	return false;
}

static int compare_names(const struct verdict_item *x, const struct verdict_item *y)
{
	int r = strcmp(x->check, y->check);

	return r ? r : strcmp(x->subject, y->subject);
}

/* By name, then in the order of the verdict, worst first. */
static int compare_items(const void *a, const void *b)
{
	const struct verdict_item *x = *(const struct verdict_item *const *)a;
	const struct verdict_item *y = *(const struct verdict_item *const *)b;
	int r = compare_names(x, y);

	return r ? r : (x > y) - (x < y);
}

static const struct verdict_item **sorted_items(const struct verdict *v)
{
	const struct verdict_item **sorted = xcalloc(v->n_items + 1, sizeof(*sorted));
	size_t i;

	for (i = 0; i < v->n_items; i++)
		sorted[i] = &v->items[i];
	qsort(sorted, v->n_items, sizeof(*sorted), compare_items);
	return sorted;
}

/* The worst one of the same name, or NULL. */
static const struct verdict_item *find_item(const struct verdict_item *const *sorted, size_t n,
					    const struct verdict_item *like)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (compare_names(sorted[mid], like) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && compare_names(sorted[low], like) == 0 ? sorted[low] : NULL;
}

void standing_keep(struct verdict *earlier, const struct report *report, const struct verdict *now)
{
	CLEANUP(freep) const struct verdict_item **sorted = sorted_items(now);
	size_t n = 0, i;

	for (i = 0; i < earlier->n_items; i++) {
		const struct verdict_item *item = &earlier->items[i];
		const struct verdict_item *newer = find_item(sorted, now->n_items, item);

		if (newer ? verdict_item_outlives(item, newer)
			  : missing_excused(report, item->check))
			earlier->items[n++] = *item;
		else if (!earlier->borrows)
			verdict_item_release(&earlier->items[i]);
	}
	earlier->n_items = n;
	verdict_conclude(earlier);
}
