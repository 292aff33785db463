/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking the controller. Each call waits for its answer, at most until the
 * deadline that link_begin() set; signals that the loop handles may end it.
 *
 * Only link.c knows the event loop; link_none.c stands in where there is none.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct link;
struct settings;

enum {
	LINK_ANSWER_MAX = 64 * 1024 * 1024, /* bytes of one answer */
	LINK_PAGE = 1000,		    /* items asked for at once */
	LINK_PAGES_MAX = 2000,		    /* pages of one list */
	LINK_ITEMS_MAX = 1000000,	    /* items of one list */
	LINK_HEADERS_MAX = 6,		    /* of a sender */
	LINK_RULE_SIZE = 48,		    /* of the name of a rule, and its NUL */
	LINK_AT_ONCE = 16, /* requests under way at once: connections that are kept */
};

/* Before the program stops (Ctrl-Z), and when it goes on. */
struct link_pause {
	void (*leave)(void *context);
	void (*back)(void *context);
	void *context;
};

/* -EINVAL for a URL or files that cannot be used, with a sentence. */
int link_new(const struct settings *settings, struct link **ret, struct err *err);
void link_free(struct link *link);
DEFINE_CLEANUP(struct link *, link_free, link_freep);

/* All that is asked from now on is to be answered within the timeout of the settings. */
void link_begin(struct link *link);

/* The same, by the monotonic `deadline_us`. */
void link_begin_until(struct link *link, uint64_t deadline_us);

/*
 * The object at `path` ("/v1/..."). New reference. One line says what to do:
 * -ENOENT (404), -EACCES (401, 403: the token), -EINVAL (our files, or what was sent),
 * -EKEYREJECTED (its certificate), -EBADMSG (no answer of a controller),
 * -EAGAIN (429, 503), -EINTR (a signal), else what lib/net/http.h says.
 */
int link_get(struct link *link, const char *path, json_t **ret, struct err *err);

/*
 * Send `body` to `path`, and what is answered. Errors as link_get(); -EPERM when it
 * is refused (409), with the sentence that says by what and what would allow it.
 */
int link_post(struct link *link, const char *path, const json_t *body, json_t **ret,
	      struct err *err);

/* Bytes to be sent. All is borrowed. */
struct link_sending {
	const char *path;
	const char *type;	    /* "application/octet-stream" */
	const char *const *headers; /* more of them, "Name: value", at most LINK_HEADERS_MAX;
				       NULL-terminated */
	const char *bytes;
	size_t len;
	void (*tick)(void *context); /* told now and then while it is under way; NULL: nobody */
	void *context;
};

struct link_sent {
	json_t *value;		   /* what was answered; new reference */
	unsigned status;	   /* of HTTP, of a whole answer; else 0 */
	uint64_t retry_after_us;   /* of -EAGAIN: how long the controller asks to be left alone */
	char rule[LINK_RULE_SIZE]; /* of -EPERM: what refused it, "budget.total"; "" not said */
};

/* Send them. Errors as link_post(); then `ret` has no value. -EINVAL for 413 too. */
int link_send(struct link *link, const struct link_sending *what, struct link_sent *ret,
	      struct err *err);

/* Send `body` as link_post() does, and what is answered, as link_send() says it. */
int link_order(struct link *link, const char *path, const json_t *body, struct link_sent *ret,
	       struct err *err);

/*
 * A request under way beside others: link_start() sends it, link_turn() waits until something
 * happens to any, and link_finish() takes the answer once link_is_done() is true.
 */
struct link_pending;

/* Send `body` as link_order() does, to be answered by the deadline that link_begin*() set. Errors:
 * -EINVAL. */
int link_start(struct link *link, const char *path, const json_t *body, struct link_pending **ret,
	       struct err *err);

bool link_is_done(const struct link_pending *pending);

/* What link_order() would have returned; `pending` is freed. */
int link_finish(struct link_pending *pending, struct link_sent *ret, struct err *err);

/* Forget it; the controller may have got it. NULL is fine. */
void link_pending_free(struct link_pending *pending);

/* Wait for anything, until the monotonic `until_us` (UINT64_MAX: no limit). -EINTR for a signal. */
int link_turn(struct link *link, uint64_t until_us, struct err *err);

/*
 * The items of all pages of the list at `path`, which has no "limit" or
 * "cursor" yet. New reference. Errors as link_get(); -E2BIG past the limits.
 */
int link_list(struct link *link, const char *path, json_t **ret_items, struct err *err);

/*
 * From now on handle in the loop: SIGINT, SIGTERM and a standard output that
 * nobody reads any more (they end any wait), SIGWINCH (it ends link_wait()), and
 * SIGTSTP, around whose stop `pause` (borrowed) is called.
 */
int link_catch_ends(struct link *link, const struct link_pause *pause, struct err *err);

/* True once one of them came. */
bool link_stopped(const struct link *link);

/* Wait until the monotonic `deadline_us`. True when the window changed before. */
bool link_wait(struct link *link, uint64_t deadline_us);

/* `text` for a segment of a path: all but unreserved characters as %XX. New memory. */
char *link_segment(const char *text);
