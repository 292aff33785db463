/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known about each host apart from measurements: its clock offset, and which machine uses
 * its name. In memory, relearned after a start. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/sys/machine.h"

struct report_clock;

struct hosts {
	void *tree; /* struct host, by node */
	size_t n;
};

struct host {
	char *node;
	double skew_s; /* clock offset in its last report; NAN if not given */
	uint64_t lost; /* in its last report: reports that were lost */
	/* host_identity.h; times are of measurement, by our clock */
	bool known;		    /* the members below are valid */
	char machine[MACHINE_SIZE]; /* "" if not given */
	char *sku;		    /* or NULL */
	char *boot_id;
	uint64_t since_us;     /* first report of this boot */
	uint64_t last_us;      /* its newest report */
	uint64_t two_until_us; /* two machines use the name until then; 0: never */
	bool told;	       /* an incident is open */
	bool unverified;       /* store_joins.h, after its last report */
	bool verified;	       /* the same, and nobody has joined under its name since */
	unsigned replaced;     /* machines that replaced another since the start */
};

/* Find or create the host. Never NULL. */
struct host *hosts_need(struct hosts *h, const char *node);

/* NULL if nothing was received from it since the start. */
const struct host *hosts_find(const struct hosts *h, const char *node);

/* The host was silent for long: remove it. */
void hosts_forget(struct hosts *h, const char *node);

/*
 * An item for `why` if its clock is off by more than REPORT_CLOCK_SKEW_MAX_S: a warning that names
 * the offset. It never counts in the host's verdict. New reference, or NULL.
 */
json_t *host_clock_item(const struct host *host);

void hosts_release(struct hosts *h);
