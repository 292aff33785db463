/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interprets a burn: which GPUs became slower under minutes of load than in their first minute, and
 * which have hotter memory than the others. Pure: series in, text out.
 *
 * A burn is BURN_SLOTS slots of equal length. Its first and last parts are a minute each, or a
 * fifth of the burn if it is shorter than five minutes.
 *
 * Reasons for the rules: good GPUs lose 1 to 3 % from the first minute to the last, because a warm
 * chip reaches its power limit at a lower clock. All GPUs of a host lose about the same, so 5 %
 * more than the others is not normal, and neither is a tenth, whatever the others do. Heat sinks in
 * the exhaust air of others are some 5 C warmer than those in front, so memory at its limit is only
 * reported if it is hotter than the others' by more than that: in a hot aisle all of them are. For
 * the limit, the hottest slot counts, because the driver throttles a GPU as soon as it is reached,
 * and after five minutes memory is still a degree below its final temperature.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

enum {
	BURN_SLOTS = 30,
	BURN_PART_S = 60,   /* of the first and last part, at most */
	BURN_PARTS = 5,	    /* minimum number of such parts in a burn */
	BURN_ABOVE_C = 6,   /* position alone makes less difference than this */
	BURN_APART_C = 15,  /* reported even far below the limit */
	BURN_PEERS_MIN = 2, /* with fewer peers, GPUs are not compared */
};

/* What is recorded of a GPU over time: FLOP/s, Hz, W, and two in C. */
enum burn_what { BURN_RATE, BURN_CLOCK, BURN_POWER, BURN_GPU_C, BURN_MEMORY_C, BURN_WHATS };

/* The values of one slot; NAN: unknown. */
struct burn_slot {
	double is[BURN_WHATS];
	uint64_t reasons; /* NVML bits of all readings */
};

struct burn_series {
	struct burn_slot slots[BURN_SLOTS];
	double slot_s;
	unsigned memory_limit_c; /* 0: not reported by the driver */
	bool measured;		 /* for the whole burn, without other users */
};

/* A series in a few numbers; NAN: unknown. */
struct burn_sum {
	double first;		 /* FLOP/s in the best slot of the first part */
	double last[BURN_WHATS]; /* medians of the last part */
	double memory_c;	 /* maximum of its memory's temperature in the last part */
	double kept;		 /* rate: last / first */
	double onset_s;		 /* when half of the loss had occurred; NAN: no loss */
	double part_s;
	double clock_kept;
	unsigned memory_limit_c;
	uint64_t reasons; /* in the last part */
};

/* Number of slots in the first and in the last part. */
size_t gemm_burn_part(double slot_s);

/* What was not measured is NAN. */
void gemm_burn_sum(const struct burn_series *series, struct burn_sum *ret);

/*
 * Did GPU `i` of `n` become slower? If so, sets a borrowed word for the sample's code, and the
 * cause, which the caller frees.
 */
bool gemm_burn_slower(const struct burn_sum *all, size_t n, size_t i, const char **ret_code,
		      char **ret_words);

/* Is its memory too hot? If so, sets the description, which the caller frees. */
bool gemm_burn_hot(const struct burn_sum *all, size_t n, size_t i, char **ret_words);

/*
 * "9 % slower in its last 60 s than in its first; SM clock 1340 MHz, 574 W, 87 C, HBM 92 C while
 * the others' is 78 to 80": a description of any GPU, also a good one. The caller frees it.
 */
char *gemm_burn_words(const struct burn_sum *all, size_t n, size_t i);
