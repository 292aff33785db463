/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/job_restarts.h"

#include <stdlib.h>
#include <string.h>

#include "controller/actions/remediation.h"
#include "controller/cluster/cluster.h"
#include "controller/controller.h"
#include "controller/store/store_placements.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/policy/restarts.h"

/* In the map by name. */
struct suspected {
	char *name;
	struct restarts_host found; /* its node is `name` */
};

struct job_restarts {
	uint64_t as_of_us; /* 0: not evaluated yet */
	struct map hosts;  /* struct suspected: hosts that are shown */
};

/* --- evaluation --- */

/* Texts that many rows share are stored once. */
struct text {
	char *name;
};

struct reading {
	struct restarts_rank *ranks;
	size_t n, alloc;
	struct map texts, nodes;
};

static const char *keep_text(struct map *map, const char *text)
{
	return ((struct text *)map_need(map, text, sizeof(struct text)))->name;
}

static void take(void *context, const struct store_placement *p)
{
	struct reading *r = context;

	if (r->n == r->alloc) {
		r->alloc = MAX(2 * r->alloc, (size_t)1024);
		r->ranks = xrealloc(r->ranks, r->alloc, sizeof(*r->ranks));
	}
	r->ranks[r->n++] = (struct restarts_rank){ .job = keep_text(&r->texts, p->job),
						   .node = keep_text(&r->nodes, p->node),
						   .run = p->run,
						   .rank = p->rank,
						   .from_us = p->from_us,
						   .until_us = p->until_us };
}

static void tell(struct service *s, const struct restarts_host *host)
{
	CLEANUP(freep) char *words = restarts_words(host);
	CLEANUP(freep) char *message = xasprintf("%s: %s", host->node, words);

	log_warning("%s", message);
	s->cluster->ops->event(s->cluster, &(struct cluster_event){ .node = host->node,
								    .reason = "AssayHostSuspected",
								    .message = message,
								    .warning = true });
}

/* Replace the previous findings. */
static void keep(struct service *s, const struct restarts *found, uint64_t as_of_us)
{
	struct job_restarts *j = s->restarts;
	struct map before = j->hosts;
	size_t i;

	j->as_of_us = as_of_us;
	j->hosts = (struct map){ 0 };
	for (i = 0; i < found->n; i++) {
		const struct restarts_host *host = &found->hosts[i];
		const struct suspected *was = map_find(&before, host->node);
		struct suspected *one;

		if (host->died < JOB_RESTARTS_DIED || host->chance > JOB_RESTARTS_SHOWN)
			continue;
		if (host->named && !(was && was->found.named) && !remediation_other(s))
			tell(s, host);
		one = map_need(&j->hosts, host->node, sizeof(*one));
		one->found = *host;
		one->found.node = one->name;
	}
	map_release(&before, NULL);
}

static void look(struct service *s, uint64_t as_of_us)
{
	struct reading reading = { .n = 0 };
	struct restarts found = { 0 };
	struct err err = ERR_INIT;
	int r = store_placements_since(s->store, as_of_us - MIN(as_of_us, RESTARTS_WINDOW_US), take,
				       &reading, &err);

	if (r < 0)
		log_warning("cannot read where jobs ran: %s", err.msg);
	if (r == 0)
		restarts_judge(&found, reading.ranks, reading.n,
			       MAX(reading.nodes.n, (size_t)s->hosts.n), as_of_us);
	keep(s, &found, as_of_us);
	restarts_release(&found);
	free(reading.ranks);
	map_release(&reading.texts, NULL);
	map_release(&reading.nodes, NULL);
}

/* --- a part of the controller --- */

static int open_restarts(struct service *s, struct err *err UNUSED)
{
	s->restarts = xcalloc(1, sizeof(*s->restarts));
	return 0;
}

static void on_tick(struct service *s)
{
	const uint64_t now_us = clock_real_us(), as_of_us = now_us - now_us % USEC_PER_DAY;

	if (s->restarts && !s->closing && !s->failing && s->restarts->as_of_us != as_of_us)
		look(s, as_of_us);
}

static void close_restarts(struct service *s)
{
	struct job_restarts *j = TAKE(s->restarts);

	if (!j)
		return;
	map_release(&j->hosts, NULL);
	free(j);
}

const struct controller_part job_restarts_part = {
	.open = open_restarts,
	.tick = on_tick,
	.close = close_restarts,
};

json_t *job_restarts_show(const struct service *s, const char *node)
{
	const struct suspected *one = s->restarts ? map_find(&s->restarts->hosts, node) : NULL;
	CLEANUP(freep) char *words = one ? restarts_words(&one->found) : NULL;

	if (!one)
		return json_null();
	return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:b, s:s}", "as_of",
			 json_stamp(s->restarts->as_of_us), "jobs", (json_int_t)one->found.jobs,
			 "joins", (json_int_t)one->found.joins, "died", (json_int_t)one->found.died,
			 "short_runs", (json_int_t)one->found.short_runs, "others",
			 (json_int_t)one->found.others, "others_died",
			 (json_int_t)one->found.others_died, "chance", one->found.chance, "named",
			 (int)one->found.named, "sentence", words);
}
