/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by api*.c. */
#pragma once

#include <sys/queue.h>

#include <microhttpd.h>
#include <sys/socket.h>

#include "controller/http/api.h"
#include "controller/http/api_questions.h"
#include "controller/http/peer_quotas.h"
#include "lib/base/log_limit.h"
#include "lib/base/strbuf.h"

#define RETRY_AFTER_S "5"

enum { CALL_PATH_SIZE = 80, CALL_METHOD_SIZE = 12, API_ALLOW_SIZE = 32 };

/* One TCP connection. */
struct link {
	struct api *api;
	struct MHD_Connection *connection;
	int fd;		   /* owned by the library */
	uint64_t since_us; /* monotonic: begin of the current phase */
	bool asked;	   /* it has sent a readable request */
	bool used;	   /* it has received an answer */
	bool cut;
	struct origin *from;
	bool peer_known;   /* `peer` was looked up */
	char *peer;	   /* verified name in its certificate, or NULL */
	struct call *call; /* NULL between requests */
	LIST_ENTRY(link) links;
};

/* A header field of an answer. */
struct call_line {
	const char *name; /* static */
	char *value;
};

struct call {
	struct api *api;
	struct link *link;
	struct MHD_Connection *connection;
	const struct route *route;			     /* NULL: none matches */
	char method[CALL_METHOD_SIZE], path[CALL_PATH_SIZE]; /* for people, truncated */
	char *segments[CALL_SEGMENTS_MAX];
	struct identity identity;
	bool token_known;	  /* `token` was looked up */
	char *token;		  /* or NULL */
	char *node, *name, *jobs; /* owned, as tokens may be reloaded */
	struct strbuf body;
	size_t swallowed; /* bytes of a refused body */
	bool gzip;
	bool unknown; /* the sender has to be asked for */
	bool known;
	bool handled; /* the handler has run */
	bool held;
	bool suspended;		/* held by its handler, or queued */
	bool again;		/* it waited to be identified: the header comes again */
	sd_event_source *watch; /* while held: for the peer closing */
	void (*gone)(void *context, struct call *call);
	void *data;
	struct MHD_Response *answer; /* NULL: not answered yet */
	unsigned status;
	unsigned retry_within_s;    /* 0: default */
	char allow[API_ALLOW_SIZE]; /* for 405: methods of the path */
	bool close;		    /* close the connection after the answer */
	struct call_line *lines;    /* CALL_HEADERS_MAX; NULL: none */
	size_t n_lines;
	LIST_ENTRY(call) calls;	     /* while held */
	TAILQ_ENTRY(call) questions; /* while queued */
};

LIST_HEAD(link_list, link);
LIST_HEAD(call_list, call);

struct api {
	struct MHD_Daemon *daemon;
	sd_event *loop;
	sd_event_source *io, *timeout, *sweep;
	sd_event_source *resume; /* one-shot after resuming calls: the library does not wake up */
	uint64_t steps;		 /* callbacks by the library: whether it has work */
	struct api_options options;
	struct link_list links;
	struct call_list held;
	struct questions questions;
	struct api_counts counts;
	int listen_fd;
	sd_event_source *listen;
	struct peer_quotas peers;
	struct origin *arriving;   /* of the connection being added to the library */
	unsigned connections_max;  /* limited by descriptors */
	unsigned connections_most; /* since memory was last given back */
	struct log_limit limits[API_SAY_LAST_];
	bool closing;
};

/* api_call.c: free its body. */
void call_drop_body(struct call *call);

/* Free the fields added by api_add_header(). */
void api_drop_lines(struct call *call);

/* Answer it; takes ownership of `response`. Only the first answer counts. */
void api_set_answer(struct call *call, unsigned status, struct MHD_Response *response);

/* The sender is known: resume the call if it waited for that. */
void call_go_on(struct call *call);

/* api_route.c: find route and sender; a refusal is answered in the call. */
void call_find_route(struct call *call, const char *method, const char *url);
void call_identify(struct call *call);
void call_ask(struct call *call);

/* The bearer token, or NULL. Borrowed. */
const char *call_token(struct call *call);
