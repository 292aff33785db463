/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which agents are there, by the call each holds open for orders. A call that
 * ends because its peer closed makes its host suspect at once; one that is not
 * renewed within LIVE_RENEW_US does so then. Suspect is a word for people: it
 * condemns nobody. Pure.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

/* An agent asks again well within this after its call was answered. */
#define LIVE_RENEW_US (5 * USEC_PER_SEC)

enum live_state { LIVE_NONE, LIVE_CONNECTED, LIVE_SUSPECT };
extern const char *const live_state_names[]; /* "none", "connected", "suspect" */

struct live {
	void *tree;
	size_t n;
};

/* The host's call is held from now on. */
void live_begin(struct live *l, const char *node);

/* Is there room for a call of this agent, with at most `max` agents known? One that is known has
 * its own. */
bool live_fits(const struct live *l, const char *node, size_t max);

/* Nothing is heard of its host any more. One that holds a call stays. */
void live_forget(struct live *l, const char *node);

/* It ended; `gone`: because the peer closed. */
void live_end(struct live *l, const char *node, bool gone, uint64_t now_us);

/* enum live_state; none for a host that never held one. */
int live_state(const struct live *l, const char *node, uint64_t now_us);

void live_release(struct live *l);
