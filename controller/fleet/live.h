/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which agents are connected, by the call for orders that each holds open. If a call ends because
 * the peer closed it, the host becomes suspect at once; if it ends otherwise and is not renewed
 * within LIVE_RENEW_US, then. "Suspect" is only shown to people and has no consequences. Pure.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

/* Agents ask again well within this time after a call was answered. */
#define LIVE_RENEW_US (5 * USEC_PER_SEC)

enum live_state { LIVE_NONE, LIVE_CONNECTED, LIVE_SUSPECT };
extern const char *const live_state_names[]; /* "none", "connected", "suspect" */

struct live {
	void *tree;
	size_t n;
};

/* The host now holds a call. */
void live_begin(struct live *l, const char *node);

/* Is there room for a call of this agent, with at most `max` agents known? Known agents keep their
 * place. */
bool live_fits(const struct live *l, const char *node, size_t max);

/* The host was silent for long: remove it, unless it holds a call. */
void live_forget(struct live *l, const char *node);

/* The call ended; `gone`: the peer closed it. */
void live_end(struct live *l, const char *node, bool gone, uint64_t now_us);

/* enum live_state; LIVE_NONE for a host that never held a call. */
int live_state(const struct live *l, const char *node, uint64_t now_us);

void live_release(struct live *l);
