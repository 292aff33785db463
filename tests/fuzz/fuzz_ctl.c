/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assayctl with any answers of a controller: each view ends with an error message
 * or with output that contains no terminal control sequences, and the JSON it
 * prints is the document.
 *
 * The first byte chooses view, output and width. Each further line is an answer,
 * preceded by its status unless that is 200: `404 {"detail":"no host"}`.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/link.h"
#include "cli/link_words.h"
#include "cli/view.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/net/http.h"
#include "tests/fuzz/fuzz.h"

#define NOW_US (UINT64_C(1795255200) * USEC_PER_SEC) /* 2026-11-21 */

enum { ANSWERS_MAX = 16 };

/* Replaces cli/link.c: the remaining answers. */
struct link {
	char *at;
	unsigned asked;
};

static int next_answer(struct link *link, json_t **ret, struct err *err)
{
	struct http_answer answer = { .status = 200, .why = "" };
	char *line = link->at, *end = line + strcspn(line, "\n");

	if (*line == '\0' || ++link->asked > ANSWERS_MAX)
		return err_set(err, ETIMEDOUT, "no answer in time");
	link->at = *end ? end + 1 : end;
	*end = '\0';
	if (line[0] >= '1' && line[0] <= '5') {
		char *rest = line;

		answer.status = (unsigned)strtoul(line, &rest, 10) % 1000;
		line = rest;
	}
	answer.body = line;
	answer.len = strlen(line);
	return link_words_answer(&answer, ret, err);
}

int link_get(struct link *link, const char *path, json_t **ret, struct err *err)
{
	FUZZ_CHECK(starts_with(path, "/v1/"));
	return next_answer(link, ret, err);
}

int link_post(struct link *link, const char *path, const json_t *body UNUSED, json_t **ret,
	      struct err *err)
{
	FUZZ_CHECK(starts_with(path, "/v1/"));
	return next_answer(link, ret, err);
}

int link_order(struct link *link, const char *path, const json_t *body, struct link_sent *ret,
	       struct err *err)
{
	*ret = (struct link_sent){ .status = 200 };
	return link_post(link, path, body, &ret->value, err);
}

int link_list(struct link *link, const char *path, json_t **ret_items, struct err *err)
{
	CLEANUP(json_freep) json_t *page = NULL;
	json_t *items, *item;
	size_t i;
	int r = link_get(link, path, &page, err);

	if (r < 0)
		return r;
	items = json_object_get(page, "items");
	if (!json_is_array(items))
		return err_set(err, EBADMSG, "the answer is no list; is this a controller?");
	json_array_foreach(items, i, item)
	{
		if (!json_is_object(item))
			return err_set(err, EBADMSG, "item %zu of the list is no object", i);
	}
	*ret_items = json_incref(items);
	return 0;
}

int link_new(const struct settings *settings UNUSED, struct link **ret UNUSED, struct err *err)
{
	return err_set(err, ENOTSUP, "there is no link");
}

void link_free(struct link *link UNUSED)
{
}

void link_begin(struct link *link UNUSED)
{
}

void link_begin_until(struct link *link UNUSED, uint64_t deadline_us UNUSED)
{
}

int link_send(struct link *link UNUSED, const struct link_sending *what UNUSED,
	      struct link_sent *ret UNUSED, struct err *err)
{
	return err_set(err, ENOTSUP, "there is no link");
}

int link_start(struct link *link UNUSED, const char *path UNUSED, const json_t *body UNUSED,
	       struct link_pending **ret UNUSED, struct err *err)
{
	return err_set(err, ENOTSUP, "there is no link");
}

bool link_is_done(const struct link_pending *pending UNUSED)
{
	return true;
}

int link_finish(struct link_pending *pending UNUSED, struct link_sent *ret UNUSED, struct err *err)
{
	return err_set(err, ENOTSUP, "there is no link");
}

void link_pending_free(struct link_pending *pending UNUSED)
{
}

int link_turn(struct link *link UNUSED, uint64_t until_us UNUSED, struct err *err)
{
	return err_set(err, ENOTSUP, "there is no link");
}

int link_catch_ends(struct link *link UNUSED, const struct link_pause *pause UNUSED, struct err *err)
{
	return err_set(err, ENOTSUP, "there is no link");
}

bool link_stopped(const struct link *link UNUSED)
{
	return true;
}

bool link_wait(struct link *link UNUSED, uint64_t deadline_us UNUSED)
{
	return false;
}

static void check_safe(const char *text)
{
	while (*text) {
		size_t length = utf8_length(text);

		FUZZ_CHECK(length > 0);
		FUZZ_CHECK(*text == '\n' || !utf8_is_unsafe(utf8_point(text, length)));
		text += length;
	}
}

/* Numbers are printed with 15 digits, so only those must match. */
static void check_document(const char *text, const json_t *document)
{
	CLEANUP(json_freep) json_t *again = NULL;
	CLEANUP(freep) char *wanted = json_line(document);
	CLEANUP(freep) char *told = NULL;

	FUZZ_CHECK(json_parse(text, strlen(text), "out", &again, NULL) == 0);
	told = json_line(again);
	FUZZ_CHECK(streq(told, wanted));
}

static void show(const struct request *request, const struct picture *picture, unsigned width)
{
	CLEANUP(freep) char *text = NULL;
	CLEANUP(freep) char *key = NULL;
	size_t size = 0;
	struct page page = { .out = open_memstream(&text, &size), .width = width, .now_us = NOW_US };
	const json_t *items = json_object_get(picture->document, "items");

	FUZZ_CHECK(page.out != NULL);
	view_print(request, picture, &page, width % 2);
	FUZZ_CHECK(fclose(page.out) == 0 && size == strlen(text));
	check_safe(text);
	if (request->settings.output == OUTPUT_JSON)
		check_document(text, picture->document);
	if (request->command->view->key && json_array_size(items) > 0)
		key = request->command->view->key(json_array_get(items, 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "nodes",	  "node",      "why",
					     "incidents", "baselines", "drift" };
	static const unsigned widths[] = { UINT_MAX, 40, 81, 1 };
	CLEANUP(freep) char *text = size > 0 ? fuzz_text(data + 1, size - 1) : xstrdup("");
	CLEANUP(picture_release) struct picture picture = { 0 };
	const unsigned choice = size > 0 ? data[0] : 0;
	struct link link = { .at = text };
	struct request request = { .argument = "gpu-1" };
	struct err err = ERR_INIT;
	size_t i = 0;
	int r;

	while (!streq(commands[i].words[0], names[choice % ARRAY_SIZE(names)]))
		i++;
	request.command = &commands[i];
	request.settings.output = (enum output)(choice / ARRAY_SIZE(names) % 3);
	request.settings.all = choice % 2;
	r = request.command->view->fetch(&link, &request, &picture, &err);
	if (r < 0)
		fuzz_refused(r, &err);
	else
		show(&request, &picture, widths[choice / 18 % ARRAY_SIZE(widths)]);
	return 0;
}
