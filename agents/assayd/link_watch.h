/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The links of this host's RNICs over time. Pure: what is seen of a port and
 * the time come in, samples of rnic.* go out.
 *
 *	down			told at once, a warning
 *	down for LINK_LONG_US	fatal
 *	down and up again	a flap, a warning for LINK_WINDOW_US
 *	LINK_FLAPS_MANY flaps	rnic.flapping, for a test with a partner
 *	device gone		told at once, a warning (its driver may be loaded anew)
 *	gone for LINK_LOST_US	fatal: the device is lost
 *	taken down by somebody	noted, never a fault
 *
 * A port that was never up has no cable: only its removal is told. Each report
 * has every port that was up, so that it can stand in for the one before.
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
#define LINK_AGAIN_US (1 * USEC_PER_MIN) /* between counts of a port that goes on flapping */

enum {
	LINK_PORTS_MAX = 256,
	LINK_NAME_SIZE = 64,
	LINK_NETDEV_SIZE = 16,
	LINK_FLAPS_MANY = 3,
	LINK_FLAPS_KEPT = 64, /* the newest; more within the window are "64 or more" */
};

enum link_state {
	LINK_UP,
	LINK_DOWN, /* wanted up, and no carrier */
	LINK_OFF,  /* taken down by an operator */
	LINK_GONE, /* its device was removed */
};

/* How a port looks now. */
struct link_seen {
	const char *port;   /* "mlx5_0:1" */
	const char *netdev; /* "eth2", or "" */
	enum link_state state;
	bool counted; /* `downs` is known */
	uint64_t downs; /* how often the kernel saw the link go down: finds what was too short to see */
};

struct link_port {
	char name[LINK_NAME_SIZE], netdev[LINK_NETDEV_SIZE];
	int state;	   /* enum link_state */
	uint64_t since_us; /* of that state */
	bool was_up;
	bool settling; /* put up by an operator, not up yet */
	bool counted;
	uint64_t downs;
	uint64_t outage_us; /* the length of the last one */
	uint64_t flaps_us[LINK_FLAPS_KEPT];
	size_t n_flaps;
	/* What was told last. */
	int word;	       /* enum link_word */
	int flap_word;	       /* enum flap_word */
	uint64_t flap_told_us; /* when a count of flaps was told; 0: never */
	uint64_t flap_due_us;  /* when to tell one; WATCH_NEVER: nothing new */
};

struct link_watch {
	struct link_port ports[LINK_PORTS_MAX];
	size_t n;
};

void link_watch_init(struct link_watch *w);

/* Note how a port looks; one that is new is known from now on. */
void link_watch_see(struct link_watch *w, const struct link_seen *seen, uint64_t now_us);

/* A port that another network namespace has now is none of this host's. */
void link_watch_forget(struct link_watch *w, const char *port);

/* Since when there is something to tell, which may be in the future; WATCH_NEVER: nothing. */
uint64_t link_watch_due(const struct link_watch *w);

/* Put the samples of all ports into the report: they are told. */
void link_watch_tell(struct link_watch *w, const struct clock_pair *now, struct report *report);

/* What outlives the program, within a boot. New reference. */
json_t *link_watch_encode(const struct link_watch *w);

/* Take it into one that is fresh; what is malformed is left out. */
void link_watch_decode(struct link_watch *w, const json_t *value);
