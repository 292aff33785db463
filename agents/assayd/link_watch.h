/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The links of this host's RNICs over time. Pure: takes observations of ports and the time,
 * produces samples of rnic.*.
 *
 *	down			reported at once, a warning
 *	down for LINK_LONG_US	fatal
 *	down and up again	a flap, a warning for LINK_WINDOW_US
 *	LINK_FLAPS_MANY flaps	rnic.flapping, asks for a test with a partner
 *	device gone		reported at once, a warning (its driver may be being reloaded)
 *	gone for LINK_LOST_US	fatal: the device is lost
 *	administratively down	noted, never a fault
 *
 * A port that was never up has no cable: only its removal is reported. Each report contains every
 * port that was ever up, so that it can replace the previous one.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct clock_pair;
struct report;

#define LINK_LONG_US (60 * USEC_PER_SEC)
#define LINK_LOST_US (30 * USEC_PER_SEC)
#define LINK_WINDOW_US (10 * USEC_PER_MIN)
#define LINK_AGAIN_US (1 * USEC_PER_MIN) /* between counts of a port that keeps flapping */

enum {
	LINK_PORTS_MAX = 256,
	LINK_NAME_SIZE = 64,
	LINK_NETDEV_SIZE = 16,
	LINK_FLAPS_MANY = 3,
	LINK_FLAPS_KEPT = 64, /* the newest; more within the window are "64 or more" */
};

enum link_state {
	LINK_UP,
	LINK_DOWN, /* administratively up, but no carrier */
	LINK_OFF,  /* administratively down */
	LINK_GONE, /* device removed */
};

/* Present state of a port. */
struct link_seen {
	const char *port;   /* "mlx5_0:1" */
	const char *netdev; /* "eth2", or "" */
	enum link_state state;
	bool counted;	/* `downs` is valid */
	uint64_t downs; /* carrier_down_count: finds outages too short to see */
};

struct link_port {
	char name[LINK_NAME_SIZE], netdev[LINK_NETDEV_SIZE];
	int state;	   /* enum link_state */
	uint64_t since_us; /* of that state */
	bool was_up;
	bool settling; /* set up administratively, no carrier yet */
	bool counted;
	uint64_t downs;
	uint64_t outage_us; /* duration of the last outage */
	uint64_t flaps_us[LINK_FLAPS_KEPT];
	size_t n_flaps;
	/* What was reported last. */
	int word;	       /* enum link_word */
	int flap_word;	       /* enum flap_word */
	uint64_t flap_told_us; /* when a flap count was reported; 0: never */
	uint64_t flap_due_us;  /* when to report one; WATCH_NEVER: nothing new */
};

struct link_watch {
	struct link_port ports[LINK_PORTS_MAX];
	size_t n;
};

void link_watch_init(struct link_watch *w);

/* Record the state of a port; adds it if it is new. */
void link_watch_see(struct link_watch *w, const struct link_seen *seen, uint64_t now_us);

/* Drop a port that moved to another network namespace: it is no longer this host's. */
void link_watch_forget(struct link_watch *w, const char *port);

/* When a report is due, possibly in the future; WATCH_NEVER: nothing to report. */
uint64_t link_watch_due(const struct link_watch *w);

/* Add the samples of all ports to the report; they then count as reported. */
void link_watch_tell(struct link_watch *w, const struct clock_pair *now, struct report *report);

/* State to keep across restarts within a boot. New reference. */
json_t *link_watch_encode(const struct link_watch *w);

/* Restore it into an initialized object; malformed parts are skipped. */
void link_watch_decode(struct link_watch *w, const json_t *value);
