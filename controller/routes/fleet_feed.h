/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the view of the fleet (controller/fleet/fleet_view.h) up to date from the store and the
 * parts of the controller, while somebody is watching. It is read once, in pieces; from then on
 * changed rows of the store are read again after each commit, and state in memory (life, presence,
 * silence) is checked once a second, a tenth at a time.
 */
#pragma once

#include <stdint.h>

#include "controller/fleet/fleet_news.h"
#include "controller/fleet/fleet_view.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct err;
struct service;

/* Interval of fleet_feed_step(), */
#define FLEET_FEED_STEP_US (100 * USEC_PER_MSEC)
/* and until everything is read. */
#define FLEET_FEED_READ_US (5 * USEC_PER_MSEC)

/* Numbered items that a page may follow. */
enum fleet_feed_kind {
	FLEET_FEED_INCIDENTS,
	FLEET_FEED_ACTIONS,
	FLEET_FEED_CAMPAIGNS,
	FLEET_FEED_JOBS,
	FLEET_FEED_INVESTIGATIONS,
	FLEET_FEED_KINDS
};
extern const char *const fleet_feed_kinds[]; /* "incidents", ... */

/* Written only by fleet_feed.c, except for the version of the view. */
struct fleet_feed {
	struct service *service;
	struct fleet_view view;
	struct fleet_news news[FLEET_FEED_KINDS];
	bool read;   /* everything is read and was checked */
	char *after; /* until then: the last host read; NULL: none */
	bool failed; /* the store could not be read, and that was logged */
	size_t at;   /* next row to check */
};

/* Create it; nothing is read yet. */
struct fleet_feed *fleet_feed_new(struct service *s);

/* NULL is allowed. */
void fleet_feed_free(struct fleet_feed *feed);

/* Do the next piece of work, a few milliseconds at most. */
void fleet_feed_step(struct fleet_feed *feed);

/* A commit has stored something. */
void fleet_feed_written(struct fleet_feed *feed);

/* Writes were rolled back: read everything again; clients at older versions must reload. */
void fleet_feed_restart(struct fleet_feed *feed);

/* The host was removed. */
void fleet_feed_forget(struct fleet_feed *feed, const char *node);
