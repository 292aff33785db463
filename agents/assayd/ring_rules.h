/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rings are taken, how many of whom, and how often somebody may ask. Pure.
 *
 * Who connects is anybody, and what he sends is anything. So all that he can use up is bounded by
 * what the kernel says of him: his process and his user.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

enum {
	RING_CONNECTIONS_MAX = 64,     /* at once */
	RING_CONNECTIONS_OF_USER = 48, /* so that no user has all of them */
	RING_USERS_MAX = 256,	       /* whose pace is remembered */
	RING_BURST = 512,	       /* connections: all ranks of a host that begin together */
	RING_RATE = 50,		       /* of a user, a second, after that */
	RING_PROCESSES_MAX = 128,      /* that hold rings: twice the ranks of a host */
};

#define RING_DEADLINE_US (2 * USEC_PER_SEC) /* of a connection, to say what it wants */

enum ring_refusal {
	RING_TAKEN,
	RING_RATE_LIMIT, /* the user asks too often, or has too many connections open */
	RING_LATE,	 /* nothing was said before the deadline, or it was closed before */
	RING_MESSAGE,	 /* it is no hello of this version */
	RING_DESCRIPTOR, /* there is none, or several */
	RING_STRANGER,	 /* the process has no rank of a job that holds a GPU here, or has ended */
	RING_KIND,	 /* what was handed over can be cut, grown or unsealed */
	RING_LENGTH,	 /* it is not as long as a ring */
	RING_HEAD,	 /* its head is none */
	RING_TWICE,	 /* it is held already */
	RING_OF_PROCESS, /* the process has as many as it may */
	RING_OF_USER,
	RING_OF_HOST,
	RING_RESOURCES, /* the kernel gave no memory, mapping or descriptor */
	RING_REFUSALS
};

/* For metrics, and for people. */
extern const char *const ring_refusal_names[RING_REFUSALS];
extern const char *const ring_refusal_words[RING_REFUSALS];

struct ring_limits {
	unsigned process, user; /* rings */
	uint64_t bytes;		/* of all rings of the host together */
};

/* What is held now. */
struct ring_held {
	unsigned process, user, host;
};

/* May one more be held? RING_TAKEN, RING_OF_PROCESS, RING_OF_USER or RING_OF_HOST. */
enum ring_refusal ring_rules_room(const struct ring_limits *limits, const struct ring_held *held);

/* How often each user may connect: a bucket of RING_BURST, filled by RING_RATE a second. */
struct ring_pace {
	struct {
		uid_t uid;
		uint64_t full_us; /* when the bucket is full again, monotonic */
	} users[RING_USERS_MAX];
	size_t n;
};

/* May this user connect now? It counts. Of more users than are remembered who asked least goes. */
bool ring_rules_pace(struct ring_pace *pace, uid_t uid, uint64_t now_us);

/*
 * What is to be recorded now, of a schedule of `on_us` out of each `every_us` by the clock of the
 * real time, so that all hosts of a job record together. `*ret_change_us`: for how long it is so.
 */
bool ring_rules_sampling(uint64_t every_us, uint64_t on_us, uint64_t real_us,
			 uint64_t *ret_change_us);
