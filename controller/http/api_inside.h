/* SPDX-License-Identifier: Apache-2.0 */
/* What api*.c share. */
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
	int fd;		   /* the library's */
	uint64_t since_us; /* monotonic: when what it does now began */
	bool asked;	   /* there was a request that could be read */
	bool used;	   /* it has had an answer */
	bool cut;
	struct origin *from;
	bool peer_known;   /* `peer` was looked for */
	char *peer;	   /* verified name of its certificate, or NULL */
	struct call *call; /* or NULL between requests */
	LIST_ENTRY(link) links;
};

/* A line for the header of an answer. */
struct call_line {
	const char *name; /* static */
	char *value;
};

struct call {
	struct api *api;
	struct link *link;
	struct MHD_Connection *connection;
	const struct route *route;			     /* NULL: none fits */
	char method[CALL_METHOD_SIZE], path[CALL_PATH_SIZE]; /* for people, cut short */
	char *segments[CALL_SEGMENTS_MAX];
	struct identity identity;
	bool token_known;	  /* `token` was looked for */
	char *token;		  /* or NULL */
	char *node, *name, *jobs; /* those of `identity`: the tokens may be read anew meanwhile */
	struct strbuf body;
	size_t swallowed; /* of a refused body */
	bool gzip;
	bool unknown; /* who sent it has to be asked for */
	bool known;
	bool handled; /* the handler ran */
	bool held;
	bool suspended;		/* its handler held it once, or it waited for its turn */
	bool again;		/* it waited for who sent it: its header comes again */
	sd_event_source *watch; /* of a held one: its peer going away */
	void (*gone)(void *context, struct call *call);
	void *data;
	struct MHD_Response *answer; /* NULL: not answered yet */
	unsigned status;
	unsigned retry_within_s;    /* 0: as usual */
	char allow[API_ALLOW_SIZE]; /* with 405: the methods that the path takes */
	bool close;		    /* the connection ends with the answer */
	struct call_line *lines;    /* CALL_HEADERS_MAX; NULL: none */
	size_t n_lines;
	LIST_ENTRY(call) calls;	     /* while held */
	TAILQ_ENTRY(call) questions; /* while it waits for its turn */
};

LIST_HEAD(link_list, link);
LIST_HEAD(call_list, call);

struct api {
	struct MHD_Daemon *daemon;
	sd_event *loop;
	sd_event_source *io, *timeout, *sweep;
	sd_event_source *resume; /* once, after calls were resumed: the library tells nobody */
	uint64_t steps; /* that the library took in calls: whether it has something to do */
	struct api_options options;
	struct link_list links;
	struct call_list held;
	struct questions questions;
	struct api_counts counts;
	int listen_fd;
	sd_event_source *listen;
	struct peer_quotas peers;
	struct origin *arriving;   /* whose connection the library is about to begin */
	unsigned connections_max;  /* that descriptors allow */
	unsigned connections_most; /* since memory was given back */
	struct log_limit limits[API_SAY_LAST_];
	bool closing;
};

/* Of api_call.c: let go of its body. */
void call_drop_body(struct call *call);

/* Likewise: of what api_add_header() was given. */
void api_drop_lines(struct call *call);

/* Answer it; takes `response`. Only the first counts. */
void api_set_answer(struct call *call, unsigned status, struct MHD_Response *response);

/* It is known who sent it: if it waited for that, it goes on. */
void call_go_on(struct call *call);

/* Of api_route.c: who and what; a refusal is answered in the call. */
void call_find_route(struct call *call, const char *method, const char *url);
void call_identify(struct call *call);
void call_ask(struct call *call);

/* The bearer token it was sent with, or NULL. Borrowed. */
const char *call_token(struct call *call);
