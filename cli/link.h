/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the controller. Each call blocks until its answer, at most until the deadline set
 * by link_begin(); signals handled by the loop may interrupt it.
 *
 * Only link.c uses the event loop; link_none.c replaces it in builds without one.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct link;
struct settings;

enum {
	LINK_ANSWER_MAX = 64 * 1024 * 1024, /* bytes per answer */
	LINK_PAGE = 1000,		    /* items per request */
	LINK_PAGES_MAX = 2000,		    /* pages per list */
	LINK_ITEMS_MAX = 1000000,	    /* items per list */
	LINK_HEADERS_MAX = 6,		    /* given by the caller */
	LINK_RULE_SIZE = 48,		    /* of a rule's name, including NUL */
	LINK_AT_ONCE = 16,		    /* parallel requests: connections that are kept */
};

/* Called before the program is suspended (Ctrl-Z), and when it resumes. */
struct link_pause {
	void (*leave)(void *context);
	void (*back)(void *context);
	void *context;
};

/* -EINVAL, with a message, for an unusable URL or files. */
int link_new(const struct settings *settings, struct link **ret, struct err *err);
void link_free(struct link *link);
DEFINE_CLEANUP(struct link *, link_free, link_freep);

/* Start the timeout of the settings for all following requests. */
void link_begin(struct link *link);

/* The same, with the monotonic deadline `deadline_us`. */
void link_begin_until(struct link *link, uint64_t deadline_us);

/*
 * GET the object at `path` ("/v1/..."). New reference. The error message is one line that says
 * what to do: -ENOENT (404), -EACCES (401, 403: the token), -EINVAL (our files, or the request),
 * -EKEYREJECTED (its certificate), -EBADMSG (not the answer of a controller), -EAGAIN (429, 503),
 * -EINTR (a signal), or an error of lib/net/http.h.
 */
int link_get(struct link *link, const char *path, json_t **ret, struct err *err);

/*
 * POST `body` to `path` and return the answer. Errors as link_get(); -EPERM if it is refused
 * (409), with a message that says by what, and what would allow it.
 */
int link_post(struct link *link, const char *path, const json_t *body, json_t **ret,
	      struct err *err);

/* Data to send. Everything is borrowed. */
struct link_sending {
	const char *path;
	const char *type;	    /* "application/octet-stream" */
	const char *const *headers; /* "Name: value", at most LINK_HEADERS_MAX, NULL-terminated */
	const char *bytes;
	size_t len;
	void (*tick)(void *context); /* called from time to time meanwhile; NULL: none */
	void *context;
};

struct link_sent {
	json_t *value;		   /* the answer; new reference */
	unsigned status;	   /* of HTTP, for a complete answer; else 0 */
	uint64_t retry_after_us;   /* with -EAGAIN: the delay that the controller asks for */
	char rule[LINK_RULE_SIZE]; /* with -EPERM: the rule, "budget.total", or "" */
};

/* Send data. Errors as link_post(), and then `ret` has no value; also -EINVAL for 413. */
int link_send(struct link *link, const struct link_sending *what, struct link_sent *ret,
	      struct err *err);

/* POST `body` as link_post() does; the answer is as in link_send(). */
int link_order(struct link *link, const char *path, const json_t *body, struct link_sent *ret,
	       struct err *err);

/*
 * An asynchronous request: link_start() sends it, link_turn() waits for events of any request,
 * and link_finish() takes the answer once link_is_done() is true.
 */
struct link_pending;

/* Send `body` as link_order() does, with the deadline set by link_begin*(). Errors: -EINVAL. */
int link_start(struct link *link, const char *path, const json_t *body, struct link_pending **ret,
	       struct err *err);

bool link_is_done(const struct link_pending *pending);

/* Returns what link_order() would have; frees `pending`. */
int link_finish(struct link_pending *pending, struct link_sent *ret, struct err *err);

/* Cancel it; the controller may have received it. NULL is allowed. */
void link_pending_free(struct link_pending *pending);

/* Wait for any event until the monotonic `until_us` (UINT64_MAX: forever). -EINTR for a signal. */
int link_turn(struct link *link, uint64_t until_us, struct err *err);

/*
 * GET the items of all pages of the list at `path`, which has no "limit" or "cursor" yet. New
 * reference. Errors as link_get(); -E2BIG beyond the limits.
 */
int link_list(struct link *link, const char *path, json_t **ret_items, struct err *err);

/*
 * Handle signals in the loop from now on: SIGINT, SIGTERM and a closed stdout end any wait,
 * SIGWINCH ends link_wait(), and SIGTSTP suspends the program between the calls of `pause`
 * (borrowed).
 */
int link_catch_ends(struct link *link, const struct link_pause *pause, struct err *err);

/* Has one of SIGINT, SIGTERM or a closed stdout occurred? */
bool link_stopped(const struct link *link);

/* Wait until the monotonic `deadline_us`. True if the window size changed before. */
bool link_wait(struct link *link, uint64_t deadline_us);

/* Percent-encode `text` as a path segment: all but unreserved characters. The caller frees it. */
char *link_segment(const char *text);
