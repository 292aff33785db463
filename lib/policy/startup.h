/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start-up taint: a host takes no jobs from when it joined the cluster until a test of it has
 * passed. Pure: facts about one host in, what to do about its taint out.
 *
 *	its newest active run since it joined, in this boot	  its taint
 *	none, and it joined less than `startup.wait` ago	  waits
 *	passed, and nothing is bad on the host			  is lifted
 *	none for longer, or any other result			  stays: a denial (deny.h)
 *	the same on more hosts than `budget.deny` allows	  is lifted: a shared cause
 *
 * A run is valid for `startup.max_age`: a taint that a person sets later needs a new one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/deny.h"

struct policy;

/* Rule names in the records of what was done. */
#define STARTUP_RULE "startup"
#define STARTUP_RULE_OPEN "budget.deny"

enum startup_answer {
	STARTUP_WAITS,
	STARTUP_STAYS,
	STARTUP_PASSED, /* lift it */
	STARTUP_LET_IN, /* lift it although it has not passed: fail open */
};

/* What is known of a host with the taint. All borrowed. */
struct startup_facts {
	const char *node;
	uint64_t joined_us; /* 0: long ago */
	/* Its newest active run: boot, and when it was measured; `boot` NULL: none. */
	const char *boot, *profile;
	uint64_t tested_us;
	int level;	   /* enum verdict_level of the run */
	const char *worst; /* what the run lacks to pass, as "gemm.rate sku"; or NULL */
	const char *now;   /* the boot according to the cluster; NULL: unknown */
	const char *bad;   /* what else is bad on the host, as "gpu.xid 79"; or NULL */
};

struct startup_decision {
	int answer;			   /* enum startup_answer */
	char sentence[DENY_TEXT_SIZE + 8]; /* why, for people; "" while it waits */
};

/* `nodes`: size of the fleet. A taint that stays is counted in `denials`. */
void startup_decide(const struct policy *policy, struct denials *denials, size_t nodes,
		    const struct startup_facts *facts, uint64_t now_us,
		    struct startup_decision *ret);
