/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/remedy/hotspa_switch.h"

#include <errno.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"

static int compare_rows(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool has(const struct hotspa_switch_shard *shard, int64_t row)
{
	return row >= shard->first && row <= shard->last;
}

/* Where shards begin, and the rows after their ends: ascending, without duplicates. */
static int64_t *find_cuts(const struct hotspa_switch_wish *wish, size_t *ret_n)
{
	const struct hotspa_switch_shard *both[] = { wish->source, wish->target };
	int64_t *cuts = xcalloc(4 * wish->devices + 1, sizeof(*cuts));
	size_t n = 0, kept = 0, i, side;

	for (side = 0; side < ARRAY_SIZE(both); side++) {
		for (i = 0; i < wish->devices; i++) {
			if (both[side][i].last < both[side][i].first)
				continue;
			cuts[n++] = both[side][i].first;
			cuts[n++] = both[side][i].last + 1;
		}
	}
	qsort(cuts, n, sizeof(*cuts), compare_rows);
	for (i = 0; i < n; i++)
		if (kept == 0 || cuts[i] != cuts[kept - 1])
			cuts[kept++] = cuts[i];
	*ret_n = kept;
	return cuts;
}

/* The owner that sends a row to `to`; `devices`: nobody has it. */
static size_t find_sender(const struct hotspa_switch_wish *wish,
			  const struct hotspa_switch_plan *plan, size_t to, int64_t row, bool intra)
{
	const uint64_t *sent = intra ? plan->intra : plan->inter;
	size_t best = wish->devices, i;

	for (i = 0; i < wish->devices; i++) {
		if (!has(&wish->source[i], row) || (intra && wish->hosts[i] != wish->hosts[to]))
			continue;
		if (best == wish->devices || sent[i] < sent[best])
			best = i;
	}
	return best;
}

static int move(const struct hotspa_switch_wish *wish, struct hotspa_switch_plan *plan,
		struct hotspa_switch_shard rows, size_t to, struct err *err)
{
	struct hotspa_switch_move *m = &plan->moves[plan->n];
	bool local = has(&wish->source[to], rows.first), intra = true;
	size_t from = to;

	if (!local) {
		from = find_sender(wish, plan, to, rows.first, true);
		intra = from < wish->devices;
		if (!intra)
			from = find_sender(wish, plan, to, rows.first, false);
		if (from == wish->devices)
			return err_set(err, ERANGE,
				       "device %zu needs rows %jd to %jd, which no device has", to,
				       (intmax_t)rows.first, (intmax_t)rows.last);
		(intra ? plan->intra : plan->inter)[from] += (uint64_t)(rows.last - rows.first) + 1;
	}
	*m = (struct hotspa_switch_move){ rows, from, to, local, intra };
	plan->n++;
	return 0;
}

static int move_all(const struct hotspa_switch_wish *wish, struct hotspa_switch_plan *plan,
		    const int64_t *cuts, size_t n, struct err *err)
{
	size_t needed = 0, i, to;
	int r = 0;

	for (i = 0; i + 1 < n; i++)
		for (to = 0; to < wish->devices; to++)
			needed += has(&wish->target[to], cuts[i]);
	plan->moves = xcalloc(needed + 1, sizeof(*plan->moves));
	for (i = 0; i + 1 < n; i++) {
		struct hotspa_switch_shard rows = { cuts[i], cuts[i + 1] - 1 };

		for (to = 0; to < wish->devices && r == 0; to++)
			if (has(&wish->target[to], rows.first))
				r = move(wish, plan, rows, to, err);
	}
	return r;
}

int hotspa_switch_plan(const struct hotspa_switch_wish *wish, struct hotspa_switch_plan *ret_plan,
		       struct err *err)
{
	struct hotspa_switch_plan plan = { .n = 0 };
	CLEANUP(freep) int64_t *cuts = NULL;
	size_t n = 0;
	int r;

	if (wish->devices == 0 || wish->devices > HOTSPA_SWITCH_DEVICES_MAX)
		return err_set(err, EINVAL, "%zu devices: expected 1 to %d", wish->devices,
			       HOTSPA_SWITCH_DEVICES_MAX);
	cuts = find_cuts(wish, &n);
	if (n * wish->devices * wish->devices > HOTSPA_SWITCH_WORK_MAX)
		return err_set(
			err, EINVAL,
			"%zu slices for %zu devices: expected at most %d as slices * devices^2", n,
			wish->devices, HOTSPA_SWITCH_WORK_MAX);
	plan.intra = xcalloc(wish->devices, sizeof(*plan.intra));
	plan.inter = xcalloc(wish->devices, sizeof(*plan.inter));
	r = move_all(wish, &plan, cuts, n, err);
	if (r < 0) {
		hotspa_switch_release(&plan);
		return r;
	}
	*ret_plan = plan;
	return 0;
}

void hotspa_switch_release(struct hotspa_switch_plan *plan)
{
	free(plan->moves);
	free(plan->intra);
	free(plan->inter);
	*plan = (struct hotspa_switch_plan){ .n = 0 };
}
