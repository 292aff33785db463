/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May a browser ask? Who shows a token gets a cookie, which stands for that token until it is
 * ended, for SESSION_FOR_US at most, and no longer than SESSION_IDLE_US after its last use. The
 * token goes on deciding: when it is no token any more, or may less, so it is of the session.
 *
 *	POST /v1/session + token --> open --DELETE, assayctl session end--> gone
 *	                              |--12 h, 1 h unused--> gone
 *	                              `--token revoked--> gone
 *
 * A session may never more than its token may now, than it may have when it was opened, and than
 * `page: {role: ...}` says.
 *
 * Pure.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

#define SESSION_FOR_US (12 * USEC_PER_HOUR)
#define SESSION_IDLE_US USEC_PER_HOUR
/* How far behind the note of its last use may be: not every call is a write. */
#define SESSION_NOTE_US USEC_PER_MIN

/*
 * A browser keeps "__Host-" (RFC 6265bis 4.1.3.2) only of TLS, and gives it back to none but the
 * very host and port's name. Without TLS, on the loopback address, it is a plain one.
 */
#define SESSION_COOKIE "__Host-assay"
#define SESSION_COOKIE_PLAIN "assay"

struct page_session {
	bool known;
	int role; /* enum role: when it was opened */
	uint64_t used_us, until_us;
};

enum page_session_state {
	SESSION_OPEN,
	SESSION_UNKNOWN, /* forged, ended, or dropped */
	SESSION_OVER,	 /* its time is up */
	SESSION_IDLE,	 /* unused for too long */
	SESSION_REVOKED, /* its token is none any more */
};

/* `token_role`: what its token may now, ROLE_ANYBODY when it is none any more. */
enum page_session_state page_session_state(const struct page_session *session, int token_role,
					   uint64_t now_us);

/* enum role: the least of the three. */
int page_session_role(const struct page_session *session, int token_role, int page_role);

/* "open", ...; and why it is no more, for people. */
extern const char *const page_session_state_names[];
const char *page_session_words(enum page_session_state state);

/* The cookie's line for Set-Cookie; `value` NULL: the browser is to forget it. New memory. */
char *page_session_cookie_line(bool tls, const char *value);
