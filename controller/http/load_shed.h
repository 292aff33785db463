/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Senders that come all at once are told to retry at different times within so many seconds. If too
 * many come even then, that time is doubled; once few have to be told, it is halved. Pure.
 */
#pragma once

#include <stdint.h>

enum { LOAD_SHED_WITHIN_MIN_S = 8, LOAD_SHED_WITHIN_MAX_S = 64 };

/* Initially zero. */
struct load_shed {
	uint64_t since_us; /* begin of the current period */
	uint64_t kept, told;
	unsigned within_s; /* 0: LOAD_SHED_WITHIN_MIN_S */
};

/* A report was accepted. */
void load_shed_kept(struct load_shed *s);

/* A sender has to be told to retry. Returns the time within which to. */
unsigned load_shed_tell(struct load_shed *s, uint64_t now_us);
