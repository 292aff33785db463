/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Burns that people have ordered (docs/burn.md): which host may begin when. A host at full power
 * takes several kilowatts at once, so of one domain (a rack, by the policy's budget.domain.label)
 * at most BURN_RACK_MAX burn at a time, begun BURN_APART_US apart, in the order in which they were
 * asked for; hosts of no known domain count as one. Pure: the time, monotonic, is a parameter.
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
/* An order is over so late, answered or not: a burn of 6 minutes, and what a host waits for before. */
#define BURN_ORDER_US (15 * USEC_PER_MIN)
/* Who cannot begin for so long, as it is not there or its rack is full, is forgotten. */
#define BURN_WAIT_US (12 * USEC_PER_HOUR)

struct burn_ask {
	char *node, *domain;
	char id[BURN_ID_SIZE];	     /* of the order; "" before */
	uint64_t asked_us, begun_us; /* begun 0: it waits */
};

/* Zero it before its first use. */
struct burn_queue {
	struct burn_ask *asks; /* in the order in which they were asked for */
	size_t n;
};

void burn_queue_release(struct burn_queue *q);

/* -EALREADY: it waits or burns; -EDQUOT: too many do. With a sentence. `domain` "": not known. */
int burn_queue_add(struct burn_queue *q, const char *node, const char *domain, uint64_t now_us,
		   struct err *err);

/* May the host begin now? */
bool burn_queue_may(const struct burn_queue *q, const char *node, uint64_t now_us);

/* It begins, by the order of that id. It must be one that may. */
void burn_queue_begin(struct burn_queue *q, const char *node, const char *id, uint64_t now_us);

/* It was answered. False: it is no order of a burn. */
bool burn_queue_answered(struct burn_queue *q, const char *node, const char *id);

/* The host is not asked any more. */
void burn_queue_drop(struct burn_queue *q, const char *node);

/* What is over unanswered, or has waited for too long, goes; how many did. */
size_t burn_queue_expire(struct burn_queue *q, uint64_t now_us);

/* How many of its domain are before it, waiting or burning; 0 too when it is not there. */
size_t burn_queue_before(const struct burn_queue *q, const char *node);
