/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits people's cordons within a time, per account: budget.rate.manual of the policy. Automatic
 * cordons have budget.rate and the breaker's timestamps; neither counts in the other. A cordon
 * counts from its decision on, so that simultaneous orders see what the first ones took. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct policy;
struct refusal;

enum {
	MANUAL_STAMPS_MAX = 1024, /* cordons remembered; the oldest goes first */
	MANUAL_RATE_MAX = 256,	  /* highest limit for an account */
};

/* Zero it before its first use. */
struct manual_rate {
	struct manual_stamp {
		char *account; /* NULL: empty */
		uint32_t hash; /* of it */
		int64_t action;
		uint64_t at_us;
	} stamps[MANUAL_STAMPS_MAX]; /* ring buffer */
	size_t n;		     /* ever */
};

/* True if this account may cordon one more host. If false, `ret` says why. */
bool manual_rate_allows(const struct manual_rate *m, const struct policy *policy,
			const char *account, uint64_t now_us, struct refusal *ret);

/* Counts a cordon that was decided; `action` is its number. */
void manual_rate_count(struct manual_rate *m, const char *account, int64_t action, uint64_t at_us);

/* It was not set after all. */
void manual_rate_uncount(struct manual_rate *m, int64_t action);

/* The limit of an account. */
uint64_t manual_rate_limit(const struct policy *policy);

/* The most cordons of one account within the policy's time, and its name (NULL: none; borrowed). */
uint64_t manual_rate_most(const struct manual_rate *m, const struct policy *policy, uint64_t now_us,
			  const char **ret_account);

void manual_rate_release(struct manual_rate *m);
