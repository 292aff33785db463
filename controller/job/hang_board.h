/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is currently known about hangs of jobs (hangs.h), for those who report a job that stands
 * still: to its owner, by alerts, and by its diagnosis, which waits for the answers of hosts, and
 * is not started for causes that no test of a host can show.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/base/map.h"

/* In the map by name of the job. */
struct hang_noted {
	char *name;
	bool awaited; /* hosts still have to be asked or to answer, or their answers to be judged */
	bool owner;   /* the owner's fault: no host needs a test */
	char *sentence; /* which ranks have stopped; owned; NULL: unknown */
};

struct hang_board {
	struct map jobs;
};

/* Returns NULL if nothing is known. `b` may be NULL. */
const struct hang_noted *hang_board_find(const struct hang_board *b, const char *job);

/* Find or create the entry of a job. */
struct hang_noted *hang_board_need(struct hang_board *b, const char *job);

void hang_board_drop(struct hang_board *b, const char *job);
void hang_board_release(struct hang_board *b);

/* `words`, followed by who has stopped if known. New memory. */
char *hang_board_words(const struct hang_board *b, const char *job, const char *words);
