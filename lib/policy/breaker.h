/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The breaker: one switch that stops all new actions when the mistake is more likely ours than the
 * hosts'. Pure; a plain struct without pointers, which the caller stores after every change and
 * loads at start.
 *
 * - It opens when far more hosts are to be cordoned at once than the rate allows (`storm`), when
 *   too many agents are silent, when one signature affects hosts all over the fleet, when a SKU
 *   file contradicts half of its fleet, and by hand.
 * - It latches: only a person closes it, with breaker_reset().
 * - While open, it refuses cordons, drains, holds and retests. It never refuses a release or a test
 *   that leads to one, and never releases anything itself.
 * - Evidence from before a reset no longer counts: it cordons nobody, it is not new when it is seen
 *   again, and it does not make a host healthy either.
 *
 * It also keeps the timestamps of recent cordons, so that the rate survives a restart.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/json/json.h"

struct err;

enum {
	BREAKER_STAMPS_MAX = 256, /* cordons remembered; rates are limited to this */
	BREAKER_TEXT_SIZE = 256,
};

enum breaker_cause {
	BREAKER_STORM,
	BREAKER_SILENT,
	BREAKER_SIGNATURE,
	BREAKER_SKU_FILE,
	BREAKER_HAND
};
extern const char
	*const breaker_cause_names[]; /* "storm" "silent" "signature" "sku-file" "by-hand" */

struct breaker {
	bool open;
	int cause;			  /* enum breaker_cause, of the last opening */
	char sentence[BREAKER_TEXT_SIZE]; /* why it last opened; "" if it never did */
	uint64_t opened_us;
	uint64_t reset_us;			 /* 0: never */
	char reset_by[BREAKER_TEXT_SIZE];	 /* "operator NAME: REASON" */
	uint64_t cordons_us[BREAKER_STAMPS_MAX]; /* ring buffer */
	uint64_t n_cordons;			 /* ever; the newest is at (n - 1) % MAX */
};

/* Opens it. Returns true if it was closed; an open one keeps its first cause. */
bool breaker_open(struct breaker *b, int cause, uint64_t now_us, const char *sentence);

/* A person closes it. Returns true if it was open; else only the timestamp is set. */
bool breaker_reset(struct breaker *b, const char *who, const char *reason, uint64_t now_us);

/* Counts one more of our cordons, whoever asked for it. */
void breaker_count(struct breaker *b, uint64_t now_us);

/* True if a cordon at that time is recorded. */
bool breaker_has(const struct breaker *b, uint64_t at_us);

/* Takes back the one counted at this time: it was not set after all. */
void breaker_uncount(struct breaker *b, uint64_t at_us);

/* Cordons in the `per_us` before `now_us`, at most BREAKER_STAMPS_MAX. */
uint64_t breaker_cordons(const struct breaker *b, uint64_t now_us, uint64_t per_us);

/* When fewer than `limit` (at least 1) will be in the window; may be now. */
uint64_t breaker_free_at(const struct breaker *b, uint64_t limit, uint64_t now_us, uint64_t per_us);

/* The whole state, for the store and the API; new reference. */
json_t *breaker_encode(const struct breaker *b);

/* -EINVAL with the place. */
int breaker_decode(const struct jval *v, struct breaker *ret, struct err *err);
