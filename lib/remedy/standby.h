/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many spare hosts a job needs so that it rarely waits for one: each of n hosts is down with
 * probability p, independently, and the spares suffice with a given certainty. ByteRobust sizes its
 * pool of warm standbys like this (ByteDance, SOSP 2025): the 99th percentile of a binomial. The
 * probability for a host is that it fails while another one is being repaired: rate * time.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "lib/base/macro.h"

struct err;

enum { STANDBY_HOSTS_MAX = 1 << 20 };

#define STANDBY_CERTAINTY 0.99
#define STANDBY_CERTAINTY_MAX 0.999999999 /* beyond it, sums of doubles are meaningless */

struct standby {
	size_t spares;
	double certainty; /* P[Binomial(n, p) <= spares] */
};

/*
 * The least number of spares with P[Binomial(hosts, out) <= spares] >= certainty, by its exact sum
 * in logarithms. -EINVAL for hosts above STANDBY_HOSTS_MAX, `out` outside 0 to 1, certainty not
 * above 0 or above STANDBY_CERTAINTY_MAX.
 */
int standby_find(size_t hosts, double out, double certainty, struct standby *ret_standby,
		 struct err *err);
