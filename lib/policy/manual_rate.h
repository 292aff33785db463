/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cordons of people within a time, by account: budget.rate.manual of the policy. Automatic
 * cordons have budget.rate and the breaker's stamps; neither counts in the other. A cordon counts
 * from its decision on, so that orders which come at once find what the first of them took. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct policy;
struct refusal;

enum {
	MANUAL_STAMPS_MAX = 1024, /* cordons remembered; the oldest goes first */
	MANUAL_RATE_MAX = 256,	  /* no account may have more within the time */
};

/* Zero it before its first use. */
struct manual_rate {
	struct manual_stamp {
		char *account; /* NULL: empty */
		uint32_t hash; /* of it */
		int64_t action;
		uint64_t at_us;
	} stamps[MANUAL_STAMPS_MAX]; /* a ring */
	size_t n;		     /* ever */
};

/* May this account cordon one more host? False fills `ret`. */
bool manual_rate_allows(const struct manual_rate *m, const struct policy *policy,
			const char *account, uint64_t now_us, struct refusal *ret);

/* It has been decided; `action` is its number. */
void manual_rate_count(struct manual_rate *m, const char *account, int64_t action, uint64_t at_us);

/* Nothing was set after all. */
void manual_rate_uncount(struct manual_rate *m, int64_t action);

/* How many at most an account may have. */
uint64_t manual_rate_limit(const struct policy *policy);

/* The most that an account has within the policy's time, and whose it is (NULL: nobody's; borrowed). */
uint64_t manual_rate_most(const struct manual_rate *m, const struct policy *policy, uint64_t now_us,
			  const char **ret_account);

void manual_rate_release(struct manual_rate *m);
