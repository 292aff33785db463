/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/hang_board.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"

static void release_noted(void *item)
{
	struct hang_noted *noted = item;

	free(noted->sentence);
}

const struct hang_noted *hang_board_find(const struct hang_board *b, const char *job)
{
	return b && job ? map_find(&b->jobs, job) : NULL;
}

struct hang_noted *hang_board_need(struct hang_board *b, const char *job)
{
	return map_need(&b->jobs, job, sizeof(struct hang_noted));
}

void hang_board_drop(struct hang_board *b, const char *job)
{
	map_drop(&b->jobs, job, release_noted);
}

void hang_board_release(struct hang_board *b)
{
	map_release(&b->jobs, release_noted);
}

char *hang_board_words(const struct hang_board *b, const char *job, const char *words)
{
	const struct hang_noted *noted = hang_board_find(b, job);
	const bool known = noted && noted->sentence;

	return xasprintf("%s%s%s", words, known ? "; " : "", known ? noted->sentence : "");
}
