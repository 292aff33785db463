/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/life.h"

#include <stdlib.h>

#include "cli/ticket.h"
#include "cli/view.h"
#include "cli/view_actions.h"
#include "lib/base/xalloc.h"

/* Recent actions that are shown with it. */
enum { DEEDS_TOLD = 5 };

/* Did it join by itself, and has it not passed yet? */
static bool is_unverified(const json_t *host)
{
	return json_is_true(json_object_get(host, "unverified"));
}

static void line_state(const json_t *life, const struct page *page)
{
	const char *since = raw_at(life, "since");
	CLEANUP(freep) char *age = age_of_stamp(since, page->now_us);
	CLEANUP(freep)
	char *text = *since ? xasprintf("%s since %s (%s)", raw_at(life, "state"), since, age)
			    : xstrdup(raw_at(life, "state"));

	ticket_line(page, "state", text);
	if (json_is_false(json_object_get(life, "managed")))
		ticket_line(page, "managed", "no: it opted out, and Assay never touches it");
	if (*raw_at(life, "hands_off"))
		ticket_line(page, "hands off", raw_at(life, "hands_off"));
	if (*raw_at(life, "unverified"))
		ticket_line(page, "no jobs", raw_at(life, "unverified"));
}

static void line_cordon(const json_t *life, const struct page *page)
{
	const json_t *cordon = json_object_get(life, "cordon");
	CLEANUP(freep) char *text = NULL;

	if (!json_is_object(cordon)) {
		if (json_is_false(json_object_get(life, "schedulable")))
			ticket_line(page, "cordon", "by someone else: Assay never lifts it");
		return;
	}
	text = xasprintf("by %s at %s: %s%s", raw_at(cordon, "by"), raw_at(cordon, "at"),
			 raw_at(cordon, "reason"),
			 json_is_true(json_object_get(cordon, "pre"))
				 ? "; someone else had cordoned it before, and that cordon stays"
				 : "");
	ticket_line(page, "cordon", text);
}

/* "until TIME", and by whom. */
static void line_until(const struct page *page, const char *label, const char *until,
		       const char *words)
{
	CLEANUP(freep) char *text = xasprintf("until %s%s%s", until, *words ? ": " : "", words);

	if (*until)
		ticket_line(page, label, text);
}

static void lines_until(const json_t *life, const struct page *page)
{
	line_until(page, "override", raw_at(life, "override_until"),
		   "kept in service by an operator");
	line_until(page, "silence", raw_at(life, "silence_until"),
		   "findings are shown but have no effect");
	line_until(page, "hold", raw_at(life, "hold_until"), "kept free of jobs for a test");
}

/* What an operator can type. */
static void line_by_hand(const json_t *host, const json_t *life, const struct page *page)
{
	CLEANUP(freep)
	char *text = xasprintf("assayctl uncordon %s --reason ...", raw_at(host, "node"));

	if (json_is_object(json_object_get(life, "cordon")))
		ticket_line(page, "by hand", text);
}

/* A host that is in service and always was. */
static bool is_plain(const json_t *host, const json_t *life, const json_t *actions)
{
	return streq(raw_at(life, "state"), "healthy") && json_array_size(actions) == 0 &&
	       !json_is_false(json_object_get(life, "schedulable")) &&
	       !json_is_false(json_object_get(life, "managed")) && !*raw_at(life, "hands_off") &&
	       !*raw_at(life, "unverified") && !*raw_at(life, "override_until") &&
	       !*raw_at(life, "silence_until") && !*raw_at(life, "hold_until") &&
	       !is_unverified(host);
}

void life_show(const json_t *host, const struct page *page)
{
	const json_t *life = json_object_get(host, "life");
	const json_t *actions = json_object_get(host, "actions");
	size_t n = MIN(json_array_size(actions), (size_t)DEEDS_TOLD), i;

	if (!json_is_object(life) || is_plain(host, life, actions))
		return;
	ticket_head(page, "in service?");
	line_state(life, page);
	if (is_unverified(host))
		ticket_line(page, "joined",
			    "unverified until a quick or full run passes as a whole: `assay admit` "
			    "says degraded");
	line_cordon(life, page);
	lines_until(life, page);
	ticket_line(page, "releases", raw_at(life, "releases"));
	line_by_hand(host, life, page);
	for (i = 0; i < n; i++) {
		CLEANUP(freep) char *line = action_line(json_array_get(actions, i), page);

		ticket_line(page, i ? "" : "actions", line);
	}
}
