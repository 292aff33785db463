/* SPDX-License-Identifier: Apache-2.0 */
/* What api*.c share. */
#pragma once

#include <sys/queue.h>

#include <microhttpd.h>

#include "controller/api.h"
#include "lib/strbuf.h"

/* One TCP connection. */
struct link {
	struct api *api;
	int fd;		   /* the library's */
	uint64_t since_us; /* monotonic: when what it does now began */
	bool used;	   /* it has had an answer */
	bool cut;
	bool peer_known;   /* `peer` was looked for */
	char *peer;	   /* verified name of its certificate, or NULL */
	struct call *call; /* or NULL between requests */
	LIST_ENTRY(link) links;
};

struct call {
	struct api *api;
	struct link *link;
	struct MHD_Connection *connection;
	const struct route *route; /* NULL: none fits */
	char *segment;
	struct identity identity;
	struct strbuf body;
	size_t swallowed; /* of a refused body */
	bool gzip;
	bool handled; /* the handler ran */
	bool held;
	bool suspended;		/* it was held once */
	sd_event_source *watch; /* of a held one: its peer going away */
	void (*gone)(void *context, struct call *call);
	void *data;
	struct MHD_Response *answer; /* NULL: not answered yet */
	unsigned status;
	LIST_ENTRY(call) calls; /* while held */
};

LIST_HEAD(link_list, link);
LIST_HEAD(call_list, call);

struct api {
	struct MHD_Daemon *daemon;
	sd_event *loop;
	sd_event_source *io, *timeout, *sweep;
	sd_event_source *resume; /* once, after calls were resumed: the library tells nobody */
	struct api_options options;
	struct link_list links;
	struct call_list held;
	struct api_counts counts;
	bool closing;
};

/* Of api_call.c: the callbacks of the library. */
enum MHD_Result call_step(void *context, struct MHD_Connection *connection, const char *url,
			  const char *method, const char *version, const char *data,
			  size_t *data_size, void **state);
void call_done(void *context, struct MHD_Connection *connection, void **state,
	       enum MHD_RequestTerminationCode code);

/* Of api.c: let the library go on, and be woken when it wants. */
void api_run(struct api *api);

/*
 * Of api_tls.c or api_tls_none.c: the common name of the peer's certificate in new
 * memory; NULL when it has none or nobody we trust has signed it.
 */
char *tls_peer(struct MHD_Connection *connection);
bool tls_built_in(void);

/* Of api_route.c: who and what; a refusal is answered in the call. */
void call_find_route(struct call *call, const char *method, const char *url);
void call_identify(struct call *call);
