/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/loopback/loopback_progress.h"

#include <stdio.h>
#include <unistd.h>

#include "lib/base/clock.h"

#define QUIET_US (2 * USEC_PER_SEC)

/* Back to the first column, and clear the line: ECMA-48 EL. */
#define WIPE "\r\033[K"

void progress_begin(struct progress *p, const char *what)
{
	*p = (struct progress){ .what = what,
				.begin_us = clock_mono_us(),
				/* Samples on the terminal show the progress themselves. */
				.terminal = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO) };
}

void progress_tell(struct progress *p, size_t done, size_t of, const char *unit, uint64_t left_us)
{
	if (!p->terminal || clock_mono_us() < p->begin_us + QUIET_US)
		return;
	(void)fprintf(stderr, WIPE "%s: %zu of %zu %s, at most %u s", p->what, done, of, unit,
		      (unsigned)(left_us / USEC_PER_SEC));
	(void)fflush(stderr);
	p->shown = true;
}

void progress_end(struct progress *p)
{
	if (p->shown)
		(void)fputs(WIPE, stderr);
	p->shown = false;
}
