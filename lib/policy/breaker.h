/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The breaker: one switch that stops every new action when what is wrong is
 * more likely we than the hosts. Pure; a plain struct without pointers, which
 * the caller stores as it is after every change and reads at its start.
 *
 *  - It opens when far more hosts are to be cordoned at once than the rate
 *    allows (`storm`), when too many agents are silent, when one signature
 *    accounts for hosts all over the fleet, when a SKU file contradicts half of
 *    its fleet, and by hand.
 *  - It latches: only breaker_reset() by a person closes it.
 *  - Open, it refuses cordons, drains, holds and re-tests. It never refuses a
 *    release or a test that leads to one, and never releases anything itself.
 *  - After a reset, evidence that is older than the reset counts for nothing: it cordons nobody,
 *    it is not new when it is seen again, and it does not make a host well either.
 *
 * It also keeps the stamps of the last cordons, so that a restart forgets no
 * cordon of the rate's window.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/json/json.h"

struct err;

enum {
	BREAKER_STAMPS_MAX = 256, /* cordons remembered: no rate is above it */
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
	char sentence[BREAKER_TEXT_SIZE]; /* why it opened last; "" if it never did */
	uint64_t opened_us;
	uint64_t reset_us;			 /* 0: never */
	char reset_by[BREAKER_TEXT_SIZE];	 /* "operator NAME: REASON" */
	uint64_t cordons_us[BREAKER_STAMPS_MAX]; /* a ring */
	uint64_t n_cordons;			 /* ever; the newest is at (n - 1) % MAX */
};

/* Open it; an open one keeps its first cause. True when it was closed. */
bool breaker_open(struct breaker *b, int cause, uint64_t now_us, const char *sentence);

/* A person closes it. True when it was open; who resets a closed one only sets the stamp. */
bool breaker_reset(struct breaker *b, const char *who, const char *reason, uint64_t now_us);

/* One more cordon of ours was set, by whomever. */
void breaker_count(struct breaker *b, uint64_t now_us);

/* Is a cordon of that moment remembered? */
bool breaker_has(const struct breaker *b, uint64_t at_us);

/* The one that was counted at this time was not set after all. */
void breaker_uncount(struct breaker *b, uint64_t at_us);

/* Cordons in the `per_us` before `now_us`, at most BREAKER_STAMPS_MAX. */
uint64_t breaker_cordons(const struct breaker *b, uint64_t now_us, uint64_t per_us);

/* When fewer than `limit` (at least 1) will be in the window: now or later. */
uint64_t breaker_free_at(const struct breaker *b, uint64_t limit, uint64_t now_us, uint64_t per_us);

/* All of it, for the store and the API; new reference. */
json_t *breaker_encode(const struct breaker *b);

/* -EINVAL with the place. */
int breaker_decode(const struct jval *v, struct breaker *ret, struct err *err);
