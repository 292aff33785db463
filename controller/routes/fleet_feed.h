/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the view of the fleet (controller/fleet/fleet_view.h) as the store and the parts of the
 * controller know it, while somebody looks at it. It is read once, a piece at a time; from then on
 * the rows of the store that were written are read again after each commit, and what is known in
 * memory (life, presence, silence) is looked through once a second, a tenth at a time.
 */
#pragma once

#include <stdint.h>

#include "controller/fleet/fleet_news.h"
#include "controller/fleet/fleet_view.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct err;
struct service;

/* fleet_feed_step() wants to be called so often. */
#define FLEET_FEED_STEP_US (100 * USEC_PER_MSEC)
/* Or after this, until all is read. */
#define FLEET_FEED_READ_US (5 * USEC_PER_MSEC)

/* What has numbers of its own that a page may follow. */
enum fleet_feed_kind {
	FLEET_FEED_INCIDENTS,
	FLEET_FEED_ACTIONS,
	FLEET_FEED_CAMPAIGNS,
	FLEET_FEED_JOBS,
	FLEET_FEED_INVESTIGATIONS,
	FLEET_FEED_KINDS
};
extern const char *const fleet_feed_kinds[]; /* "incidents", ... */

/* Read it; only fleet_feed.c writes, but for the version of the view. */
struct fleet_feed {
	struct service *service;
	struct fleet_view view;
	struct fleet_news news[FLEET_FEED_KINDS];
	bool read;   /* all is there, and has been looked through */
	char *after; /* until then: the last host that was read; NULL: none */
	bool failed; /* the store could not be read, and the log says so */
	size_t at;   /* the next row to be looked at */
};

/* Begins it; nothing is read yet. */
struct fleet_feed *fleet_feed_new(struct service *s);

/* NULL is nothing. */
void fleet_feed_free(struct fleet_feed *feed);

/* The next piece of work, a few milliseconds at most. */
void fleet_feed_step(struct fleet_feed *feed);

/* A commit has kept something. */
void fleet_feed_written(struct fleet_feed *feed);

/* What was written was taken back: all is read anew, and who saw an older version has to see all. */
void fleet_feed_restart(struct fleet_feed *feed);

/* Nothing is known of the host any more. */
void fleet_feed_forget(struct fleet_feed *feed, const char *node);
