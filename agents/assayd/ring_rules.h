/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits on rings: which are accepted, how many from whom, and how often someone may connect.
 * Pure.
 *
 * Anybody may connect and send anything. So everything that a client can use up is bounded by
 * what the kernel says of it: its process and its user.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

enum {
	RING_CONNECTIONS_MAX = 64,     /* at once */
	RING_CONNECTIONS_OF_USER = 48, /* so that no user can take all of them */
	RING_USERS_MAX = 256,	       /* whose rate is remembered */
	RING_BURST = 512,	       /* connections: all ranks of a host that start together */
	RING_RATE = 50,		       /* per user and second, after that */
	RING_PROCESSES_MAX = 128,      /* with rings: twice the ranks of a host */
};

#define RING_DEADLINE_US (2 * USEC_PER_SEC) /* for a client to send its hello */

enum ring_refusal {
	RING_TAKEN,
	RING_RATE_LIMIT, /* the user connects too often, or has too many open connections */
	RING_LATE,	 /* nothing was sent before the deadline, or it disconnected */
	RING_MESSAGE,	 /* not a hello of this version */
	RING_DESCRIPTOR, /* none, or more than one */
	RING_STRANGER,	 /* not a rank of a job that holds a GPU here, or ended */
	RING_KIND,	 /* the descriptor is not memory with the required seals */
	RING_LENGTH,	 /* not the size of a ring */
	RING_HEAD,	 /* invalid ring head */
	RING_TWICE,	 /* already held */
	RING_OF_PROCESS, /* the process is at its limit */
	RING_OF_USER,
	RING_OF_HOST,
	RING_RESOURCES, /* the kernel had no memory, mapping or descriptor */
	RING_REFUSALS
};

/* Names for metrics, and sentences for people. */
extern const char *const ring_refusal_names[RING_REFUSALS];
extern const char *const ring_refusal_words[RING_REFUSALS];

struct ring_limits {
	unsigned process, user; /* rings */
	uint64_t bytes;		/* of all rings of the host */
};

/* Number of rings held now. */
struct ring_held {
	unsigned process, user, host;
};

/* May one more be accepted? RING_TAKEN, RING_OF_PROCESS, RING_OF_USER or RING_OF_HOST. */
enum ring_refusal ring_rules_room(const struct ring_limits *limits, const struct ring_held *held);

/* Rate limit per user: a token bucket of RING_BURST, refilled with RING_RATE per second. */
struct ring_pace {
	struct {
		uid_t uid;
		uint64_t full_us; /* monotonic: when the bucket is full again */
	} users[RING_USERS_MAX];
	size_t n;
};

/*
 * May this user connect now? Takes a token. If there are too many users, the least active one is
 * dropped.
 */
bool ring_rules_pace(struct ring_pace *pace, uid_t uid, uint64_t now_us);

/*
 * Is recording on now, with a schedule of `on_us` out of every `every_us`? It follows the
 * real-time clock, so that all hosts of a job record together. `*ret_change_us`: time until that
 * changes.
 */
bool ring_rules_sampling(uint64_t every_us, uint64_t on_us, uint64_t real_us,
			 uint64_t *ret_change_us);
