/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/live.h"

#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/sys/term.h"

/* Frequent enough to look alive, rare enough to be cheap. */
#define LIVE_INTERVAL_US (100 * USEC_PER_MSEC)

enum { LIVE_LINE_SIZE = 256 };

/* Go to the first column and erase to the end of the line (ECMA-48 EL). */
static const char erase[] = "\r\033[K";

void live_init(struct live *live, FILE *out)
{
	*live = (struct live){ .out = isatty(fileno(out)) ? out : NULL };
}

static unsigned long long seconds_up(uint64_t us)
{
	return (us + USEC_PER_SEC - 1) / USEC_PER_SEC;
}

void live_line(const struct runner_progress *p, char *text, size_t size, unsigned width)
{
	size_t running = MIN(p->done + 1, p->total);
	int n = snprintf(text, size, "%s (%zu of %zu), %llu s left, at most %llu s in all",
			 p->probe ? p->probe : "waiting", running, p->total,
			 seconds_up(p->probe_left_us), seconds_up(p->run_left_us));

	/* One column less: a full line makes some terminals wrap. */
	if (n > 0 && width && (size_t)n >= width)
		text[MIN((size_t)width - 1, size - 1)] = '\0';
}

void live_progress(void *context, const struct runner_progress *p)
{
	struct live *live = context;
	uint64_t now_us = clock_mono_us();
	const char *probe = p->probe ? p->probe : "";
	char text[LIVE_LINE_SIZE];
	bool news = !streq(live->probe, probe) || live->done != p->done;

	if (!live->out || p->done == p->total)
		return;
	if (live->shown && !news && now_us - live->shown_us < LIVE_INTERVAL_US)
		return;
	live_line(p, text, sizeof(text), term_width(live->out));
	(void)fprintf(live->out, "%s%s%s%s", erase,
		      paint_on(term_wants_colour(live->out), PAINT_DIM), text,
		      paint_off(term_wants_colour(live->out)));
	(void)fflush(live->out);
	(void)snprintf(live->probe, sizeof(live->probe), "%s", probe);
	live->done = p->done;
	live->shown = true;
	live->shown_us = now_us;
}

void live_end(struct live *live)
{
	if (!live->shown)
		return;
	(void)fputs(erase, live->out);
	(void)fflush(live->out);
	live->shown = false;
}
