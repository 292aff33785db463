/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a burn says of each GPU: who became slower under minutes of load than it was in its first,
 * and whose memory is hotter than that of the others. Pure: series in, words out.
 *
 * A burn is BURN_SLOTS slots of equal length. Its first and its last part are a minute each, or a
 * fifth of it where it is shorter than five minutes.
 *
 * Why these rules: good GPUs lose 1 to 3 % from their first minute to their last, because a warm
 * chip reaches its power limit at a lower clock, and all of a host lose about the same, so 5 % more
 * than the others is no good GPU, and a tenth is none whatever the others do. Heat sinks in the
 * warm air of others are some 5 C warmer than those in front, so memory at its limit is told only
 * where it is hotter than the others' by more than that: in a hot aisle all are. What counts for
 * the limit is the hottest slot, because the driver slows a GPU down as soon as it is reached, and
 * after five minutes memory is still a degree below where it ends.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

enum {
	BURN_SLOTS = 30,
	BURN_PART_S = 60,   /* of the first and of the last part, at most */
	BURN_PARTS = 5,	    /* such parts there are at least */
	BURN_ABOVE_C = 6,   /* hotter than the others' by place alone: less than this */
	BURN_APART_C = 15,  /* hotter by so much is told far below the limit, too */
	BURN_PEERS_MIN = 2, /* others without which nothing is said of one among them */
};

/* What is seen of a GPU over time: FLOP/s, Hz, W and twice C. */
enum burn_what { BURN_RATE, BURN_CLOCK, BURN_POWER, BURN_GPU_C, BURN_MEMORY_C, BURN_WHATS };

/* What was seen in one slot; NAN unknown. */
struct burn_slot {
	double is[BURN_WHATS];
	uint64_t reasons; /* NVML bits of all looks */
};

struct burn_series {
	struct burn_slot slots[BURN_SLOTS];
	double slot_s;
	unsigned memory_limit_c; /* 0: the driver does not say */
	bool measured;		 /* in all of it, by itself */
};

/* The same in a few numbers; NAN unknown. */
struct burn_sum {
	double first;		 /* FLOP/s: the best slot of the first part */
	double last[BURN_WHATS]; /* medians of the last part */
	double memory_c;	 /* of its memory: the most in a slot of the last part */
	double kept;		 /* rate: last of first */
	double onset_s; /* from then on it had lost half of what it lost; NAN: it lost nothing */
	double part_s;
	double clock_kept;
	unsigned memory_limit_c;
	uint64_t reasons; /* in the last part */
};

/* Slots of the first and of the last part. */
size_t gemm_burn_part(double slot_s);

/* All members NAN for what was not measured. */
void gemm_burn_sum(const struct burn_series *series, struct burn_sum *ret);

/*
 * Did GPU `i` of `n` become slower? Then a word for the sample's code, borrowed, and the cause in
 * new memory.
 */
bool gemm_burn_slower(const struct burn_sum *all, size_t n, size_t i, const char **ret_code,
		      char **ret_words);

/* Is its memory too hot? Then the words, new memory. */
bool gemm_burn_hot(const struct burn_sum *all, size_t n, size_t i, char **ret_words);

/*
 * "9 % slower in its last 60 s than in its first; SM clock 1340 MHz, 574 W, 87 C, HBM 92 C while
 * the others' is 78 to 80" in new memory: what there is to say of one that is well, too.
 */
char *gemm_burn_words(const struct burn_sum *all, size_t n, size_t i);
