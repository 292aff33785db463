/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller put together: what the routes work on, and the batch of
 * reports whose senders wait for the next commit.
 */
#pragma once

#include <stdint.h>
#include <systemd/sd-event.h>

#include "controller/access.h"
#include "controller/baseline.h"
#include "controller/limiter.h"
#include "controller/live.h"
#include "controller/metrics.h"
#include "controller/rules.h"
#include "controller/settings.h"

struct api;
struct call;
struct err;
struct store;

enum { BATCH_MAX = 1024 };

/* Commits are at least this far apart, so that many share one. */
#define COMMIT_EVERY_US (50 * USEC_PER_MSEC)

/* A sender that waits. */
struct waiting {
	struct call *call;
	bool duplicate;
};

struct service {
	const struct settings *settings;
	struct rules rules;
	struct access access;
	struct limiter limiter;
	struct baselines baselines;
	struct live live;
	char *tls_cert, *tls_key, *client_ca; /* PEM texts, or NULL */
	struct store *store;
	struct api *api;
	sd_event *loop;
	sd_event_source *commit_timer;
	uint64_t last_commit_us; /* monotonic */
	struct waiting batch[BATCH_MAX];
	size_t n_batch;
	bool closing;
	struct metrics metrics;
};

/* Read all files that the settings name; they are borrowed. */
int service_read(struct service *s, const struct settings *settings, struct err *err);

/* Open the store, listen. `ret_address` is new memory. */
int service_open(struct service *s, sd_event *loop, char **ret_address, struct err *err);

/* Commit, answer who waits, close, release what was read. */
void service_close(struct service *s);

/* Hold the sender of a report until it is durable. */
void service_wait(struct service *s, struct call *call, bool duplicate);

/* The store failed, and took everything since the last commit back: tell those who wait. */
void service_failed(struct service *s, const struct err *err);
