/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/link.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "cli/link_words.h"
#include "cli/option.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/net/http.h"
#include "lib/net/url.h"
#include "lib/sys/file.h"

enum { PEM_MAX = 4 * 1024 * 1024 }; /* bytes: all CA certificates of a system have 250 KiB */

#define TICK_US (200 * USEC_PER_MSEC)

struct link {
	sd_event *event;
	struct http *http;
	char *base; /* the URL without a trailing slash */
	uint64_t timeout_us, deadline_us;
	const char *token_of_environment; /* token file named by ASSAY_TOKEN_FILE, or NULL */
	bool stopped, woken;
	const struct link_pause *pause;
};

/* A pending request. */
struct asking {
	struct link *link;
	bool done;
	int r;
	struct link_sent sent;
	struct err err;
};

/* --- single requests --- */

static void on_answer(void *context, const struct http_answer *answer)
{
	struct asking *a = context;

	a->done = true;
	a->r = link_words_answer(answer, &a->sent.value, &a->err);
	if (a->r == -EACCES && a->link->token_of_environment) {
		CLEANUP(freep) char *words = xstrdup(a->err.msg);

		(void)err_set(&a->err, EACCES,
			      "%s (the token sent is %s, from ASSAY_TOKEN_FILE in "
			      "the environment)",
			      words, a->link->token_of_environment);
	}
	a->sent.status = answer->status;
	a->sent.retry_after_us = answer->retry_after_us;
	if (a->r == -EPERM)
		link_words_rule(answer, a->sent.rule);
}

/* A GET request if there is no body. */
static int send_request(struct link *link, const struct link_sending *sending, const char *url,
			struct asking *a, struct http_request **ret_request, struct err *err)
{
	CLEANUP(freep) char *type = xasprintf("Content-Type: %s", sending->type);
	const char *headers[LINK_HEADERS_MAX + 3] = { "Accept: application/json",
						      sending->bytes ? type : NULL };
	const struct http_call what = {
		.method = sending->bytes ? "POST" : "GET",
		.url = url,
		.headers = headers,
		.body = sending->bytes,
		.body_len = sending->len,
		.timeout_us = MAX(clock_left_us(link->deadline_us), USEC_PER_MSEC),
		.answer_max = LINK_ANSWER_MAX,
		.done = on_answer,
		.context = a,
	};
	size_t i;
	int r;

	for (i = 0; sending->headers && sending->headers[i] && i < LINK_HEADERS_MAX; i++)
		headers[i + 2] = sending->headers[i];
	r = http_send(link->http, &what, ret_request, err);
	return r < 0 ? -EINVAL : 0; /* bad token file or URL, described in `err` */
}

int link_turn(struct link *link, uint64_t until_us, struct err *err)
{
	const uint64_t wait_us = until_us == UINT64_MAX ? UINT64_MAX : clock_left_us(until_us);
	int r = link->stopped ? 0 : sd_event_run(link->event, wait_us);

	if (r < 0)
		return err_errno(err, -r, "event loop");
	return link->stopped ? err_set(err, EINTR, "stopped") : 0;
}

int link_send(struct link *link, const struct link_sending *what, struct link_sent *ret,
	      struct err *err)
{
	CLEANUP(freep) char *url = xasprintf("%s%s", link->base, what->path);
	struct asking a = { .link = link };
	struct http_request *request = NULL;
	int r = send_request(link, what, url, &a, &request, err);

	if (r < 0)
		return r;
	while (!a.done && r == 0) {
		r = link_turn(link, what->tick ? clock_mono_us() + TICK_US : UINT64_MAX, err);
		if (what->tick)
			what->tick(what->context);
	}
	if (!a.done) {
		http_cancel(request);
		return r;
	}
	if (a.r < 0)
		*err = a.err;
	*ret = a.sent;
	return a.r;
}

int link_get(struct link *link, const char *path, json_t **ret, struct err *err)
{
	const struct link_sending what = { .path = path, .type = "" };
	struct link_sent sent = { 0 };
	int r = link_send(link, &what, &sent, err);

	if (r == 0)
		*ret = sent.value;
	return r;
}

int link_order(struct link *link, const char *path, const json_t *body, struct link_sent *ret,
	       struct err *err)
{
	CLEANUP(freep) char *text = json_line(body);
	const struct link_sending what = {
		.path = path, .type = "application/json", .bytes = text, .len = strlen(text)
	};

	return link_send(link, &what, ret, err);
}

int link_post(struct link *link, const char *path, const json_t *body, json_t **ret, struct err *err)
{
	struct link_sent sent = { 0 };
	int r = link_order(link, path, body, &sent, err);

	if (r == 0)
		*ret = sent.value;
	return r;
}

/* --- parallel requests --- */

struct link_pending {
	struct asking asking;
	struct http_request *request; /* NULL once it is done */
	char *text;		      /* the body */
};

void link_pending_free(struct link_pending *pending)
{
	if (!pending)
		return;
	if (!pending->asking.done)
		http_cancel(pending->request);
	json_decref(pending->asking.sent.value);
	free(pending->text);
	free(pending);
}
DEFINE_CLEANUP(struct link_pending *, link_pending_free, link_pending_freep);

int link_start(struct link *link, const char *path, const json_t *body, struct link_pending **ret,
	       struct err *err)
{
	CLEANUP(link_pending_freep) struct link_pending *pending = xcalloc(1, sizeof(*pending));
	CLEANUP(freep) char *url = xasprintf("%s%s", link->base, path);
	struct link_sending what = { .path = path, .type = "application/json" };
	int r;

	pending->asking.link = link;
	pending->text = json_line(body);
	what.bytes = pending->text;
	what.len = strlen(pending->text);
	r = send_request(link, &what, url, &pending->asking, &pending->request, err);
	if (r < 0)
		return r;
	*ret = TAKE(pending);
	return 0;
}

bool link_is_done(const struct link_pending *pending)
{
	return pending->asking.done;
}

int link_finish(struct link_pending *pending, struct link_sent *ret, struct err *err)
{
	const int r = pending->asking.r;

	if (r < 0)
		*err = pending->asking.err;
	*ret = pending->asking.sent;
	pending->asking.sent.value = NULL;
	link_pending_free(pending);
	return r;
}

/* --- lists --- */

/* Add the page's items to `items`; `cursor` becomes the next page's, or NULL. */
static int take_page(json_t *page, json_t *items, char **cursor, struct err *err)
{
	json_t *more = json_object_get(page, "items"), *item;
	const char *next = json_string_value(json_object_get(page, "next"));
	size_t i;

	if (!json_is_array(more))
		return err_set(err, EBADMSG, "the answer is not a list; is this a controller?");
	json_array_foreach(more, i, item)
	{
		if (!json_is_object(item))
			return err_set(err, EBADMSG, "item %zu of the list is not an object", i);
	}
	if (next && (streq(next, *cursor) || json_array_size(more) == 0))
		return err_set(err, EBADMSG, "the list has no last page");
	(void)json_array_extend(items, more);
	free(*cursor);
	*cursor = xstrdup(next);
	return 0;
}

static char *page_path(const char *path, unsigned limit, const char *cursor)
{
	CLEANUP(freep) char *encoded = link_segment(cursor ? cursor : "");

	return xasprintf("%s%climit=%u%s%s", path, strchr(path, '?') ? '&' : '?', limit,
			 cursor ? "&cursor=" : "", encoded);
}

/* If a page is too large, retry with a smaller limit. */
static int get_page(struct link *link, const char *path, unsigned *limit, const char *cursor,
		    json_t **ret, struct err *err)
{
	int r;

	do {
		CLEANUP(freep) char *at = page_path(path, *limit, cursor);

		r = link_get(link, at, ret, err);
	} while (r == -EFBIG && *limit > 1 && (*limit /= 10) > 0);
	return r;
}

int link_list(struct link *link, const char *path, json_t **ret_items, struct err *err)
{
	CLEANUP(json_freep) json_t *items = json_array();
	CLEANUP(freep) char *cursor = NULL;
	unsigned limit = LINK_PAGE, pages = 0;

	do {
		CLEANUP(json_freep) json_t *page = NULL;
		int r = get_page(link, path, &limit, cursor, &page, err);

		if (r == 0)
			r = take_page(page, items, &cursor, err);
		if (r < 0)
			return r;
		if (++pages > LINK_PAGES_MAX || json_array_size(items) > LINK_ITEMS_MAX)
			return err_set(err, E2BIG, "the list has more than %zu items",
				       json_array_size(items));
	} while (cursor);
	*ret_items = TAKE(items);
	return 0;
}

/* --- waiting --- */

static int on_stop(sd_event_source *source UNUSED, const struct signalfd_siginfo *info UNUSED,
		   void *context)
{
	struct link *link = context;

	link->stopped = true;
	return 0;
}

static int on_wake(sd_event_source *source UNUSED, const struct signalfd_siginfo *info UNUSED,
		   void *context)
{
	struct link *link = context;

	link->woken = true;
	return 0;
}

/* Ctrl-Z: restore the terminal, stop, and redraw when continued. */
static int on_pause(sd_event_source *source UNUSED, const struct signalfd_siginfo *info UNUSED,
		    void *context)
{
	struct link *link = context;
	sigset_t set;

	link->pause->leave(link->pause->context);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTSTP);
	(void)raise(SIGTSTP);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL); /* the process stops here */
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	link->pause->back(link->pause->context);
	link->woken = true;
	return 0;
}

static int on_unread(sd_event_source *source, int fd UNUSED, uint32_t events UNUSED, void *context)
{
	struct link *link = context;

	link->stopped = true;
	return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

int link_catch_ends(struct link *link, const struct link_pause *pause, struct err *err)
{
	static const struct {
		int number;
		sd_event_signal_handler_t handler;
	} signals[] = {
		{ SIGINT, on_stop },
		{ SIGTERM, on_stop },
		{ SIGWINCH, on_wake },
		{ SIGTSTP, on_pause },
	};
	sigset_t set;
	size_t i;
	int r = 0;

	(void)sigemptyset(&set);
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		(void)sigaddset(&set, signals[i].number);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	link->pause = pause;
	for (i = 0; r >= 0 && i < ARRAY_SIZE(signals); i++)
		r = sd_event_add_signal(link->event, NULL, signals[i].number, signals[i].handler,
					link);
	/* A regular file cannot be polled, and is always writable. */
	if (r >= 0)
		(void)sd_event_add_io(link->event, NULL, STDOUT_FILENO, 0, on_unread, link);
	return r < 0 ? err_errno(err, -r, "signals") : 0;
}

bool link_stopped(const struct link *link)
{
	return link->stopped;
}

bool link_wait(struct link *link, uint64_t deadline_us)
{
	uint64_t left_us;
	bool woken;

	while (!link->stopped && !link->woken && (left_us = clock_left_us(deadline_us)) > 0) {
		if (sd_event_run(link->event, left_us) < 0)
			break;
	}
	woken = link->woken && !link->stopped;
	link->woken = false;
	return woken;
}

/* --- life cycle --- */

void link_begin_until(struct link *link, uint64_t deadline_us)
{
	link->deadline_us = deadline_us;
}

void link_begin(struct link *link)
{
	link_begin_until(link, clock_mono_us() + link->timeout_us);
}

void link_free(struct link *link)
{
	if (!link)
		return;
	http_free(link->http);
	sd_event_unref(link->event);
	free(link->base);
	free(link);
}

/* Check before any request: with an unreachable controller mistakes would be hidden. */
static int check_files(const struct settings *settings, struct err *err)
{
	const char *const files[] = { settings->ca_file, settings->cert_file, settings->key_file };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		CLEANUP(freep) char *text = NULL;
		struct err why = ERR_INIT;
		int r = files[i] ? file_read(AT_FDCWD, files[i], PEM_MAX, &text, NULL, &why) : 0;

		if (r < 0)
			return err_set(err, EINVAL, "%s", why.msg);
	}
	return 0;
}

int link_new(const struct settings *settings, struct link **ret, struct err *err)
{
	const struct http_options options = {
		.ca_file = settings->ca_file,
		.cert_file = settings->cert_file,
		.key_file = settings->key_file,
		.token_file = settings->token_file,
		.user_agent = "assayctl/" PACKAGE_VERSION,
		.kept_connections = LINK_AT_ONCE,
	};
	CLEANUP(link_freep) struct link *link = xcalloc(1, sizeof(*link));
	int r = link_words_base(settings->controller, &link->base, err);

	if (r < 0)
		return r;
	if (settings->token_file && url_is_open(link->base))
		log_warning("the token is sent to %s unencrypted: use https", link->base);
	(void)signal(SIGPIPE, SIG_IGN);
	if (settings->token_file &&
	    settings->token_file == secure_getenv(option_rows[OPTION_TOKEN_FILE].environment))
		link->token_of_environment = settings->token_file;
	link->timeout_us = settings->timeout_us;
	link_begin(link);
	r = sd_event_new(&link->event);
	if (r < 0)
		return err_errno(err, -r, "event loop");
	r = http_new(link->event, &options, &link->http, err);
	if (r == 0)
		r = check_files(settings, err);
	if (r < 0)
		return r;
	*ret = TAKE(link);
	return 0;
}
