/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP for handlers that know no HTTP library. Routes are a const table; a
 * handler answers its call, or holds it and answers later:
 *
 *	static void get_node(void *context, struct call *call)
 *	{
 *		call_reply(call, 200, node_json(call_segment(call)));
 *	}
 *
 * Only api*.c include microhttpd.h. Its epoll descriptor hangs in the sd-event
 * loop of the daemon; there are no threads.
 *
 * A stranger's connection costs a descriptor and 8 KiB, and is cut when it
 * takes longer than the limits below to say what it wants, to send it or to
 * take the answer.
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
	API_CONNECTION_MEMORY = 8192,		  /* bytes per connection of the HTTP library */
	API_BODIES_MAX = 64 * 1024 * 1024,	  /* bytes of unfinished requests, all together */
	API_SWALLOW_MAX = 8 * 1024 * 1024,	  /* of a refused body read before the refusal */
	API_BODIES_PEER_MAX = API_BODIES_MAX / 2, /* of one address */
	API_CONNECTIONS_DEFAULT = 12000,
	API_CONNECTIONS_PEER_DEFAULT = API_CONNECTIONS_DEFAULT / 2, /* of one address */
	CALL_ORIGIN_SIZE = 2 * 16 + 1,
	CALL_SEGMENTS_MAX = 2,
	CALL_HEADERS_MAX = 16, /* of call_add_header() */
};

/* A new connection says what it wants within this, an old one may rest so long. */
#define API_FIRST_US (10 * USEC_PER_SEC)
#define API_IDLE_US (90 * USEC_PER_SEC)
/* From the end of a request's header to the end of its answer, unless held. */
#define API_REQUEST_US (30 * USEC_PER_SEC)

/*
 * Who may: each may all that those before it may. But a node may only what is
 * its own, and what is for nodes is for nobody else but ROLE_ADMIN; who submits
 * traces of jobs may not look, and who looks may not submit.
 */
enum role { ROLE_ANYBODY, ROLE_NODE, ROLE_SUBMIT, ROLE_READ, ROLE_OPERATE, ROLE_ADMIN };

/* Who somebody is. */
struct identity {
	int role;	  /* enum role */
	const char *node; /* ROLE_NODE: the only host it may speak for; borrowed */
	const char *name; /* of a person or program, for the records; NULL: not told; borrowed */
	const char *jobs; /* ROLE_SUBMIT: a pattern of the jobs it may speak for; borrowed */
	bool session;	  /* of a browser: it sent a cookie and no token */
};

/* Is it known who sent a request? */
enum api_known {
	API_KNOWN_NOT,
	API_KNOWN_YES,
	API_KNOWN_LATER, /* somebody else has to be asked */
};

struct route {
	const char *method;
	const char *path; /* "{}" stands for one segment, at most CALL_SEGMENTS_MAX of them */
	int role;	  /* enum role: at least */
	size_t body_max;  /* bytes of the body; 0: none */
	void (*handle)(void *context, struct call *call);
	bool (*is_there)(const void *context); /* NULL: always; else it is as if it had no row */
	bool rest; /* the last "{}" stands for all that is left of the path */
};

struct api_options {
	const char *address; /* "127.0.0.1:9470", "[::]:0" */
	const struct route *routes;
	size_t n_routes;
	void *context; /* of the handlers */
	/*
	 * Who the bearer of `token` (NULL: none was sent) is, by `peer`, the
	 * name in its client certificate (NULL: none).
	 */
	enum api_known (*identify)(void *context, const char *token, const char *peer,
				   struct identity *ret);
	/*
	 * After API_KNOWN_LATER, before anything of the body is read: ask who bears `token`, and
	 * tell with call_identified() or a refusal, at once or within a deadline of your own.
	 * Whoever asks ends that before the API is closed.
	 */
	void (*ask)(void *context, struct call *call, const char *token);
	/*
	 * Who sent a call, by the rest of its header; or NULL. API_KNOWN_NOT: that says nothing,
	 * and it is for identify() to say, unless the call was refused.
	 */
	enum api_known (*session)(void *context, struct call *call, struct identity *ret);
	unsigned connections_max;
	unsigned connections_per_peer; /* of one address: nobody takes them all */
	bool open_to_host; /* nobody here needs a token: pages of other sites are refused */
	const char *tls_cert, *tls_key,
		*client_ca; /* PEM texts; NULL: no TLS, no client certificates */
};

/* Listen, in `loop`. `ret_address` is "ADDR:PORT", new memory. */
int api_open(const struct api_options *options, sd_event *loop, struct api **ret_api,
	     char **ret_address, struct err *err);

/*
 * Other PEM texts for the connections to come; those that are open stay. Only
 * for an API that has TLS, and client certificates when it had them. -EINVAL
 * with a sentence: the old ones stay.
 */
int api_renew_tls(struct api *api, const char *cert, const char *key, const char *client_ca,
		  struct err *err);

/* A certificate that ends within so long is told: time to find out why nobody renewed it. */
#define API_TLS_SOON_US (14 * USEC_PER_DAY)

/*
 * Are these PEM texts (`client_ca` may be NULL) certificates, the first with its key, and is now
 * the time of each? -EINVAL with the option at fault; -ETIME for one that is expired or not valid
 * yet; -ENOTSUP without TLS in the build. `ret_soon` gets a sentence about the first that ends
 * within API_TLS_SOON_US.
 */
int api_check_tls(const char *cert, const char *key, const char *client_ca, struct err *ret_soon,
		  struct err *err);

/* Answer what is held with 503, close all connections. */
void api_close(struct api *api);
DEFINE_CLEANUP(struct api *, api_close, api_closep);

/* --- what was asked --- */

/* The segment at the first "{}", decoded; "" when the path has none. */
const char *call_segment(const struct call *call);

/* The same at the second. */
const char *api_second_segment(const struct call *call);

/* Argument of the query, or NULL. */
const char *call_argument(const struct call *call, const char *name);

/* A line of the header, or NULL. Names ignore case. */
const char *call_header(const struct call *call, const char *name);

/* The first cookie of that name, or NULL. */
const char *api_cookie(const struct call *call, const char *name);

/* "GET", "POST", ... */
const char *api_method(const struct call *call);

/* Is the connection TLS? */
bool api_is_tls(const struct call *call);

/* How often is a line in the header? Names ignore case. */
unsigned api_header_count(const struct call *call, const char *name);

/* The name in the verified client certificate, or NULL. */
const char *api_peer_name(const struct call *call);

/* Was a bearer token sent? */
bool api_has_token(struct call *call);

/* The SHA-256 of the bearer token that was sent; false: there is none. */
bool api_token_sum(struct call *call, char ret_hex[static SHA256_HEX_SIZE]);

/*
 * Whose page has sent this? A browser says it in Sec-Fetch-Site (W3C, Fetch Metadata Request
 * Headers), an older one in Origin (RFC 6454); what its user typed, and what is no browser, is
 * API_PAGE_UNTOLD. Over TLS a page that came without it is another one.
 */
enum api_page { API_PAGE_OURS, API_PAGE_OTHER, API_PAGE_UNTOLD };
enum api_page api_page_of(const struct call *call);

/* The body; `ret_gzip` when it is said to be gzip. */
const void *call_body(const struct call *call, size_t *ret_length, bool *ret_gzip);

const struct identity *call_identity(const struct call *call);

/* The address it came from, as text that is equal for equal peers (controller/http/peer_quotas.h). */
void call_origin(const struct call *call, char ret[static CALL_ORIGIN_SIZE]);

/* The address and port it came from, for people: "10.0.0.7:41234", "[fd00::7]:41234". New memory. */
char *api_peer_of(const struct call *call);

/* What was asked for: who sent it. `who` is copied. Without the role it is refused. */
void call_identified(struct call *call, const struct identity *who);

/* --- answers: exactly one for a call --- */

/* Takes the reference of `value`. */
void call_reply(struct call *call, unsigned status, json_t *value);

/* Takes `text`. `type` is static. */
void call_reply_text(struct call *call, unsigned status, const char *type, char *text);

/* Bytes, which are copied. `type` is static; NULL: none. */
void api_reply_bytes(struct call *call, unsigned status, const char *type, const void *bytes,
		     size_t length);

/*
 * A line for the header of the answer to come, a refusal too; of CALL_HEADERS_MAX. `name` is
 * static, `value` is copied.
 */
void api_add_header(struct call *call, const char *name, const char *value);

/* problem+json with a sentence. 429 and 503 carry Retry-After. */
void call_refuse(struct call *call, unsigned status, const char *fmt, ...) PRINTF(3, 4);

/* The same with `more` members, which it takes: what refused, what would allow it. */
void call_refuse_with(struct call *call, unsigned status, json_t *more, const char *detail);

/* Retry-After of a refusal to come: at random from 1 to so many seconds (8 unless told). */
void call_retry_within(struct call *call, unsigned seconds);

/* The connection ends with the answer to come: who asks again is to come another way. */
void call_close(struct call *call);

/* Nothing but a status. */
void call_reply_empty(struct call *call, unsigned status);

/*
 * Answer later, with one of the above. The call stays until then, but its body
 * goes now. `gone` (may be NULL) is called when the peer has closed the
 * connection meanwhile, or the API is closed; the call still has to be answered.
 */
void call_hold(struct call *call, void (*gone)(void *context, struct call *call), void *data);

/* What call_hold() was given. */
void *call_data(const struct call *call);

/* --- lines for the operator --- */

/* What may come in floods: each has its own few lines a minute. */
enum api_say {
	API_SAY_FULL,	   /* no room for a connection */
	API_SAY_CUT,	   /* too slow */
	API_SAY_UNREAD,	   /* ended without a request that could be read */
	API_SAY_MALFORMED, /* 400, 404 and 405 of no route, 413, 415, 422 */
	API_SAY_STRANGER,  /* 401 */
	API_SAY_ROLE,	   /* 403 */
	API_SAY_OFTEN,	   /* 429 */
	API_SAY_BUSY,	   /* 503 before there was a handler */
	API_SAY_GONE,	   /* an agent let go of its call for orders */
	API_SAY_LAST_,	   /* not a kind: how many there are */
};

/* May one more line of this kind be said now? What may not is counted, and the number said. */
bool api_tells(struct api *api, enum api_say kind);

/* --- for /metrics --- */

/* The real time at which the first of a setting's certificates ends; 0: there is none. */
struct tls_ends {
	uint64_t cert_us, client_ca_us;
};

struct api_counts {
	uint64_t answers[6]; /* by hundreds of their status */
	uint64_t cut;	     /* connections that took too long */
	uint64_t refused;    /* connections for which there was no room */
	unsigned connections, held;
	size_t body_bytes;
	struct tls_ends ends;
};
struct api_counts api_counts(const struct api *api);
