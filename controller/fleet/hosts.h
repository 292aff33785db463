/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of each host besides what its reports measured: how far its
 * clock is off, and which machine speaks under its name. Kept in memory, learnt
 * anew after a start. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/sys/machine.h"

struct report_clock;

struct hosts {
	void *tree; /* of struct host, by node */
	size_t n;
};

struct host {
	char *node;
	double skew_s; /* of its last report; NAN when it did not say */
	uint64_t lost; /* likewise: reports that never came */
	/* host_identity.h; times are of measuring, by our clock */
	bool known;		    /* the rest of this is */
	char machine[MACHINE_SIZE]; /* "" when it does not say */
	char *sku;		    /* or NULL */
	char *boot_id;
	uint64_t since_us;     /* the first report of this boot */
	uint64_t last_us;      /* its newest one */
	uint64_t two_until_us; /* two machines spoke; 0: never */
	bool told;	       /* their incident is open */
	bool unverified;       /* store_joins.h, after its last report */
	bool verified;	       /* likewise, and nobody has joined by its name since */
	unsigned replaced;     /* machines that took the place of another, since the start */
};

/* The host, made when it is new. Never NULL. */
struct host *hosts_need(struct hosts *h, const char *node);

/* NULL when nothing came from it since the start. */
const struct host *hosts_find(const struct hosts *h, const char *node);

/* Nothing was heard of it for long. */
void hosts_forget(struct hosts *h, const char *node);

/*
 * An item for `why` when its clock is further off than REPORT_CLOCK_SKEW_MAX_S: a warn, in words
 * that name it. It never counts in the host's verdict. New reference, or NULL.
 */
json_t *host_clock_item(const struct host *host);

void hosts_release(struct hosts *h);
