/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom of a job's hosts we ask to look at their ranks, once for a look: each is given the order when
 * it comes for its orders, and again when it does not answer, HANG_ASKS_TRIES times at most. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/base/map.h"

enum {
	HANG_ASKS_TRIES = 3,
	HANG_ASKS_MANY = 256, /* hosts of a job: more look for a shorter time, in turns */
};

/* So long a host looks, and says every 15 s what it sees. */
#define HANG_ASKS_LOOK_US (2 * USEC_PER_MIN)
#define HANG_ASKS_LOOK_MANY_US (30 * USEC_PER_SEC)
/* It answers at once: without a word for so long the order is lost. */
#define HANG_ASKS_LOST_US USEC_PER_MIN

struct hang_asks {
	struct map hosts;	      /* of struct hang_asked */
	uint64_t began_us;	      /* 0: nobody is asked */
	uint64_t answered_us;	      /* the last answer */
	size_t given, answered, lost; /* hosts */
};

/* All of them are to be asked, from now on. */
void hang_asks_begin(struct hang_asks *a, char *const *nodes, size_t n, uint64_t now_us);

/* How long a host is to look. */
uint64_t hang_asks_look_us(const struct hang_asks *a);

/* Is the order to be given to the host now? Then it was, until `ret_until_us`. */
bool hang_asks_give(struct hang_asks *a, const char *node, uint64_t now_us, uint64_t *ret_until_us);

/* The host has answered. */
void hang_asks_answered(struct hang_asks *a, const char *node, uint64_t now_us);

/* How many look now; whoever does not answer is asked again, or given up. */
size_t hang_asks_look(struct hang_asks *a, uint64_t now_us);

/* Call `each` with some that are to be asked, at most `most`. How many there were. */
size_t hang_asks_waiting(const struct hang_asks *a, size_t most,
			 void (*each)(void *context, const char *node), void *context);

/* Nobody is asked any more. */
void hang_asks_end(struct hang_asks *a);
