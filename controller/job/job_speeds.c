/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/job_speeds.h"

#include <jansson.h>

#include "controller/fleet/host_speeds.h"
#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* Consecutive ranks with the same speed, while collecting. */
struct gathering {
	const struct map *hosts;
	json_t *ranks;	  /* [first, how many, speed] each */
	int64_t first, n; /* of the open row; n 0: none is open */
	double speed;
	struct silicon good; /* the widest among the models of the hosts */
};

static void end_row(struct gathering *g)
{
	if (g->n > 0)
		(void)json_array_append_new(g->ranks, json_pack("[I, I, f]", (json_int_t)g->first,
								(json_int_t)g->n, g->speed));
	g->n = 0;
}

static void take_rank(void *context, int64_t rank, const char *node)
{
	struct gathering *g = context;
	const struct host_speed *host = map_find(g->hosts, node);

	if (!host)
		return;
	if (g->n == 0 || rank != g->first + g->n || host->speed != g->speed) {
		end_row(g);
		g->first = rank;
		g->speed = host->speed;
	}
	g->n++;
	silicon_widen(&g->good, &host->good);
}

static void gather(struct job_speeds *speeds, const struct baselines *baselines)
{
	const uint64_t now_us = clock_mono_us();

	if (now_us < speeds->due_us)
		return;
	job_speeds_release(speeds);
	host_speeds_find(baselines, &speeds->hosts);
	speeds->due_us = now_us + JOB_SPEEDS_FRESH_US;
}

const struct host_speed *job_speeds_host(struct job_speeds *speeds,
					 const struct baselines *baselines, const char *node)
{
	gather(speeds, baselines);
	return map_find(&speeds->hosts, node);
}

int job_speeds_of(struct job_speeds *speeds, const struct baselines *baselines, struct store *store,
		  const struct placing_window *window, char **ret, struct err *err)
{
	CLEANUP(json_freep) json_t *document = NULL;
	struct gathering g = { .hosts = &speeds->hosts, .ranks = json_array() };
	int r;

	*ret = NULL;
	gather(speeds, baselines);
	r = placing_ranks(store, window, take_rank, &g, err);
	end_row(&g);
	document = json_pack("{s:i, s:f, s:f, s:O}", "v", 1, "spread", g.good.spread, "low",
			     g.good.low, "ranks", g.ranks);
	if (r == 0 && json_array_size(g.ranks) > 0)
		*ret = json_line(document);
	json_decref(g.ranks);
	return r;
}

void job_speeds_release(struct job_speeds *speeds)
{
	map_release(&speeds->hosts, NULL);
	*speeds = (struct job_speeds){ .due_us = 0 };
}
