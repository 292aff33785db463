/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/auth/page_session.h"

#include <inttypes.h>

#include "controller/http/api.h"
#include "lib/base/xalloc.h"

const char *const page_session_state_names[] = {
	[SESSION_OPEN] = "open", [SESSION_UNKNOWN] = "unknown",	      [SESSION_OVER] = "over",
	[SESSION_IDLE] = "idle", [SESSION_REVOKED] = "token revoked",
};

enum page_session_state page_session_state(const struct page_session *session, int token_role,
					   uint64_t now_us)
{
	if (!session->known)
		return SESSION_UNKNOWN;
	if (now_us >= session->until_us)
		return SESSION_OVER;
	if (now_us >= session->used_us && now_us - session->used_us >= SESSION_IDLE_US)
		return SESSION_IDLE;
	return token_role < ROLE_READ ? SESSION_REVOKED : SESSION_OPEN;
}

int page_session_role(const struct page_session *session, int token_role, int page_role)
{
	const int may = MIN(token_role, page_role);

	return MIN(session->role, may);
}

const char *page_session_words(enum page_session_state state)
{
	static const char *const words[] = {
		[SESSION_OPEN] = "",
		[SESSION_UNKNOWN] = "this session was ended: log in again",
		[SESSION_OVER] = "this session has lasted 12 hours: log in again",
		[SESSION_IDLE] = "this session was not used for an hour: log in again",
		[SESSION_REVOKED] = "the token of this session was revoked: log in with another",
	};

	return words[state];
}

char *page_session_cookie_line(bool tls, const char *value)
{
	const uint64_t seconds = value ? SESSION_FOR_US / USEC_PER_SEC : 0;

	return xasprintf("%s=%s; Path=/; Max-Age=%" PRIu64 "; HttpOnly; SameSite=Strict%s",
			 tls ? SESSION_COOKIE : SESSION_COOKIE_PLAIN, value ? value : "", seconds,
			 tls ? "; Secure" : "");
}
