/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps baselines across restarts: each is one row in the store, written some time after it
 * changed, as part of the next commit. A crash loses what was learned since then, a few minutes at
 * most, and the hosts teach it again. Unreadable rows are skipped and learned again, too.
 *
 * What hosts and their parts usually reach (self_baseline.h) is a row of its own, ten times as
 * large and based on a few runs a day: it is written every USUAL_ROUNDS rounds, and at the end.
 *
 * The bytes of a row: 1, then for each host by name: the name and a NUL, its value and its spread
 * as 64-bit little-endian floats.
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

/* Longest delay of a change. */
#define BASELINE_SAVE_US (2 * USEC_PER_MIN)
enum { USUAL_ROUNDS = 15 };

/* One round over the baselines. */
struct baseline_saver {
	struct baseline **list; /* those that have changed */
	size_t n, at;
	struct baseline *dropped; /* rows to delete first */
	uint64_t saved, removed;  /* since the start: baselines written, rows deleted */
	unsigned rounds;
	bool usuals;  /* this round also writes changed usuals */
	bool closing; /* set by the caller: this is the last round */
};

/* Load what was saved since `since_us`. `ret_hosts`: number of host values loaded. */
int baselines_load(struct baselines *b, struct store *store, uint64_t since_us, uint64_t *ret_hosts,
		   struct err *err);

/* Collect what has to be written; drop baselines without new data since `since_us`. */
void baseline_saver_begin(struct baseline_saver *v, struct baselines *b, uint64_t since_us);

/* Write until the monotonic `deadline_us`. Returns 1 if there is more, 0 at the end. */
int baseline_saver_step(struct baseline_saver *v, struct store *store, uint64_t now_us,
			uint64_t deadline_us, struct err *err);

/* The transaction of the last steps failed: everything has to be written again. */
void baseline_saver_failed(struct baseline_saver *v, struct baselines *b);

void baseline_saver_release(struct baseline_saver *v);

/* Log state of a table that all hosts together have filled. */
struct baselines_full {
	uint64_t at_us; /* monotonic; 0: never logged */
	uint64_t filled;
};

struct baselines_told {
	struct log_limit crowded; /* hosts that have used up their share of a table */
	struct baselines_full baselines, anomalies;
};

/* Log which hosts have used up their share of a table, and which tables are full. */
void baselines_tell(struct baselines *b, struct baselines_told *told, uint64_t now_us);
