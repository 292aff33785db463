/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/sys/term.h"

enum { PATIENCE_US = 2000000, EVERY_US = 200000, BAR = 24, NAME = 48 };

struct progress progress_start(const char *what)
{
	return (struct progress){
		.what = what,
		.wanted = isatty(STDERR_FILENO) == 1,
		.next_us = clock_mono_us() + PATIENCE_US,
	};
}

void progress_text(const struct progress *progress, uint64_t done, uint64_t size,
		   uint64_t operations, unsigned width, char ret_text[static PROGRESS_SIZE])
{
	double share = size ? MIN((double)done / (double)size, 1.0) : 0;
	char bar[BAR + 1] = "";
	int n;

	if (size) {
		memset(bar, '.', BAR);
		memset(bar, '#', (size_t)(share * BAR));
		n = snprintf(ret_text, PROGRESS_SIZE, "[%s] %3.0f %%  %.1f million operations  %.*s",
			     bar, 100 * share, (double)operations / 1e6, NAME, progress->what);
	} else {
		n = snprintf(ret_text, PROGRESS_SIZE, "%.1f MB  %.1f million operations  %.*s",
			     (double)done / 1e6, (double)operations / 1e6, NAME, progress->what);
	}
	if (n > 0 && (unsigned)n >= width && width > 0 && width < PROGRESS_SIZE)
		ret_text[width - 1] = '\0';
}

void progress_tell(struct progress *progress, uint64_t done, uint64_t size, uint64_t operations)
{
	char text[PROGRESS_SIZE];
	uint64_t now;

	if (!progress->wanted)
		return;
	now = clock_mono_us();
	if (now < progress->next_us)
		return;
	progress->next_us = now + EVERY_US;
	progress->shown = true;
	progress_text(progress, done, size, operations, term_width(stderr), text);
	(void)fprintf(stderr, "\r\033[K%s", text);
	(void)fflush(stderr);
}

void progress_end(struct progress *progress)
{
	if (progress->shown)
		(void)fprintf(stderr, "\r\033[K");
	(void)fflush(stderr);
	progress->wanted = progress->shown = false;
}
