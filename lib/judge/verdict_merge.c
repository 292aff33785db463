/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/judge/missing.h"
#include "lib/judge/verdict_item.h"
#include "lib/report/report.h"

/* One run, with its items sorted by (check, subject). */
struct run {
	const struct verdict *v;
	bool active;
	const struct verdict_item **sorted;
};

/* Newest first: by seq, which no clock affects; RFC 3339 UTC times sort as text. */
static int compare_runs(const void *a, const void *b)
{
	const struct verdict *x = ((const struct run *)a)->v, *y = ((const struct run *)b)->v;

	if (x->seq && y->seq && x->seq != y->seq)
		return y->seq > x->seq ? 1 : -1;
	return strcmp(y->time ? y->time : "", x->time ? x->time : "");
}

static int compare_items(const void *a, const void *b)
{
	const struct verdict_item *x = *(const struct verdict_item *const *)a;
	const struct verdict_item *y = *(const struct verdict_item *const *)b;
	int r = strcmp(x->check, y->check);

	return r ? r : strcmp(x->subject, y->subject);
}

static void run_sort(struct run *run, bool alone)
{
	size_t i;

	/* Only other runs look things up in it. */
	if (alone)
		return;
	run->sorted = xcalloc(run->v->n_items + 1, sizeof(struct verdict_item *));
	for (i = 0; i < run->v->n_items; i++)
		run->sorted[i] = &run->v->items[i];
	qsort(run->sorted, run->v->n_items, sizeof(*run->sorted), compare_items);
}

static const struct verdict_item *run_find(const struct run *run, const struct verdict_item *item)
{
	const struct verdict_item *const *found =
		bsearch(&item, run->sorted, run->v->n_items, sizeof(*run->sorted), compare_items);

	return found ? *found : NULL;
}

/* By the timestamps of their runs. Without one, or if a clock was set back, nothing is old. */
static bool is_old(const struct verdict_item *item, const struct verdict_item *newer)
{
	uint64_t then_us, now_us;

	return item->time && newer->time && clock_parse_stamp(item->time, &then_us) == 0 &&
	       clock_parse_stamp(newer->time, &now_us) == 0 && now_us > then_us &&
	       now_us - then_us > VERDICT_STANDS_US;
}

bool verdict_item_outlives(const struct verdict_item *item, const struct verdict_item *newer)
{
	if (newer->level != VERDICT_INCONCLUSIVE || item->level < VERDICT_WARN)
		return false;
	/* At any age: a fatal signature does not heal with time. */
	return (item->fatal && item->level == VERDICT_FAIL) || !is_old(item, newer);
}

/* True if the run has a check whose name begins with `prefix`. */
static bool run_has_check(const struct run *run, const char *prefix)
{
	size_t low = 0, high = run->v->n_items;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(run->sorted[mid]->check, prefix) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < run->v->n_items && starts_with(run->sorted[low]->check, prefix);
}

/* True if a newer run has something that replaces this item. */
static bool superseded_by(const struct run *newer, const struct verdict *own,
			  const struct verdict_item *item)
{
	const struct verdict_item *found = run_find(newer, item);
	char prefix[PROBE_PREFIX_SIZE];

	if (found)
		return !verdict_item_outlives(item, found);
	/* It has checks of probes that did not run. */
	if (streq(newer->v->profile, PROFILE_WATCH))
		return false;
	if (starts_with(item->check, "probe.")) {
		probe_prefix(item->check + strlen("probe."), prefix);
		return run_has_check(newer, prefix);
	}
	return streq(item->subject, own->node) && run_has_check(newer, item->check);
}

static struct verdict_item item_copy(const struct verdict_item *item)
{
	struct verdict_item copy = *item;

	copy.check = xstrdup(item->check);
	copy.subject = xstrdup(item->subject);
	copy.unit = xstrdup(item->unit);
	copy.sentence = xstrdup(item->sentence);
	copy.profile = xstrdup(item->profile);
	copy.time = xstrdup(item->time);
	copy.link = xstrdup(item->link);
	return copy;
}

static bool superseded(const struct run *runs, size_t r, const struct verdict_item *item)
{
	size_t i;

	for (i = 0; i < r; i++) {
		if (superseded_by(&runs[i], runs[r].v, item))
			return true;
	}
	return false;
}

/* True if an older item, not superseded itself, outlives this one of run r. */
static bool outlived(const struct run *runs, size_t n, size_t r, const struct verdict_item *item)
{
	const struct verdict_item *older;
	size_t i;

	for (i = r + 1; i < n; i++) {
		older = run_find(&runs[i], item);
		if (older && verdict_item_outlives(older, item) && !superseded(runs, i, older))
			return true;
	}
	return false;
}

/* A link of an older run stands for as long as one of the cells that it explains. */
static bool is_spent(const struct run *runs, size_t r, const struct verdict_item *item)
{
	const struct verdict *v = runs[r].v;
	size_t i;

	if (r == 0 || item->level == VERDICT_PASS || !verdict_item_is_link(item))
		return false;
	for (i = 0; i < v->n_items; i++) {
		if (streq(v->items[i].link, item->subject) && !superseded(runs, r, &v->items[i]))
			return false;
	}
	return true;
}

static void take_items(const struct run *runs, size_t n, struct verdict *out)
{
	size_t total = 0, r, i;

	for (r = 0; r < n; r++)
		total += runs[r].v->n_items;
	out->items = xrealloc(NULL, MIN(total, (size_t)VERDICT_ITEMS_MAX) + 1, sizeof(*out->items));
	for (r = 0; r < n; r++) {
		for (i = 0; i < runs[r].v->n_items && out->n_items < VERDICT_ITEMS_MAX; i++) {
			const struct verdict_item *item = &runs[r].v->items[i];

			if (!superseded(runs, r, item) && !outlived(runs, n, r, item) &&
			    !is_spent(runs, r, item))
				out->items[out->n_items++] = out->borrows ? *item : item_copy(item);
		}
	}
}

/*
 * The newest active run, else the newest that covers the whole host, else the newest. Runs are
 * sorted, n >= 1.
 */
static const struct verdict *leading(const struct run *runs, size_t n)
{
	size_t i, whole = n;

	for (i = n; i-- > 0;) {
		if (!streq(runs[i].v->profile, PROFILE_WATCH))
			whole = i;
	}
	for (i = 0; i < n; i++) {
		if (runs[i].active)
			return runs[i].v;
	}
	return runs[whole < n ? whole : 0].v;
}

static bool all_borrow(const struct run *runs, size_t n)
{
	size_t i = 0;

	while (i < n && runs[i].v->borrows)
		i++;
	return i == n;
}

static json_t *newest_fleet(const struct run *runs, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (runs[i].v->fleet)
			return json_deep_copy(runs[i].v->fleet);
	}
	return NULL;
}

void verdict_merge(const struct verdict *runs, const bool *active, size_t n, struct verdict *ret)
{
	CLEANUP(freep) struct run *order = xcalloc(n + 1, sizeof(*order));
	struct verdict out = { 0 };
	size_t i;

	for (i = 0; i < n; i++) {
		order[i] = (struct run){ .v = &runs[i], .active = active[i] };
		run_sort(&order[i], n == 1);
	}
	qsort(order, n, sizeof(*order), compare_runs);
	if (n > 0) {
		const struct verdict *lead = leading(order, n);

		out.node = xstrdup(lead->node);
		out.time = xstrdup(lead->time);
		out.boot_id = xstrdup(lead->boot_id);
		out.uptime_s = lead->uptime_s;
		out.machine = xstrdup(lead->machine);
		out.seq = lead->seq;
		out.profile = xstrdup(lead->profile);
		out.fleet = newest_fleet(order, n);
		out.borrows = all_borrow(order, n);
		take_items(order, n, &out);
	}
	for (i = 0; i < n; i++)
		free(order[i].sorted);
	verdict_conclude(&out);
	*ret = out;
}
