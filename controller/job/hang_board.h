/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of the hangs of jobs now (hangs.h), for who tells of a job that stands still: its
 * owner, alerts, and its diagnosis, which waits for what hosts answer and is not begun for what no
 * test of a host can show.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/base/map.h"

/* In the map by the job's name. */
struct hang_noted {
	char *name;
	bool awaited;	/* hosts are to be asked, or to answer, or what they did is to be judged */
	bool owner;	/* it is the owner's: no host is to be tested for it */
	char *sentence; /* who has stopped; owned; NULL: not known */
};

struct hang_board {
	struct map jobs;
};

/* NULL: nothing is known. `b` may be NULL. */
const struct hang_noted *hang_board_find(const struct hang_board *b, const char *job);

/* The entry of a job, made if it is new. */
struct hang_noted *hang_board_need(struct hang_board *b, const char *job);

void hang_board_drop(struct hang_board *b, const char *job);
void hang_board_release(struct hang_board *b);

/* `words`, and after it who has stopped as far as that is known. New memory. */
char *hang_board_words(const struct hang_board *b, const char *job, const char *words);
