/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/routes/fleet_feed.h"

#include <stdlib.h>

#include "controller/actions/actor_views.h"
#include "controller/controller.h"
#include "controller/ingest/host_identity.h"
#include "controller/store/store.h"
#include "controller/store/store_fleet.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"

const char *const fleet_feed_kinds[] = { "incidents", "actions",	"campaigns",
					 "jobs",      "investigations", NULL };

static const enum store_fleet_kind kinds_of_store[FLEET_FEED_KINDS] = {
	[FLEET_FEED_INCIDENTS] = STORE_FLEET_INCIDENTS,
	[FLEET_FEED_ACTIONS] = STORE_FLEET_ACTIONS,
	[FLEET_FEED_CAMPAIGNS] = STORE_FLEET_CAMPAIGNS,
	[FLEET_FEED_JOBS] = STORE_FLEET_JOBS,
	[FLEET_FEED_INVESTIGATIONS] = STORE_FLEET_INVESTIGATIONS,
};

enum {
	READ_HOSTS = 256, /* per step */
	LOOK_SHARE = 10,  /* part of the rows checked per step, at least LOOK_LEAST */
	LOOK_LEAST = 256,
};

/* --- state in memory --- */

static void look_at(struct fleet_feed *feed, size_t nth)
{
	struct service *s = feed->service;
	const struct fleet_view_row *row = &feed->view.rows[nth];
	const uint64_t now_us = clock_real_us();
	struct fleet_view_state state = {
		.connection = live_state(&s->live, row->name, clock_mono_us()),
		.two = host_identity_two(hosts_find(&s->hosts, row->name), now_us),
		.stale = store_is_stale(row->seen_us, now_us),
	};

	actor_view_host(s->act, row->name, &state);
	(void)fleet_view_tell(&feed->view, nth, &state);
}

/* Returns true at the end of a round. */
static bool look(struct fleet_feed *feed, size_t n)
{
	for (; n > 0 && feed->at < feed->view.n; n--)
		look_at(feed, feed->at++);
	if (feed->at < feed->view.n)
		return false;
	feed->at = 0;
	return true;
}

/* --- state in the store --- */

static void put(void *context, const struct store_fleet_host *host)
{
	struct fleet_feed *feed = context;
	const struct fleet_view_report report = { host->sku, host->level, host->seen_us,
						  host->incidents };

	(void)fleet_view_put(&feed->view, host->node, &report);
}

struct reading {
	struct fleet_feed *feed;
	char *last;
	size_t n;
};

static void put_next(void *context, const struct store_fleet_host *host)
{
	struct reading *reading = context;

	put(reading->feed, host);
	free(reading->last);
	reading->last = xstrdup(host->node);
	reading->n++;
}

static void tell_failed(struct fleet_feed *feed, const struct err *err)
{
	if (!feed->failed)
		log_warning("the view of the fleet cannot be read: %s", err->msg);
	feed->failed = true;
}

/* Read the next hosts from the store; after the last, check all once. */
static void read_more(struct fleet_feed *feed)
{
	struct reading reading = { .feed = feed };
	struct err err = ERR_INIT;
	int r = store_fleet_hosts(feed->service->store, feed->after ? feed->after : "", READ_HOSTS,
				  put_next, &reading, &err);

	if (reading.last) {
		free(feed->after);
		feed->after = reading.last;
	}
	if (r < 0) {
		tell_failed(feed, &err);
		return;
	}
	feed->failed = false;
	if (reading.n == READ_HOSTS)
		return;
	feed->at = 0;
	feed->read = look(feed, feed->view.n);
}

/*
 * Hosts whose rows or incidents were written. Also during the initial read, as a host that was read
 * may have changed since.
 */
static void read_changed(struct fleet_feed *feed, enum store_fleet_kind kind,
			 const struct store_fleet_changes *changes)
{
	struct err err = ERR_INIT;
	int r = 0;
	size_t i;

	for (i = 0; i < changes->n && !changes->lost && r == 0; i++)
		r = store_fleet_host(feed->service->store, kind, changes->numbers[i], put, feed,
				     &err);
	if (r < 0)
		tell_failed(feed, &err);
	if (r < 0 || changes->lost)
		fleet_feed_restart(feed);
}

static void note_changed(struct fleet_feed *feed, enum fleet_feed_kind kind,
			 const struct store_fleet_changes *changes)
{
	size_t i;

	if (changes->lost)
		fleet_news_lose(&feed->news[kind], fleet_view_count(&feed->view));
	for (i = 0; i < changes->n && !changes->lost; i++)
		fleet_news_note(&feed->news[kind], changes->numbers[i],
				fleet_view_count(&feed->view));
}

void fleet_feed_written(struct fleet_feed *feed)
{
	struct store_fleet_changes changes =
		store_fleet_take(feed->service->store, STORE_FLEET_HOSTS);
	int kind;

	read_changed(feed, STORE_FLEET_HOSTS, &changes);
	store_fleet_changes_release(&changes);
	for (kind = 0; kind < FLEET_FEED_KINDS; kind++) {
		changes = store_fleet_take(feed->service->store, kinds_of_store[kind]);
		if (kind == FLEET_FEED_INCIDENTS)
			read_changed(feed, STORE_FLEET_INCIDENTS, &changes);
		note_changed(feed, (enum fleet_feed_kind)kind, &changes);
		store_fleet_changes_release(&changes);
	}
}

/* --- life cycle --- */

struct fleet_feed *fleet_feed_new(struct service *s)
{
	struct fleet_feed *feed = xcalloc(1, sizeof(*feed));

	feed->service = s;
	store_fleet_watch(s->store, true);
	return feed;
}

void fleet_feed_free(struct fleet_feed *feed)
{
	if (!feed)
		return;
	store_fleet_watch(feed->service->store, false);
	fleet_view_release(&feed->view);
	free(feed->after);
	free(feed);
}

void fleet_feed_restart(struct fleet_feed *feed)
{
	const uint64_t version = fleet_view_count(&feed->view);
	int kind;

	fleet_view_release(&feed->view);
	feed->view.version = feed->view.whole = version;
	feed->view.domains_version = feed->view.skus_version = version;
	for (kind = 0; kind < FLEET_FEED_KINDS; kind++)
		fleet_news_lose(&feed->news[kind], version);
	free(TAKE(feed->after));
	feed->read = false;
	feed->at = 0;
}

void fleet_feed_forget(struct fleet_feed *feed, const char *node)
{
	fleet_view_forget(&feed->view, node);
	feed->at = 0;
}

void fleet_feed_step(struct fleet_feed *feed)
{
	if (!feed->read) {
		read_more(feed);
		return;
	}
	(void)look(feed, MAX(feed->view.n / LOOK_SHARE + 1, (size_t)LOOK_LEAST));
}
