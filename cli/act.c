/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assayctl cordon, uncordon, repair-done, override, silence, breaker reset, campaign start,
 * investigation cancel: sends one order to the controller and prints its answer in one sentence. A
 * refusal means STATUS_NO. bulk.c sends orders for many hosts.
 */
#include "cli/act.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/host.h"
#include "cli/link.h"
#include "cli/view.h"
#include "lib/base/duration.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

/* Returns `pattern` with its "{}" replaced by `text`. The caller frees it. */
static char *filled(const char *pattern, const char *text)
{
	const char *hole = strstr(pattern, "{}");

	if (!hole)
		return xstrdup(pattern);
	return xasprintf("%.*s%s%s", (int)(hole - pattern), pattern, text, hole + 2);
}

static void put_text(json_t *body, const char *key, const char *value)
{
	if (value)
		(void)json_object_set_new(body, key, json_string(value));
}

const char *act_login_name(void)
{
	const char *behind = getuid() == 0 ? getenv("SUDO_USER") : NULL;
	const struct passwd *entry = getpwuid(getuid());

	if (behind && *behind)
		return behind;
	return entry ? entry->pw_name : NULL;
}

/* Returns "a,b" as an array; the controller checks the names. */
static json_t *split(const char *text)
{
	json_t *list = json_array();
	size_t n;

	for (;; text += n + 1) {
		n = strcspn(text, ",");
		if (n > 0)
			(void)json_array_append_new(list, json_stringn(text, n));
		if (!text[n])
			return list;
	}
}

/* Returns the request body: the options that were given, by name. */
static json_t *body_of(const struct request *request)
{
	const struct settings *s = &request->settings;
	const bool ends = request->command->ends;
	char duration[CLOCK_DURATION_SIZE];
	json_t *body = json_object();

	put_text(body, "by", act_login_name());
	put_text(body, "reason", ends && !s->reason ? "ended by hand" : s->reason);
	put_text(body, "until", s->until);
	put_text(body, "domain", s->domain);
	put_text(body, "kind", s->kind);
	put_text(body, "memory", s->memory);
	put_text(body, "engine", s->engine);
	put_text(body, "plan", s->plan);
	if (s->nodes)
		(void)json_object_set_new(body, "nodes", split(s->nodes));
	if (ends || s->for_us != SPAN_NOT_SAID) {
		duration_format(ends ? 0 : s->for_us, duration);
		put_text(body, "for", duration);
	}
	if (s->break_glass)
		(void)json_object_set_new(body, "break_glass", json_true());
	if (s->dry_run)
		(void)json_object_set_new(body, "dry_run", json_true());
	return body;
}

char *act_undo(const struct request *request, const char *argument)
{
	if (!request->command->undo || request->settings.dry_run)
		return NULL;
	return filled(request->command->undo, argument ? argument : "");
}

int act_start(struct link *link, const struct request *request, const char *argument,
	      struct link_pending **ret, struct err *err)
{
	CLEANUP(freep) char *segment = link_segment(argument ? argument : "");
	CLEANUP(freep) char *path = filled(request->command->post, segment);
	CLEANUP(json_freep) json_t *body = body_of(request);

	return link_start(link, path, body, ret, err);
}

void act_put_undo(const struct request *request, const char *argument, json_t *answer)
{
	CLEANUP(freep) char *undo = act_undo(request, argument);

	put_text(answer, "undo", undo);
}

/* Sends the order for `argument`; `ret` is the answer. Errors as link_order(). */
static int send_order(struct link *link, const struct request *request, const char *argument,
		      struct link_sent *ret, struct err *err)
{
	CLEANUP(freep) char *segment = link_segment(argument ? argument : "");
	CLEANUP(freep) char *path = filled(request->command->post, segment);
	CLEANUP(json_freep) json_t *body = body_of(request);
	int r = link_order(link, path, body, ret, err);

	if (r == 0)
		act_put_undo(request, argument, ret->value);
	return r;
}

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	const char *argument = request->argument;
	struct link_sent sent = { 0 };
	int r = send_order(link, request, argument, &sent, err);

	if (r < 0)
		return argument && request->command->argument.kind == ARGUMENT_NODE
			       ? host_explain(link, argument, r, err)
			       : r;
	*ret = (struct picture){ .document = sent.value };
	return 0;
}

void act_show_undo(const char *undo, const struct page *page)
{
	CLEANUP(freep) char *clean = utf8_clean(undo);

	(void)fprintf(page->out, "%sto undo: %s%s\n", paint_on(page->colour, PAINT_DIM), clean,
		      paint_off(page->colour));
}

static void show(const struct picture *picture, struct page *page)
{
	CLEANUP(freep) char *sentence = text_at(picture->document, "sentence");
	const char *undo = raw_at(picture->document, "undo");

	text_wrap(sentence, page->out, 0, page->width);
	if (*undo)
		act_show_undo(undo, page);
}

const struct view view_act = { fetch, NULL, show, NULL };
