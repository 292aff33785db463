/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ask.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/bulk.h"
#include "cli/command.h"
#include "cli/link.h"
#include "cli/link_words.h"
#include "cli/targets.h"
#include "cli/view.h"
#include "cli/watch.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/sys/term.h"

static int run_once(struct link *link, const struct request *request, struct err *err)
{
	CLEANUP(picture_release) struct picture picture = { 0 };
	struct page page = {
		.out = stdout,
		.colour = term_wants_colour(stdout),
		.width = isatty(STDOUT_FILENO) && !request->settings.wide ? term_width(stdout)
									  : UINT_MAX,
		.wide = request->settings.wide,
		.now_us = clock_real_us(),
	};
	int r = request->command->view->fetch(link, request, &picture, err);

	if (r < 0)
		return r;
	view_print(request, &picture, &page, false);
	return fflush(stdout) == 0 || term_unread(stdout)
		       ? 0
		       : err_errno(err, errno, "standard output");
}

/* Errors are printed on stderr. */
static int run_told(struct link *link, const struct request *request)
{
	struct err err = ERR_INIT;
	int r = request->settings.watch_us ? watch_run(link, request, &err)
					   : run_once(link, request, &err);

	if (r == 0)
		return STATUS_GOOD;
	log_error("%s", err.msg);
	return link_words_status(r);
}

int ask_run(const struct request *request)
{
	CLEANUP(link_freep) struct link *link = NULL;
	struct err err = ERR_INIT;
	int r = link_new(&request->settings, &link, &err);

	if (r == 0)
		return targets_are_many(request) ? bulk_run(link, request)
						 : run_told(link, request);
	log_error("%s", err.msg);
	return link_words_status(r);
}
