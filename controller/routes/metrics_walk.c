/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/routes/metrics_walk.h"

#include <stdlib.h>

#include <systemd/sd-event.h>

#include "controller/controller.h"
#include "controller/routes/metric_series.h"
#include "controller/routes/routes.h"
#include "controller/store/store_metrics.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/pool.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"

#define SLICE_US (10 * USEC_PER_MSEC)
#define PAUSE_US (5 * USEC_PER_MSEC)
#define REST_MAX_US (3 * USEC_PER_MIN)

enum {
	REST_SHARE = 100,
	PAGE_HOSTS = 64,
	CHECKS_MAX = 512, /* per host */
};

/* Series of worse verdicts come first if there are too many. */
#define RANK_OF_LEVEL (UINT64_C(1) << 40)

struct walked_host {
	char *node, *sku;
};

struct metrics_walk {
	struct service *service;
	sd_event_source *timer; /* NULL: pause */
	struct metric_series done, under_way;
	unsigned unread; /* hosts in this pass whose runs could not be read */
	struct walked_host hosts[PAGE_HOSTS];
	size_t n, at;
	char *after; /* last host of the page */
	uint64_t work_us, next_us;
};

static void forget_page(struct metrics_walk *w)
{
	size_t i;

	for (i = 0; i < w->n; i++) {
		free(w->hosts[i].node);
		free(w->hosts[i].sku);
	}
	w->n = w->at = 0;
}

static void take_host(void *context, const struct store_host_brief *host)
{
	struct metrics_walk *w = context;

	free(w->after);
	w->after = xstrdup(host->node);
	/* Old measurements do not describe its present state. */
	if (host->stale || w->n == PAGE_HOSTS)
		return;
	w->hosts[w->n++] =
		(struct walked_host){ xstrdup(host->node), xstrdup(host->sku ? host->sku : "") };
}

/* Each check counts once, by its worst item, in whatever order they come. */
static void count_host(struct metrics_walk *w, const char *sku, const struct verdict *v)
{
	const char *checks[CHECKS_MAX];
	int levels[CHECKS_MAX];
	size_t n = 0, i, k;

	for (i = 0; i < v->n_items; i++) {
		const struct verdict_item *item = &v->items[i];

		for (k = 0; k < n && !streq(checks[k], item->check); k++)
			;
		if (k == CHECKS_MAX)
			continue;
		if (k == n) {
			checks[n] = item->check;
			levels[n++] = item->level;
		}
		levels[k] = MAX(levels[k], item->level);
	}
	for (k = 0; k < n; k++) {
		const char *const labels[METRIC_LABELS] = { sku, checks[k],
							    verdict_level_names[levels[k]] };

		metric_series_add(&w->under_way, labels, 1, 1 + (uint64_t)levels[k] * RANK_OF_LEVEL);
	}
}

/* Returns 1 if there is more, 0 at the end. */
static int step(struct metrics_walk *w, struct err *err)
{
	CLEANUP(pool_release) struct pool pool = { 0 };
	CLEANUP(verdict_release) struct verdict v = { 0 };
	CLEANUP(freep) char *before = NULL;
	const struct walked_host *host;
	int r;

	if (w->at == w->n) {
		forget_page(w);
		before = xstrdup(w->after ? w->after : "");
		r = store_hosts_brief(w->service->store, before, PAGE_HOSTS, clock_real_us(),
				      take_host, w, err);
		if (r < 0)
			return r;
		return w->after && !streq(w->after, before);
	}
	host = &w->hosts[w->at++];
	/* An unreadable host is left out and does not stop the count. */
	r = routes_merge_runs(w->service, host->node, &pool, &v, err);
	if (r < 0 && w->unread++ == 0)
		log_warning("/metrics leaves out a host node=%s: %s", host->node, err->msg);
	if (r >= 0)
		count_host(w, host->sku, &v);
	return 1;
}

static void rest(struct metrics_walk *w, bool whole)
{
	if (whole) {
		metric_series_release(&w->done);
		w->done = w->under_way;
		w->under_way = (struct metric_series){ 0 };
	}
	metric_series_release(&w->under_way);
	forget_page(w);
	free(TAKE(w->after));
	w->timer = sd_event_source_disable_unref(w->timer);
	w->next_us = clock_mono_us() + MIN(REST_SHARE * w->work_us, REST_MAX_US);
	w->work_us = 0;
	w->unread = 0;
}

/* One slice; returns true if there is more to do. */
static bool slice(struct metrics_walk *w)
{
	const uint64_t start_us = clock_mono_us();
	struct err err = ERR_INIT;
	int r;

	do {
		r = step(w, &err);
	} while (r == 1 && clock_mono_us() - start_us < SLICE_US);
	w->work_us += clock_mono_us() - start_us;
	if (r == 1)
		return true;
	if (r < 0)
		log_warning("what hosts measured cannot be counted for /metrics: %s", err.msg);
	rest(w, r == 0);
	return false;
}

static int on_slice(sd_event_source *source, uint64_t due_us UNUSED, void *context)
{
	if (!slice(context))
		return 0;
	(void)sd_event_source_set_time_relative(source, PAUSE_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

const struct metric_series *metrics_walk_checks(struct service *s)
{
	struct metrics_walk *w = s->metrics_walk;

	if (!w) {
		w = s->metrics_walk = xcalloc(1, sizeof(*w));
		w->service = s;
	}
	if (!w->timer && clock_mono_us() >= w->next_us && slice(w) &&
	    sd_event_add_time_relative(s->loop, &w->timer, CLOCK_MONOTONIC, PAUSE_US, 0, on_slice,
				       w) < 0)
		rest(w, false);
	return &w->done;
}

static void metrics_walk_close(struct service *s)
{
	struct metrics_walk *w = TAKE(s->metrics_walk);

	if (!w)
		return;
	rest(w, false);
	metric_series_release(&w->done);
	free(w);
}

const struct controller_part metrics_part = { .close = metrics_walk_close };
