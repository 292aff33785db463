/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fleet has taught survives a restart: each baseline is one row of
 * the store, written some time after it changed, as a part of the next commit.
 * A crash loses what was learnt since, a few minutes at most, and the hosts
 * teach it again. A row that cannot be read is left out: so is it taught again.
 *
 * What its hosts and their parts usually reach (self_baseline.h) is a row of its own, ten times as
 * large and of a few runs a day: it is written every USUAL_ROUNDS times, and at the end.
 *
 * The bytes of a row: 1, then of each host by name: the name and a NUL, its
 * value and its spread as 64-bit floats, least byte first.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/log_limit.h"
#include "lib/base/macro.h"

struct baseline;
struct baselines;
struct err;
struct store;

/* How long a change may wait. */
#define BASELINE_SAVE_US (2 * USEC_PER_MIN)
enum { USUAL_ROUNDS = 15 };

/* One way through the baselines. */
struct baseline_saver {
	struct baseline **list; /* that have changed */
	size_t n, at;
	struct baseline *dropped; /* whose rows go first */
	uint64_t saved, removed;  /* baselines written since the start, rows taken out */
	unsigned rounds;
	bool usuals;  /* in this round all usuals that have changed are written */
	bool closing; /* set by the caller: there will be no other round */
};

/* Read what was saved since `since_us`. `ret_hosts`: values of hosts that were read. */
int baselines_load(struct baselines *b, struct store *store, uint64_t since_us, uint64_t *ret_hosts,
		   struct err *err);

/* Gather what is to be written; baselines that nothing was learnt for since `since_us` are dropped. */
void baseline_saver_begin(struct baseline_saver *v, struct baselines *b, uint64_t since_us);

/* Write until the monotonic `deadline_us`. 1 while there is more, 0 at the end. */
int baseline_saver_step(struct baseline_saver *v, struct store *store, uint64_t now_us,
			uint64_t deadline_us, struct err *err);

/* The transaction of the last steps failed: all is to be written again. */
void baseline_saver_failed(struct baseline_saver *v, struct baselines *b);

void baseline_saver_release(struct baseline_saver *v);

/* What the log was told of a table that all hosts have filled. */
struct baselines_full {
	uint64_t at_us; /* monotonic; 0: nothing */
	uint64_t filled;
};

struct baselines_told {
	struct log_limit crowded; /* hosts that have filled their share of a table */
	struct baselines_full baselines, anomalies;
};

/* Say which hosts have filled their share of the tables, and which table all of them have. */
void baselines_tell(struct baselines *b, struct baselines_told *told, uint64_t now_us);
