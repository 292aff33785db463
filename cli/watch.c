/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/watch.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/change.h"
#include "cli/command.h"
#include "cli/link.h"
#include "cli/screen.h"
#include "cli/view.h"
#include "lib/base/backoff.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

#define BACKOFF_CAP_US (30 * USEC_PER_SEC)

struct watch {
	struct link *link;
	const struct request *request;
	struct screen screen;
	bool in_place;
	struct picture picture;		 /* the last complete one */
	bool any;			 /* `picture` is valid */
	json_t *steady;			 /* of `picture`, owned */
	json_t *changed;		 /* in the last change, owned; NULL: none yet */
	uint64_t picture_us, changed_us; /* real clock */
	struct err away;		 /* why there is no newer one; code 0: there is */
	struct backoff backoff;
};

static void watch_release(struct watch *w)
{
	screen_end(&w->screen);
	picture_release(&w->picture);
	json_decref(w->steady);
	json_decref(w->changed);
}

/* --- input --- */

/* True if there is something new to show. */
static bool take(struct watch *w, struct picture *picture)
{
	json_t *steady = change_steady(w->request->command->view, picture->document);
	json_t *changed = w->any ? change_find(w->steady, steady) : NULL;
	bool is_news = !w->any || changed;

	picture_release(&w->picture);
	w->picture = *picture;
	*picture = (struct picture){ 0 };
	json_decref(w->steady);
	w->steady = steady;
	w->picture_us = clock_real_us();
	w->any = true;
	if (changed) {
		json_decref(w->changed);
		w->changed = changed;
		w->changed_us = w->picture_us;
	}
	return is_news;
}

/* --- on a terminal --- */

static char *stamp(uint64_t real_us)
{
	char text[CLOCK_STAMP_SIZE];

	clock_stamp(real_us, text);
	return xasprintf("%.8sZ", text + strlen("2026-11-21T"));
}

static void put_state(const struct watch *w, const struct page *page)
{
	CLEANUP(freep) char *at = stamp(w->any ? w->picture_us : page->now_us);
	CLEANUP(freep) char *changed = stamp(w->changed_us);
	CLEANUP(freep) char *name = command_name(w->request->command);
	CLEANUP(freep)
	char *age = age_of_seconds((double)(page->now_us - MIN(w->picture_us, page->now_us)) / 1e6);
	CLEANUP(freep) char *line = NULL;

	if (w->away.code && w->any)
		line = xasprintf("STALE since %s (%s): %s", at, age, w->away.msg);
	else if (w->away.code)
		line = xasprintf("nothing yet: %s", w->away.msg);
	else if (w->changed)
		line = xasprintf("assayctl %s at %s; * changed at %s", name, at, changed);
	else
		line = xasprintf("assayctl %s at %s", name, at);
	(void)fputs(paint_on(page->colour, w->away.code ? PAINT_BAD : PAINT_DIM), page->out);
	text_wrap(line, page->out, 0, page->width);
	(void)fprintf(page->out, "%s\n", paint_off(page->colour));
}

static void draw(struct watch *w)
{
	CLEANUP(freep) char *text = NULL;
	size_t size = 0;
	struct page page = {
		.out = open_memstream(&text, &size),
		.colour = term_wants_colour(w->screen.out),
		.width = term_width(w->screen.out),
		.now_us = clock_real_us(),
		.changed = w->changed,
		.wide = w->request->settings.wide,
	};

	if (!page.out)
		return;
	put_state(w, &page);
	if (w->any)
		view_print(w->request, &w->picture, &page, true);
	if (fclose(page.out) == 0)
		screen_draw(&w->screen, text);
}

/* --- elsewhere --- */

static void append(struct watch *w)
{
	struct page page = {
		.out = stdout,
		.width = UINT_MAX,
		.now_us = clock_real_us(),
		.changed = w->changed,
		.wide = w->request->settings.wide,
	};

	if (w->request->settings.output == OUTPUT_TABLE) {
		char at[CLOCK_STAMP_SIZE];

		clock_stamp(w->picture_us, at);
		(void)fprintf(stdout, "--- %s\n", at);
	}
	view_print(w->request, &w->picture, &page, true);
	if (w->request->settings.output == OUTPUT_KV)
		(void)fputc('\n', stdout);
	(void)fflush(stdout);
}

/* --- the loop --- */

/* Errors that the user must fix, at first; later the controller may just be restarting. */
static bool is_hopeless(const struct watch *w, int r)
{
	return !w->any && (r == -EINVAL || r == -EACCES || r == -ENOENT);
}

static void note_away(struct watch *w, const struct err *err)
{
	if (!w->in_place && !w->away.code)
		log_warning("%s; retrying", err->msg);
	w->away = *err;
}

static void note_back(struct watch *w)
{
	if (!w->in_place && w->away.code)
		log_info("the controller answers again");
	w->away = (struct err)ERR_INIT;
	backoff_reset(&w->backoff);
}

/* Fetch and show once. Negative: retrying is pointless. */
static int turn(struct watch *w, uint64_t *ret_wait_us, struct err *err)
{
	CLEANUP(picture_release) struct picture picture = { 0 };
	struct err why = ERR_INIT;
	bool is_news = false;
	int r;

	*ret_wait_us = w->request->settings.watch_us;
	link_begin(w->link);
	r = w->request->command->view->fetch(w->link, w->request, &picture, &why);
	if (link_stopped(w->link))
		return 0;
	if (r < 0 && is_hopeless(w, r)) {
		*err = why;
		return r;
	}
	if (r < 0) {
		note_away(w, &why);
		*ret_wait_us = backoff_fail(&w->backoff, *ret_wait_us, random_u64());
	} else {
		note_back(w);
		is_news = take(w, &picture);
	}
	if (w->in_place)
		draw(w);
	else if (is_news)
		append(w);
	return 0;
}

static void leave(void *context)
{
	struct watch *w = context;

	screen_end(&w->screen);
}

static void come_back(void *context)
{
	struct watch *w = context;

	if (!w->in_place)
		return;
	screen_begin(&w->screen);
	draw(w);
}

int watch_run(struct link *link, const struct request *request, struct err *err)
{
	CLEANUP(watch_release)
	struct watch w = {
		.link = link,
		.request = request,
		.screen = { .out = stdout },
		.in_place = request->settings.output == OUTPUT_TABLE && screen_is_possible(stdout),
		.backoff = { .base_us = request->settings.watch_us, .cap_us = BACKOFF_CAP_US },
	};
	const struct link_pause pause = { leave, come_back, &w };
	int r = link_catch_ends(link, &pause, err);

	if (r < 0)
		return r;
	if (w.in_place)
		screen_begin(&w.screen);
	while (r == 0 && !link_stopped(link)) {
		uint64_t wait_us = 0, deadline_us;

		r = turn(&w, &wait_us, err);
		deadline_us = clock_mono_us() + wait_us;
		while (r == 0 && link_wait(link, deadline_us)) {
			if (w.in_place)
				draw(&w);
		}
	}
	return r;
}
