/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bulk.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/act.h"
#include "cli/command.h"
#include "cli/confirm.h"
#include "cli/fanout.h"
#include "cli/host.h"
#include "cli/link.h"
#include "cli/link_words.h"
#include "cli/targets.h"
#include "cli/view.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

enum {
	NAMED_MOST = 24,  /* hosts named in a question */
	UNDONE_MOST = 16, /* hosts named in the undo command */
	NEAR_MOST = 8,	  /* with more hosts, no similar names are suggested */
};

/* Rules whose refusal of one host applies to all the following. */
static const char *const rules_for_all[] = {
	"breaker", "budget.total", "budget.rate", "budget.rate.manual", "stopped", "stale",
};

struct bulk {
	struct link *link;
	const struct request *request;
	const struct targets *targets;
	struct page page;
	size_t n_done, n_already, n_refused, n_unknown, n_failed;
	json_t *done; /* names; without unchanged hosts, which must not be reverted */
	bool over;    /* a refusal applies to the remaining hosts */
};

/* What happened to the hosts, in words; a span of 0 ends what another command started. */
static const char *done_words(const struct request *request)
{
	const struct command *c = commands;

	if (request->settings.for_us != 0)
		return request->command->done;
	while (c->words[0] && !(c->ends && streq(c->words[0], request->command->words[0])))
		c++;
	return c->words[0] ? c->done : request->command->done;
}

/* --- confirmation --- */

/* "gpu-1, gpu-2 and 38 more", clean. The caller frees it. */
static char *names_of(const struct targets *targets, size_t most)
{
	char *text = xstrdup("");
	size_t i;

	for (i = 0; i < MIN(targets->n, most); i++) {
		CLEANUP(freep) char *before = text;
		CLEANUP(freep) char *name = utf8_clean(targets->names[i]);

		text = xasprintf("%s%s%s", before, i ? ", " : "", name);
	}
	if (targets->n > most) {
		CLEANUP(freep) char *before = text;

		text = xasprintf("%s and %zu more", before, targets->n - most);
	}
	return text;
}

/* Only asks on a terminal; if stdin is a list of hosts, it asks on the terminal itself. */
static bool may_go_on(const struct request *request, const struct targets *targets)
{
	const bool piped = streq(request->settings.file, "-");
	CLEANUP(freep) char *names = NULL;
	CLEANUP(freep) char *question = NULL;

	if (targets->n < 2 || request->settings.yes || request->settings.dry_run ||
	    !isatty(STDERR_FILENO) || (!piped && !isatty(STDIN_FILENO)))
		return true;
	names = names_of(targets, NAMED_MOST);
	question = xasprintf("%zu hosts will be %s: %s.", targets->n, done_words(request), names);
	return confirm(question, piped);
}

/* --- one host --- */

static void print_done(const struct bulk *b, const json_t *answer)
{
	CLEANUP(freep) char *sentence = text_at(answer, "sentence");

	if (b->request->settings.output == OUTPUT_TABLE)
		text_wrap(sentence, b->page.out, 0, b->page.width);
	else if (b->request->settings.output == OUTPUT_JSON)
		print_json(answer, b->page.out, true);
	else
		print_kv(answer, b->page.out);
	(void)fflush(b->page.out);
}

static bool holds_for_all(const char *rule)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rules_for_all) && !streq(rules_for_all[i], rule); i++)
		;
	return i < ARRAY_SIZE(rules_for_all);
}

/* Did it take no action, because the host was already in that state? */
static bool was_already(const struct bulk *b, const json_t *answer)
{
	return !b->request->settings.dry_run && json_is_null(json_object_get(answer, "action"));
}

static int take(struct bulk *b, struct fanout_answer *answer)
{
	const int r = answer->r;

	if (r == 0) {
		if (was_already(b, answer->sent.value)) {
			b->n_already++;
		} else {
			b->n_done++;
			(void)json_array_append_new(b->done, json_string(answer->name));
		}
		print_done(b, answer->sent.value);
		json_decref(answer->sent.value);
		return STATUS_GOOD;
	}
	if (b->targets->n <= NEAR_MOST)
		(void)host_explain(b->link, answer->name, r, &answer->err);
	b->n_refused += r == -EPERM;
	b->n_unknown += r == -ENOENT;
	b->n_failed += r != -EPERM && r != -ENOENT;
	b->over = b->over || (r == -EPERM && holds_for_all(answer->sent.rule));
	log_error("%s", answer->err.msg);
	return link_words_status(r);
}

/* --- all of them --- */

static void count(char **text, size_t n, const char *words)
{
	CLEANUP(freep) char *before = *text;

	*text = n ? xasprintf("%s, %zu %s", before, n, words) : xstrdup(before);
}

/* "gpu-1 gpu-2": the hosts done, or NULL if too many or none. The caller frees it. */
static char *done_names(const struct bulk *b)
{
	char *text = NULL;
	size_t i;

	for (i = 0; b->n_done <= UNDONE_MOST && i < b->n_done; i++) {
		CLEANUP(freep) char *before = text;

		text = xasprintf("%s%s%s", before ? before : "", i ? " " : "",
				 json_string_value(json_array_get(b->done, i)));
	}
	return text;
}

static void sum_up(const struct bulk *b)
{
	const size_t n = b->targets->n;
	const size_t tried = b->n_done + b->n_already + b->n_refused + b->n_unknown + b->n_failed;
	CLEANUP(freep)
	char *text = xasprintf("%zu host%s: %zu %s%s", n, n == 1 ? "" : "s", b->n_done,
			       b->request->settings.dry_run ? "would be " : "",
			       done_words(b->request));
	CLEANUP(freep) char *names = done_names(b);
	CLEANUP(freep) char *undo = names ? act_undo(b->request, names) : NULL;

	if (b->request->settings.output != OUTPUT_TABLE)
		return;
	count(&text, b->n_already, "already");
	count(&text, b->n_refused, "refused");
	count(&text, b->n_unknown, "unknown");
	count(&text, b->n_failed, "failed");
	count(&text, n - tried, b->over ? "not tried: they would be refused too" : "not tried");
	text_wrap(text, b->page.out, 0, b->page.width);
	if (b->request->settings.dry_run && b->n_done > 1)
		text_wrap("Each host was checked on its own: together they may exceed a budget.",
			  b->page.out, 0, b->page.width);
	if (undo)
		act_show_undo(undo, &b->page);
}

static int run_all(struct bulk *b)
{
	CLEANUP(fanout_freep) struct fanout *fanout = fanout_new(b->link, b->request, b->targets);
	struct fanout_answer answer;
	int status = STATUS_GOOD;

	b->done = json_array();
	while (fanout_take(fanout, &answer)) {
		status = MAX(status, take(b, &answer));
		if (status > STATUS_NO || b->over)
			fanout_stop(fanout);
	}
	if (status <= STATUS_NO || b->n_done + b->n_already > 0)
		sum_up(b);
	json_decref(b->done);
	return status;
}

int bulk_run(struct link *link, const struct request *request)
{
	CLEANUP(targets_release) struct targets targets = { 0 };
	struct err err = ERR_INIT;
	int r = targets_find(link, request, &targets, &err);
	struct bulk b = {
		.link = link,
		.request = request,
		.targets = &targets,
		.page = { .out = stdout,
			  .colour = term_wants_colour(stdout),
			  .width = isatty(STDOUT_FILENO) && !request->settings.wide
					   ? term_width(stdout)
					   : UINT_MAX },
	};

	if (r < 0) {
		log_error("%s", err.msg);
		return link_words_status(r);
	}
	if (!may_go_on(request, &targets)) {
		log_error("nothing was done: answer y, or give --yes");
		return STATUS_NO;
	}
	return run_all(&b);
}
