/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which hosts of a job we ask to look at their ranks. Each gets the order once per look, when it
 * comes for its orders, and again if it does not answer, at most HANG_ASKS_TRIES times. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/base/map.h"

enum {
	HANG_ASKS_TRIES = 3,
	HANG_ASKS_MANY = 256, /* hosts of a job; with more, shorter looks in turns */
};

/* How long a host looks; it reports every 15 s. */
#define HANG_ASKS_LOOK_US (2 * USEC_PER_MIN)
#define HANG_ASKS_LOOK_MANY_US (30 * USEC_PER_SEC)
/* Hosts answer at once: an order without an answer for this long is lost. */
#define HANG_ASKS_LOST_US USEC_PER_MIN

struct hang_asks {
	struct map hosts;	      /* struct hang_asked */
	uint64_t began_us;	      /* 0: not asking */
	uint64_t answered_us;	      /* the last answer */
	size_t given, answered, lost; /* hosts */
};

/* Start asking all of these hosts. */
void hang_asks_begin(struct hang_asks *a, char *const *nodes, size_t n, uint64_t now_us);

/* How long a host should look. */
uint64_t hang_asks_look_us(const struct hang_asks *a);

/* Should the host get the order now? If so it counts as given, until `ret_until_us`. */
bool hang_asks_give(struct hang_asks *a, const char *node, uint64_t now_us, uint64_t *ret_until_us);

/* The host has answered. */
void hang_asks_answered(struct hang_asks *a, const char *node, uint64_t now_us);

/* Returns how many hosts are looking now. Hosts without an answer are asked again or given up. */
size_t hang_asks_look(struct hang_asks *a, uint64_t now_us);

/* Call `each` for at most `most` hosts still to be asked. Returns how many there were. */
size_t hang_asks_waiting(const struct hang_asks *a, size_t most,
			 void (*each)(void *context, const char *node), void *context);

/* Stop asking. */
void hang_asks_end(struct hang_asks *a);
