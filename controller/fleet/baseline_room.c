/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/baseline_room.h"

#include <search.h>
#include <stdlib.h>

#include "controller/fleet/baseline_hosts.h"
#include "lib/base/xalloc.h"

/* Dropped at once when the table is full: to find them costs a walk over all. */
enum { ROOM = BASELINES_MAX / 64 };

/* Hosts that a baseline is of; one that is suspected is remembered by what it was. */
static size_t count_hosts(const struct baseline *line)
{
	return MAX(line->n, line->usuals.n);
}

static const char *only_host(const struct baseline *line)
{
	return line->n > 0 ? line->hosts[0].node : line->usuals.hosts[0].node;
}

void baselines_drop(struct baselines *b, struct baseline *line)
{
	(void)tdelete(line, &b->tree, baseline_compare_keys);
	share_leave(&b->shares, &line->share);
	b->n--;
	if (!line->listed && line->saved_us == 0) {
		baseline_free(line);
		return;
	}
	baseline_empty(line);
	line->gone = true;
	line->next_dropped = b->dropped;
	b->dropped = line;
}

void baselines_settle(struct baselines *b, struct baseline *line)
{
	struct baseline *excess;

	line->used = ++b->uses;
	if (count_hosts(line) == 0) {
		baselines_drop(b, line);
		return;
	}
	if (count_hosts(line) > 1) {
		share_leave(&b->shares, &line->share);
		return;
	}
	share_enter(&b->shares, &line->share, line, only_host(line));
	excess = share_excess(&b->shares, &line->share, BASELINES_OWN_MAX);
	if (!excess)
		return;
	b->shares.dropped++;
	baselines_drop(b, excess);
}

struct listing {
	struct baseline **lines;
	size_t n;
	bool empty; /* only those */
};

static void list(struct baseline *line, void *context)
{
	struct listing *all = context;

	if (!all->empty || count_hosts(line) == 0)
		all->lines[all->n++] = line;
}

void baselines_drop_empty(struct baselines *b)
{
	CLEANUP(freep) struct baseline **lines = xcalloc(b->n + 1, sizeof(struct baseline *));
	struct listing all = { lines, 0, true };
	size_t i;

	baselines_visit(b, list, &all);
	for (i = 0; i < all.n; i++)
		baselines_drop(b, lines[i]);
}

void baselines_make_room(struct baselines *b)
{
	CLEANUP(freep) struct baseline **lines = NULL;
	CLEANUP(freep) struct share_rank *ranks = NULL;
	struct listing all = { NULL, 0, false };
	size_t i;

	if (b->n < BASELINES_MAX)
		return;
	all.lines = lines = xcalloc(b->n, sizeof(struct baseline *));
	ranks = xcalloc(b->n, sizeof(*ranks));
	baselines_visit(b, list, &all);
	for (i = 0; i < all.n; i++)
		ranks[i] = (struct share_rank){ count_hosts(lines[i]), share_count(&lines[i]->share),
						lines[i]->used, lines[i] };
	share_rank(ranks, all.n);
	for (i = 0; i < ROOM; i++)
		baselines_drop(b, ranks[i].entry);
	b->shares.dropped += ROOM;
	b->shares.filled++;
}
