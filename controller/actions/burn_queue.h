/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue of burns ordered by people (docs/burn.md): which host may begin when. A host at full power
 * draws several kilowatts at once, so in one domain (a rack, by the policy's budget.domain.label)
 * at most BURN_RACK_MAX hosts burn at a time, started BURN_APART_US apart, in the order of the
 * requests. Hosts without a known domain share one. Pure: the monotonic time is a parameter.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/macro.h"

struct err;

enum {
	BURN_QUEUE_MAX = 256,
	BURN_RACK_MAX = 2,
	BURN_ID_SIZE = 48,
};

#define BURN_APART_US (10 * USEC_PER_SEC)
/* An order ends after this time, answered or not: a burn of 6 minutes plus the host's waits before
 * it. */
#define BURN_ORDER_US (15 * USEC_PER_MIN)
/* A request that could not begin for this long, since the host is away or its rack is full, is
 * dropped. */
#define BURN_WAIT_US (12 * USEC_PER_HOUR)

struct burn_ask {
	char *node, *domain;
	char id[BURN_ID_SIZE];	     /* of the order; "" until it begins */
	uint64_t asked_us, begun_us; /* begun_us 0: waiting */
};

/* Zero it before first use. */
struct burn_queue {
	struct burn_ask *asks; /* in the order of the requests */
	size_t n;
};

void burn_queue_release(struct burn_queue *q);

/* Returns -EALREADY if the host waits or burns, -EDQUOT if the queue is full, with a sentence in
 * `err`. `domain` "": unknown. */
int burn_queue_add(struct burn_queue *q, const char *node, const char *domain, uint64_t now_us,
		   struct err *err);

/* May the host begin now? */
bool burn_queue_may(const struct burn_queue *q, const char *node, uint64_t now_us);

/* The host begins, with this order id. burn_queue_may() must hold. */
void burn_queue_begin(struct burn_queue *q, const char *node, const char *id, uint64_t now_us);

/* The order was answered. Returns false if it is not the order of a burn. */
bool burn_queue_answered(struct burn_queue *q, const char *node, const char *id);

/* Remove the host's request. */
void burn_queue_drop(struct burn_queue *q, const char *node);

/*
 * Remove orders past their time and requests that waited too long. Returns how many were removed.
 */
size_t burn_queue_expire(struct burn_queue *q, uint64_t now_us);

/* Returns how many of its domain are ahead of it, waiting or burning; 0 if it is not queued. */
size_t burn_queue_before(const struct burn_queue *q, const char *node);
