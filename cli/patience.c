/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/patience.h"

#include <stdio.h>
#include <unistd.h>

#include "lib/base/clock.h"

#define FIRST_US (2 * USEC_PER_SEC)
#define EVERY_US (500 * USEC_PER_MSEC)

struct patience patience_start(const char *words)
{
	uint64_t now_us = clock_mono_us();

	return (struct patience){
		.words = words,
		.since_us = now_us,
		.next_us = now_us + FIRST_US,
		.wanted = isatty(STDERR_FILENO) == 1,
	};
}

void patience_tick(void *context)
{
	struct patience *patience = context;
	uint64_t now_us = clock_mono_us();

	if (!patience->wanted || now_us < patience->next_us)
		return;
	patience->next_us = now_us + EVERY_US;
	patience->shown = true;
	(void)fprintf(stderr, "\r\033[K%s, %llu s", patience->words,
		      (unsigned long long)((now_us - patience->since_us) / USEC_PER_SEC));
	(void)fflush(stderr);
}

void patience_end(struct patience *patience)
{
	if (patience->shown)
		(void)fputs("\r\033[K", stderr);
	patience->shown = false;
}
