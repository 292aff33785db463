/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP for handlers that know no HTTP library. Routes are a const table; a handler answers its
 * call, or holds it and answers later:
 *
 *         static void get_node(void *context, struct call *call)
 *         {
 *                 call_reply(call, 200, node_json(call_segment(call)));
 *         }
 *
 * Only api*.c include microhttpd.h. Its epoll descriptor is part of the daemon's sd-event loop;
 * there are no threads.
 *
 * A connection costs a descriptor and 8 KiB, and is closed if it takes longer than the limits below
 * to send its request or to take the answer.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/base/sha256.h"

struct api;
struct call;
struct err;

enum {
	API_CONNECTION_MEMORY = 8192,	   /* bytes per connection in the HTTP library */
	API_BODIES_MAX = 64 * 1024 * 1024, /* bytes of unfinished requests in total */
	API_SWALLOW_MAX = 8 * 1024 * 1024, /* bytes of a refused body read before the refusal */
	API_BODIES_PEER_MAX = API_BODIES_MAX / 2, /* per address */
	API_CONNECTIONS_DEFAULT = 12000,
	API_CONNECTIONS_PEER_DEFAULT = API_CONNECTIONS_DEFAULT / 2, /* per address */
	CALL_ORIGIN_SIZE = 2 * 16 + 1,
	CALL_SEGMENTS_MAX = 2,
	CALL_HEADERS_MAX = 16, /* see api_add_header() */
};

/* Time for a new connection to send a request header, and for an old one to be idle. */
#define API_FIRST_US (10 * USEC_PER_SEC)
#define API_IDLE_US (90 * USEC_PER_SEC)
/* From the end of a request's header to the end of its answer, unless held. */
#define API_REQUEST_US (30 * USEC_PER_SEC)

/*
 * Roles: each includes those before it. But a node may only access its own data, and what is for
 * nodes is otherwise only for ROLE_ADMIN; ROLE_SUBMIT may send traces of jobs but not read, and
 * ROLE_READ the opposite.
 */
enum role { ROLE_ANYBODY, ROLE_NODE, ROLE_SUBMIT, ROLE_READ, ROLE_OPERATE, ROLE_ADMIN };

/* Identity of a caller. */
struct identity {
	int role;	  /* enum role */
	const char *node; /* ROLE_NODE: the only host it may act for; borrowed */
	const char *name; /* person or program, for the records; NULL: unknown; borrowed */
	const char *jobs; /* ROLE_SUBMIT: pattern of the jobs it may act for; borrowed */
	bool session;	  /* a browser with a cookie instead of a token */
};

/* Is the sender of a request known? */
enum api_known {
	API_KNOWN_NOT,
	API_KNOWN_YES,
	API_KNOWN_LATER, /* an external service has to be asked */
};

struct route {
	const char *method;
	const char *path; /* "{}" matches one segment; at most CALL_SEGMENTS_MAX of them */
	int role;	  /* minimum enum role */
	size_t body_max;  /* maximum bytes of the body; 0: none */
	void (*handle)(void *context, struct call *call);
	bool (*is_there)(const void *context); /* NULL: always; if false the route does not exist */
	bool rest;			       /* the last "{}" matches the rest of the path */
};

struct api_options {
	const char *address; /* "127.0.0.1:9470", "[::]:0" */
	const struct route *routes;
	size_t n_routes;
	void *context; /* for the handlers */
	/*
	 * Identify the bearer of `token` (NULL: none was sent), or `peer`, the name in its client
	 * certificate (NULL: none).
	 */
	enum api_known (*identify)(void *context, const char *token, const char *peer,
				   struct identity *ret);
	/*
	 * Called after API_KNOWN_LATER, before the body is read: find out who bears `token`, and
	 * answer with call_identified() or a refusal, at once or within a deadline of its own.
	 * Pending calls must be answered before the API is closed.
	 */
	void (*ask)(void *context, struct call *call, const char *token);
	/*
	 * Identify the sender by other headers; or NULL. API_KNOWN_NOT: left to identify(), unless
	 * the call was refused.
	 */
	enum api_known (*session)(void *context, struct call *call, struct identity *ret);
	unsigned connections_max;
	unsigned connections_per_peer; /* per address, so that nobody takes them all */
	bool open_to_host;	       /* no tokens on this host: refuse pages of other sites */
	const char *tls_cert, *tls_key, *client_ca; /* PEM; NULL: no TLS, no client certificates */
};

/* Listen, in `loop`. `ret_address` is "ADDR:PORT", new memory. */
int api_open(const struct api_options *options, sd_event *loop, struct api **ret_api,
	     char **ret_address, struct err *err);

/*
 * Use other PEM texts for new connections; open ones are unaffected. Only if the API has TLS, and
 * client certificates if it had them. -EINVAL with a sentence: the old ones stay.
 */
int api_renew_tls(struct api *api, const char *cert, const char *key, const char *client_ca,
		  struct err *err);

/* Warn about certificates that expire within this time, so that one can find out why they were not
 * renewed. */
#define API_TLS_SOON_US (14 * USEC_PER_DAY)

/*
 * Check that these PEM texts (`client_ca` may be NULL) are certificates valid now, the first with
 * its key. Returns -EINVAL with the option at fault; -ETIME if one has expired or is not valid yet;
 * -ENOTSUP without TLS in the build. `ret_soon` gets a sentence about the first that expires within
 * API_TLS_SOON_US.
 */
int api_check_tls(const char *cert, const char *key, const char *client_ca, struct err *ret_soon,
		  struct err *err);

/* Answer held calls with 503, and close all connections. */
void api_close(struct api *api);
DEFINE_CLEANUP(struct api *, api_close, api_closep);

/* --- the request --- */

/* The segment matching the first "{}", decoded; "" if the path has none. */
const char *call_segment(const struct call *call);

/* The segment matching the second "{}". */
const char *api_second_segment(const struct call *call);

/* Query argument, or NULL. */
const char *call_argument(const struct call *call, const char *name);

/* Header field, or NULL. Names ignore case. */
const char *call_header(const struct call *call, const char *name);

/* The first cookie of that name, or NULL. */
const char *api_cookie(const struct call *call, const char *name);

/* "GET", "POST", ... */
const char *api_method(const struct call *call);

/* Is the connection TLS? */
bool api_is_tls(const struct call *call);

/* Number of header fields of that name. Names ignore case. */
unsigned api_header_count(const struct call *call, const char *name);

/* The name in the verified client certificate, or NULL. */
const char *api_peer_name(const struct call *call);

/* Was a bearer token sent? */
bool api_has_token(struct call *call);

/* SHA-256 of the bearer token; false: none was sent. */
bool api_token_sum(struct call *call, char ret_hex[static SHA256_HEX_SIZE]);

/*
 * Which site's page sent the request? Browsers tell in Sec-Fetch-Site (W3C, Fetch Metadata Request
 * Headers), older ones in Origin (RFC 6454). API_PAGE_UNTOLD: typed by the user, or not a browser.
 * With TLS, pages loaded without it count as another site's.
 */
enum api_page { API_PAGE_OURS, API_PAGE_OTHER, API_PAGE_UNTOLD };
enum api_page api_page_of(const struct call *call);

/* The body; `ret_gzip`: declared as gzip. */
const void *call_body(const struct call *call, size_t *ret_length, bool *ret_gzip);

const struct identity *call_identity(const struct call *call);

/* The peer's address as text, equal for equal peers (controller/http/peer_quotas.h). */
void call_origin(const struct call *call, char ret[static CALL_ORIGIN_SIZE]);

/* The peer's address and port for people: "10.0.0.7:41234", "[fd00::7]:41234". New memory. */
char *api_peer_of(const struct call *call);

/* Answer of ask(): the sender. `who` is copied. The call is refused without the necessary role. */
void call_identified(struct call *call, const struct identity *who);

/* --- answers: exactly one per call --- */

/* Takes ownership of `value`. */
void call_reply(struct call *call, unsigned status, json_t *value);

/* Takes ownership of `text`. `type` is static. */
void call_reply_text(struct call *call, unsigned status, const char *type, char *text);

/* Copies the bytes. `type` is static; NULL: none. */
void api_reply_bytes(struct call *call, unsigned status, const char *type, const void *bytes,
		     size_t length);

/*
 * Add a header field to the answer, even a refusal; at most CALL_HEADERS_MAX. `name` is static,
 * `value` is copied.
 */
void api_add_header(struct call *call, const char *name, const char *value);

/* problem+json with a sentence. 429 and 503 carry Retry-After. */
void call_refuse(struct call *call, unsigned status, const char *fmt, ...) PRINTF(3, 4);

/* With `more` members (ownership is taken): what refused, what would allow it. */
void call_refuse_with(struct call *call, unsigned status, json_t *more, const char *detail);

/* Retry-After of the refusal: random, from 1 to this many seconds (default 8). */
void call_retry_within(struct call *call, unsigned seconds);

/* Close the connection after the answer, so that a repeated request takes a new one. */
void call_close(struct call *call);

/* Only a status. */
void call_reply_empty(struct call *call, unsigned status);

/*
 * Answer later, with one of the above. The call stays valid until then, but its body is freed.
 * `gone` (may be NULL) is called if the peer closes the connection meanwhile, or the API is closed;
 * the call still has to be answered.
 */
void call_hold(struct call *call, void (*gone)(void *context, struct call *call), void *data);

/* The `data` passed to call_hold(). */
void *call_data(const struct call *call);

/* --- log lines --- */

/* Kinds of events that may come in floods: each kind is limited to a few lines a minute. */
enum api_say {
	API_SAY_FULL,	   /* no room for a connection */
	API_SAY_CUT,	   /* too slow */
	API_SAY_UNREAD,	   /* ended without a readable request */
	API_SAY_MALFORMED, /* 400, 404 and 405 without route, 413, 415, 422 */
	API_SAY_STRANGER,  /* 401 */
	API_SAY_ROLE,	   /* 403 */
	API_SAY_OFTEN,	   /* 429 */
	API_SAY_BUSY,	   /* 503 before a handler ran */
	API_SAY_GONE,	   /* an agent dropped its call for orders */
	API_SAY_LAST_,	   /* number of kinds */
};

/* May another line of this kind be logged now? Suppressed lines are counted, and their number
 * logged. */
bool api_tells(struct api *api, enum api_say kind);

/* --- for /metrics --- */

/* Real time at which the first certificate of a setting expires; 0: none. */
struct tls_ends {
	uint64_t cert_us, client_ca_us;
};

struct api_counts {
	uint64_t answers[6]; /* by class of status */
	uint64_t cut;	     /* connections that took too long */
	uint64_t refused;    /* connections without room */
	unsigned connections, held;
	size_t body_bytes;
	struct tls_ends ends;
};
struct api_counts api_counts(const struct api *api);
