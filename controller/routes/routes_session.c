/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/routes/routes_session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/remediation.h"
#include "controller/auth/page_session.h"
#include "controller/auth/tokens.h"
#include "controller/controller.h"
#include "controller/routes/routes.h"
#include "controller/routes/routes_page.h"
#include "controller/store/store.h"
#include "controller/store/store_sessions.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* --- identification --- */

static bool changes_something(const struct call *call)
{
	return !streq(api_method(call), "GET") && !streq(api_method(call), "HEAD");
}

/* Could a page of another site have made the browser send this? Returns false after refusing it. */
static bool comes_from_us(struct call *call)
{
	const char *asked = call_header(call, "Assay-Request");
	const enum api_page page = api_page_of(call);
	const bool changes = changes_something(call);

	if (page == API_PAGE_OTHER || (changes && page != API_PAGE_OURS))
		call_refuse(call, 403,
			    "with a cookie, only the page of this controller may send requests: "
			    "Sec-Fetch-Site: "
			    "same-origin, or an equal Origin");
	else if (changes && (!asked || !streq(asked, "1")))
		call_refuse(call, 403, "changes with a cookie require the header Assay-Request: 1");
	else
		return true;
	return false;
}

/* Answers to a cookie are for one browser only, and only data. */
static void add_guards(struct call *call)
{
	api_add_header(call, "Cache-Control", "no-store");
	api_add_header(call, "X-Content-Type-Options", "nosniff");
}

static void forget_cookie(struct call *call)
{
	CLEANUP(freep) char *line = page_session_cookie_line(api_is_tls(call), NULL);

	api_add_header(call, "Set-Cookie", line);
}

/* Current role of its token; ROLE_ANYBODY: no longer valid. */
static int role_of_token(const struct service *s, const char *sum, const char **ret_name)
{
	const struct tokens_one *token = tokens_find(&s->tokens, sum);

	*ret_name = token ? token->name : NULL;
	return token ? token->role : ROLE_ANYBODY;
}

static struct page_session session_of(const struct store_session_found *found)
{
	return (struct page_session){ .known = found->id > 0,
				      .role = tokens_role_of(found->role),
				      .used_us = found->used_us,
				      .until_us = found->until_us };
}

/* The row of the session with the cookie. -ENOENT: no cookie; or other errors. */
static int find_session(struct service *s, const struct call *call, struct store_session_found *ret,
			struct err *err)
{
	const char *cookie =
		api_cookie(call, api_is_tls(call) ? SESSION_COOKIE : SESSION_COOKIE_PLAIN);
	char hex[SHA256_HEX_SIZE];

	if (!cookie)
		return -ENOENT;
	sha256_of_text(cookie, hex);
	return store_find_session(s->store, hex, ret, err);
}

/* Updated once a minute, so that an open page does not cause constant writes. */
static void note_use(struct service *s, const struct store_session_found *found, uint64_t now_us)
{
	struct err err = ERR_INIT;

	if (now_us < found->used_us + SESSION_NOTE_US || remediation_other(s))
		return;
	if (store_use_session(s->store, found->id, now_us, &err) < 0)
		service_failed(s, &err);
	else
		service_touch(s);
}

/* If no tokens are required the page is still limited by `page: {role: ...}`. */
static enum api_known identify_open(const struct service *s, struct call *call, struct identity *ret)
{
	if (!call_header(call, "Sec-Fetch-Site") && !call_header(call, "Origin"))
		return API_KNOWN_NOT;
	add_guards(call);
	if (!comes_from_us(call))
		return API_KNOWN_NOT;
	*ret = (struct identity){ .role = s->settings->page.role, .session = true };
	return API_KNOWN_YES;
}

static enum api_known identify_cookie(struct service *s, struct call *call, struct identity *ret)
{
	struct store_session_found found = { 0 };
	struct page_session session;
	struct err err = ERR_INIT;
	const uint64_t now_us = clock_real_us();
	enum page_session_state state;
	const char *name = NULL;
	int r, role;

	r = find_session(s, call, &found, &err);
	if (r == -ENOENT)
		return API_KNOWN_NOT;
	add_guards(call);
	if (r < 0) {
		service_failed(s, &err);
		call_refuse(call, 503, "the store cannot be read");
		return API_KNOWN_NOT;
	}
	if (!comes_from_us(call))
		return API_KNOWN_NOT;
	session = session_of(&found);
	role = role_of_token(s, found.token, &name);
	state = page_session_state(&session, role, now_us);
	if (state != SESSION_OPEN) {
		forget_cookie(call);
		call_refuse(call, 401, "%s", page_session_words(state));
		return API_KNOWN_NOT;
	}
	note_use(s, &found, now_us);
	*ret = (struct identity){ .role = page_session_role(&session, role, s->settings->page.role),
				  .name = name,
				  .session = true };
	return API_KNOWN_YES;
}

/* Check the proxy's headers. Returns false after refusing the call: from somebody else, or
 * malformed. */
static bool proxy_ok(const struct page_proxy *proxy, struct call *call)
{
	const unsigned users = api_header_count(call, proxy->user);
	const unsigned groups = api_header_count(call, proxy->groups);
	const char *name = call_header(call, proxy->user);

	if (users + groups > 0 && !streq(api_peer_name(call), proxy->certificate))
		call_refuse(call, 400, "%s and %s are accepted only from the page's proxy",
			    proxy->user, proxy->groups);
	else if (users > 1 || groups > 1 || groups > users)
		call_refuse(call, 400, "%s and %s: expected exactly once each", proxy->user,
			    proxy->groups);
	else if (users == 1 && !tokens_name_ok(name))
		call_refuse(call, 400, "%s: expected 1 to %d letters, digits, '.', '-', '_', '@'",
			    proxy->user, ACCESS_NAME_MAX);
	else
		return true;
	return false;
}

/* Is the identity given by the proxy? */
static bool is_proxied(const struct service *s, const struct call *call)
{
	const struct page_proxy *proxy = &s->settings->page.proxy;

	return proxy->certificate && call_header(call, proxy->user);
}

static enum api_known identify_proxied(const struct service *s, struct call *call,
				       struct identity *ret)
{
	const struct page_proxy *proxy = &s->settings->page.proxy;
	const int role = page_proxy_role(proxy, call_header(call, proxy->groups));

	add_guards(call);
	if (!comes_from_us(call))
		return API_KNOWN_NOT;
	if (role == ROLE_ANYBODY) {
		call_refuse(call, 403, "no group of %s has a role (page.proxy.roles)",
			    call_header(call, proxy->user));
		return API_KNOWN_NOT;
	}
	*ret = (struct identity){ .role = MIN(role, s->settings->page.role),
				  .name = call_header(call, proxy->user),
				  .session = true };
	return API_KNOWN_YES;
}

enum api_known routes_session_identify(void *context, struct call *call, struct identity *ret)
{
	struct service *s = context;
	const struct page_proxy *proxy = &s->settings->page.proxy;

	if (!routes_page_is_on(s) || (proxy->certificate && !proxy_ok(proxy, call)) ||
	    api_has_token(call))
		return API_KNOWN_NOT;
	if (s->tokens.open)
		return identify_open(s, call, ret);
	return is_proxied(s, call) ? identify_proxied(s, call, ret) : identify_cookie(s, call, ret);
}

/* --- opening and closing one's own --- */

static json_t *told(const struct service *s, int role, const char *name, uint64_t until_us)
{
	return json_pack("{s:s, s:s?, s:o, s:b, s:s, s:s}", "role", tokens_role_name(role), "name",
			 name, "until", until_us ? json_stamp(until_us) : json_null(), "open",
			 s->tokens.open, "version", PACKAGE_VERSION, "page", s->page.version);
}

static void answer(struct service *s, struct call *call, json_t *said)
{
	service_wait(s, &(struct waiting){ .call = call, .status = 200, .answer = said });
}

/* The token in tokens.yaml that opens it; NULL after refusing the call. */
static const struct tokens_one *opener(const struct service *s, struct call *call)
{
	const struct tokens_one *token = NULL;
	char hex[SHA256_HEX_SIZE];

	if (s->tokens.open)
		call_refuse(call, 409, "this controller requires no token: no session is needed");
	else if (!api_token_sum(call, hex))
		call_refuse(call, 403, "a session is opened with a token, not with another session");
	else if (!(token = tokens_find(&s->tokens, hex)))
		call_refuse(call, 403, "a session is opened with a token of tokens.yaml");
	return token;
}

static int keep(struct service *s, struct call *call, const struct tokens_one *token,
		struct store_session *row, struct err *err)
{
	CLEANUP(freep) char *peer = api_peer_of(call);
	CLEANUP(freep) char *line = NULL;
	char value[RANDOM_TOKEN_LETTERS + 1], hex[SHA256_HEX_SIZE];
	int64_t id = 0;
	int r = random_token(value, RANDOM_TOKEN_LETTERS, clock_mono_us(), err);

	if (r < 0)
		return r;
	sha256_of_text(value, hex);
	row->sha256 = hex;
	row->origin = peer;
	r = store_add_session(s->store, row, &id, err);
	row->sha256 = row->origin = NULL;
	if (r < 0)
		return r;
	line = page_session_cookie_line(api_is_tls(call), value);
	api_add_header(call, "Set-Cookie", line);
	explicit_bzero(value, sizeof(value));
	explicit_bzero(line, strlen(line));
	log_info("session %" PRId64 " of %s opened from %s, role %s", id,
		 token->name ? token->name : "a token without a name", peer, row->role);
	return 0;
}

void routes_session_post(void *context, struct call *call)
{
	struct service *s = context;
	const struct tokens_one *token;
	struct store_session row = { .idle_us = SESSION_IDLE_US };
	struct err err = ERR_INIT;
	int r, role;

	add_guards(call);
	if (routes_take_no_order(s, call))
		return;
	token = opener(s, call);
	if (!token)
		return;
	role = MIN(token->role, s->settings->page.role);
	row.token = token->hex;
	row.name = token->name;
	row.role = tokens_role_name(role);
	row.made_us = clock_real_us();
	row.until_us = row.made_us + SESSION_FOR_US;
	r = keep(s, call, token, &row, &err);
	if (r == -EAGAIN)
		call_refuse(call, 503, "%s", err.msg);
	else if (r < 0)
		routes_refuse_change(s, call, r, &err);
	else
		answer(s, call, told(s, role, token->name, row.until_us));
}

void routes_session_delete(void *context, struct call *call)
{
	struct service *s = context;
	struct store_session_found found = { 0 };
	struct err err = ERR_INIT;
	int r;

	if (routes_take_no_order(s, call))
		return;
	if (api_has_token(call) || s->tokens.open || is_proxied(s, call)) {
		call_refuse(call, 409, "the request belongs to no session: there is none to end");
		return;
	}
	r = find_session(s, call, &found, &err);
	if (r == 0)
		r = store_end_session(s->store, found.id, &err);
	if (r < 0) {
		routes_refuse_change(s, call, r, &err);
		return;
	}
	forget_cookie(call);
	log_info("session %" PRId64 " ended by its user", found.id);
	answer(s, call, json_pack("{s:I}", "id", (json_int_t)found.id));
}

void routes_session_self(void *context, struct call *call)
{
	struct service *s = context;
	const struct identity *who = call_identity(call);
	struct store_session_found found = { 0 };
	struct err err = ERR_INIT;
	const bool by_cookie = who->session && !s->tokens.open && !is_proxied(s, call);
	int r = by_cookie ? find_session(s, call, &found, &err) : 0;

	if (r < 0)
		routes_refuse_change(s, call, r, &err);
	else
		call_reply(call, 200, told(s, who->role, who->name, found.until_us));
}

/* --- listing and ending others --- */

/* Reduce it to what may be shown: its state, but no secrets. */
static void judge(const struct service *s, json_t *item, uint64_t now_us)
{
	const char *name = NULL;
	const struct page_session session = {
		.known = true,
		.role = tokens_role_of(json_string_value(json_object_get(item, "role"))),
		.used_us = (uint64_t)json_integer_value(json_object_get(item, "used_us")),
		.until_us = (uint64_t)json_integer_value(json_object_get(item, "until_us")),
	};
	const int role = role_of_token(s, json_string_value(json_object_get(item, "sum")), &name);
	const enum page_session_state state = page_session_state(&session, role, now_us);

	(void)json_object_set_new(item, "state", json_string(page_session_state_names[state]));
	(void)json_object_del(item, "sum");
	(void)json_object_del(item, "used_us");
	(void)json_object_del(item, "until_us");
}

void routes_session_list(void *context, struct call *call)
{
	struct service *s = context;
	struct store_page page = { 0 };
	struct store_range range;
	struct err err = ERR_INIT;
	const uint64_t now_us = clock_real_us();
	size_t i;
	int r;

	if (!routes_range_of(call, CURSOR_NUMBER, &range))
		return;
	r = store_sessions(s->store, &range, &page, &err);
	for (i = 0; r == 0 && i < json_array_size(page.items); i++)
		judge(s, json_array_get(page.items, i), now_us);
	if (r < 0)
		refuse_store(call, r, &err);
	else
		reply_page(call, &page);
}

void routes_session_end(void *context, struct call *call)
{
	CLEANUP(routes_asker_release) struct routes_asker body = { 0 };
	CLEANUP(freep) char *who = NULL;
	struct service *s = context;
	struct err err = ERR_INIT;
	int64_t id = 0;
	int r;

	if (routes_take_no_order(s, call))
		return;
	r = routes_asker_read(call, false, &body, &err);
	if (r < 0) {
		call_refuse(call, status_of_content(r), "%s", err.msg);
		return;
	}
	who = operator_name(call_identity(call), body.by);
	r = routes_number(call, "session", &id, &err);
	if (r == 0)
		r = store_end_session(s->store, id, &err);
	if (r < 0) {
		routes_refuse_change(s, call, r, &err);
		return;
	}
	log_info("%s ended session %" PRId64, who, id);
	answer(s, call,
	       json_pack("{s:I, s:o}", "id", (json_int_t)id, "sentence",
			 json_sprintf("session %" PRId64 " is ended", id)));
}
