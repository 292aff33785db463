/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of browsers. Whoever shows a token gets a cookie that stands for that token until it is
 * ended, for at most SESSION_FOR_US, and SESSION_IDLE_US after its last use. The token remains
 * decisive: if it is revoked or loses rights, so does the session.
 *
 *   POST /v1/session + token --> open --DELETE, assayctl session end--> gone
 *                                 |--12 h, 1 h unused--> gone
 *                                 `--token revoked--> gone
 *
 * A session never has more rights than its token has now, than it had when it was opened, and than
 * `page: {role: ...}` allows.
 *
 * Pure.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

#define SESSION_FOR_US (12 * USEC_PER_HOUR)
#define SESSION_IDLE_US USEC_PER_HOUR
/* Precision of the stored last use, so that not every call is a write. */
#define SESSION_NOTE_US USEC_PER_MIN

/*
 * Browsers accept "__Host-" (RFC 6265bis 4.1.3.2) only over TLS, and return it only to that very
 * host. Without TLS, on the loopback address, the plain name is used.
 */
#define SESSION_COOKIE "__Host-assay"
#define SESSION_COOKIE_PLAIN "assay"

struct page_session {
	bool known;
	int role; /* enum role when it was opened */
	uint64_t used_us, until_us;
};

enum page_session_state {
	SESSION_OPEN,
	SESSION_UNKNOWN, /* forged, ended, or evicted */
	SESSION_OVER,	 /* its lifetime is over */
	SESSION_IDLE,	 /* unused for too long */
	SESSION_REVOKED, /* its token is no longer valid */
};

/* `token_role`: current role of its token, ROLE_ANYBODY if it is no longer valid. */
enum page_session_state page_session_state(const struct page_session *session, int token_role,
					   uint64_t now_us);

/* enum role: the lowest of the three. */
int page_session_role(const struct page_session *session, int token_role, int page_role);

/* "open", ...; and why it is not valid, for people. */
extern const char *const page_session_state_names[];
const char *page_session_words(enum page_session_state state);

/* The value for Set-Cookie; `value` NULL: delete the cookie. New memory. */
char *page_session_cookie_line(bool tls, const char *value);
