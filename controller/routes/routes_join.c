/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/routes/routes_join.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/actor_joins.h"
#include "controller/auth/join.h"
#include "controller/auth/tokens.h"
#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/routes/routes.h"
#include "controller/store/store.h"
#include "controller/store/store_joins.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/glob.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/node_name.h"

/* If no tokens are required, none can be issued. */
static bool asks_nobody(const struct service *s, struct call *call)
{
	if (s->tokens.open)
		call_refuse(call, 409,
			    "this controller accepts reports from anyone: set tokens in "
			    "controller.yaml first");
	return s->tokens.open;
}

/* Answer once everything is durable. */
static void answer(struct service *s, struct call *call, json_t *said)
{
	service_wait(s, &(struct waiting){ .call = call, .status = 200, .answer = said });
}

/* --- joining --- */

void routes_join_get_ca(void *context, struct call *call)
{
	const struct service *s = context;

	if (s->ca)
		call_reply_text(call, 200, "application/x-pem-file", xstrdup(s->ca));
	else
		call_refuse(call, 404,
			    "controller.yaml has no ca: copy the CA to the hosts by hand");
}

struct joining {
	char *node, *token, *sha256;
};

static void joining_release(struct joining *j)
{
	free(j->node);
	free(j->token);
	free(j->sha256);
}

static const struct jfield joining_fields[] = {
	{ "node", J_STRING, offsetof(struct joining, node), J_REQUIRED },
	{ "token", J_STRING, offsetof(struct joining, token), J_REQUIRED },
	{ "sha256", J_STRING, offsetof(struct joining, sha256), J_REQUIRED },
};

static int read_joining(struct call *call, struct joining *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root, node, sum;
	int r = parse_order_body(call, &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, "body");
	r = jval_decode(&root, joining_fields, ARRAY_SIZE(joining_fields), 0, ret, err);
	if (r < 0)
		return r;
	node = jval_get(&root, "node");
	if (!node_name_ok(ret->node))
		return jval_fail(&node, err,
				 "expected a host name of letters, digits, '.', '-', '_'");
	sum = jval_get(&root, "sha256");
	if (!join_sum_ok(ret->sha256))
		return jval_fail(
			&sum, err,
			"expected the SHA-256 of the host's own token, 64 hexadecimal digits");
	return 0;
}

/* Collect the facts from the store, and decide. */
static int decide(struct service *s, const struct joining *j, struct join_facts *f,
		  enum join_answer *ret, char **ret_by, struct err *ret_why, struct err *err)
{ /* lint: allow parameters: two messages, for the host and for the operator */
	struct store_join_found token = { .id = 0 };
	char hex[SHA256_HEX_SIZE], other[NODE_NAME_MAX + 1] = "";
	struct store_joined joined;
	bool reported = false;
	int r;

	sha256_of_text(j->token, hex);
	r = store_find_join_token(s->store, hex, &token, err);
	if (r == 0)
		r = store_joined(s->store, j->node, &joined, err);
	if (r == 0)
		r = store_joined_by(s->store, j->sha256, other, err);
	if (r == 0)
		r = store_has_node(s->store, j->node, &reported, err);
	if (r == 0) {
		*f = (struct join_facts){
			.node = j->node,
			.sha256 = j->sha256,
			.now_us = clock_real_us(),
			.token_known = token.id > 0,
			.token = token.id,
			.names = token.names,
			.hosts = token.hosts,
			.used = token.used,
			.expires_us = token.expires_us,
			.revoked = token.revoked_us > 0,
			.listed = tokens_lists(&s->tokens, j->node),
			.has_joined = joined.known && joined.sha256[0],
			.was_reset = joined.known && !joined.sha256[0],
			.joined_sha256 = joined.sha256,
			.joined_token = joined.token,
			.sum_taken = other[0] && !streq(other, j->node),
			.reported = reported,
		};
		*ret = join_decide(f, ret_why);
		f->names = f->joined_sha256 = NULL; /* borrowed */
	}
	free(token.names);
	*ret_by = token.made_by;
	return r;
}

static json_t *joined_answer(const char *node, bool again)
{
	return json_pack(
		"{s:s, s:o}", "node", node, "sentence",
		json_sprintf("%s %s", node,
			     again ? "had already joined"
				   : "has joined; it is unverified until it passes a quick or "
				     "full run"));
}

static void let_in(struct service *s, struct call *call, const struct join_facts *f, const char *by)
{
	CLEANUP(freep) char *peer = api_peer_of(call);
	CLEANUP(freep) char *who = xasprintf("join token %" PRId64 " of %s", f->token, by);
	CLEANUP(freep) char *reason = xasprintf("joined from %s", peer);
	struct err err = ERR_INIT;
	int r;

	r = store_join(s->store,
		       &(struct store_joining){ .node = f->node,
						.sha256 = f->sha256,
						.origin = peer,
						.token = f->token,
						.at_us = f->now_us },
		       &err);
	if (r < 0) {
		routes_refuse_change(s, call, r, &err);
		return;
	}
	hosts_need(&s->hosts, f->node)->verified = false;
	if (f->was_reset)
		baselines_forget(&s->baselines, f->node); /* measurements of the previous host */
	actor_joined(s->act, &(struct actor_joined){ f->node, who, reason });
	log_info("%s has joined from %s, with join token %" PRId64, f->node, peer, f->token);
	answer(s, call, joined_answer(f->node, false));
}

static void refuse_join(struct call *call, enum join_answer why, const struct err *words)
{
	static const unsigned statuses[] = {
		[JOIN_UNKNOWN] = 401, [JOIN_OVER] = 403, [JOIN_NAME] = 403, [JOIN_TAKEN] = 409
	};
	CLEANUP(freep) char *peer = api_peer_of(call);

	log_warning("join refused from %s: %s", peer, words->msg);
	call_refuse(call, statuses[why], "%s", words->msg);
}

void routes_join_post(void *context, struct call *call)
{
	CLEANUP(joining_release) struct joining joining = { 0 };
	struct service *s = context;
	struct err err = ERR_INIT, why = ERR_INIT;
	char origin[CALL_ORIGIN_SIZE];
	struct join_facts facts;
	CLEANUP(freep) char *by = NULL;
	enum join_answer said = JOIN_UNKNOWN;
	int r;

	if (routes_take_no_order(s, call) || asks_nobody(s, call))
		return;
	r = read_joining(call, &joining, &err);
	if (r < 0) {
		call_refuse(call, status_of_content(r), "%s", err.msg);
		return;
	}
	call_origin(call, origin);
	if (!token_buckets_take(&s->join_refusals, origin, clock_mono_us())) {
		call_refuse(call, 429, "too many joins from this address were refused");
		return;
	}
	r = decide(s, &joining, &facts, &said, &by, &why, &err);
	if (r < 0) {
		routes_refuse_change(s, call, r, &err);
		return;
	}
	if (said != JOIN_LET_IN && said != JOIN_AGAIN) {
		refuse_join(call, said, &why);
		return;
	}
	token_buckets_give(&s->join_refusals, origin);
	if (said == JOIN_LET_IN)
		let_in(s, call, &facts, by);
	else
		answer(s, call, joined_answer(facts.node, true));
}

/* --- tokens and resets, for admins --- */

struct making {
	char *by, *reason, *names;
	uint64_t for_us, hosts;
};

static void making_release(struct making *m)
{
	free(m->by);
	free(m->reason);
	free(m->names);
}

static const struct jfield making_fields[] = {
	{ "by", J_STRING, offsetof(struct making, by), 0 },
	{ "reason", J_STRING, offsetof(struct making, reason), 0 },
	{ "names", J_STRING, offsetof(struct making, names), 0 },
	{ "hosts", J_U64, offsetof(struct making, hosts), 0, 1, JOIN_HOSTS_MAX },
	{ "for", J_DURATION, offsetof(struct making, for_us), 0 },
};

static int read_making(struct call *call, struct making *ret, struct err *err)
{
	int r;

	ret->for_us = JOIN_FOR_DEFAULT_US;
	ret->hosts = JOIN_HOSTS_DEFAULT;
	r = routes_order_body(call, making_fields, ARRAY_SIZE(making_fields), ret, &ret->reason,
			      err);
	if (r < 0)
		return r;
	if (!ret->names)
		ret->names = xstrdup("*");
	if (ret->for_us < USEC_PER_SEC || ret->for_us > JOIN_FOR_MOST_US)
		return err_set(err, EINVAL, "for: expected 1s to 24h");
	if (!ret->names[0] || !glob_ok(ret->names))
		return err_set(
			err, EINVAL,
			"names: expected a pattern like gpu-*, of at most %d characters besides "
			"*",
			GLOB_STEPS_MAX);
	return 0;
}

/* Returns new memory. */
static int make_token(char **ret, struct err *err)
{
	char letters[RANDOM_TOKEN_LETTERS + 1];
	int r = random_token(letters, RANDOM_TOKEN_LETTERS, clock_mono_us(), err);

	if (r == 0)
		*ret = xasprintf("%s%s", JOIN_TOKEN_PREFIX, letters);
	return r;
}

static void made(struct service *s, struct call *call, const struct store_join_token *row,
		 int64_t id, const char *token)
{ /* lint: allow parameters: the data of one token */
	CLEANUP(freep)
	char *what = xasprintf("%" PRId64 ": for %" PRIu64 " host%s, names %s", id, row->hosts,
			       row->hosts == 1 ? "" : "s", row->names);
	json_t *said = json_pack("{s:I, s:s, s:s, s:I, s:o}", "id", (json_int_t)id, "token", token,
				 "names", row->names, "hosts", (json_int_t)row->hosts, "expires",
				 json_stamp(row->expires_us));

	if (s->ca)
		(void)json_object_set_new(said, "ca_sha256", json_string(s->ca_sum));
	actor_join_token_created(s->act, &(struct actor_joined){ "", row->made_by, what });
	log_info("%s created join token %s", row->made_by, what);
	answer(s, call, said);
}

void routes_join_post_token(void *context, struct call *call)
{
	CLEANUP(making_release) struct making making = { 0 };
	CLEANUP(freep) char *token = NULL;
	CLEANUP(freep) char *who = NULL;
	struct service *s = context;
	struct store_join_token row;
	struct err err = ERR_INIT;
	char hex[SHA256_HEX_SIZE];
	int64_t id = 0;
	int r;

	if (routes_take_no_order(s, call) || asks_nobody(s, call))
		return;
	r = read_making(call, &making, &err);
	if (r < 0) {
		call_refuse(call, status_of_content(r), "%s", err.msg);
		return;
	}
	r = make_token(&token, &err);
	if (r < 0) {
		call_refuse(call, 503, "%s", err.msg);
		return;
	}
	sha256_of_text(token, hex);
	who = operator_name(call_identity(call), making.by);
	row = (struct store_join_token){ .sha256 = hex,
					 .names = making.names,
					 .made_by = who,
					 .hosts = making.hosts,
					 .made_us = clock_real_us() };
	row.expires_us = row.made_us + making.for_us;
	r = store_add_join_token(s->store, &row, &id, &err);
	if (r < 0)
		routes_refuse_change(s, call, r, &err);
	else
		made(s, call, &row, id, token);
}

void routes_join_list(void *context, struct call *call)
{
	struct service *s = context;
	struct store_page page = { 0 };
	struct store_range range;
	struct err err = ERR_INIT;
	int r;

	if (!routes_range_of(call, CURSOR_NUMBER, &range))
		return;
	r = store_join_tokens(s->store, &range, clock_real_us(), &page, &err);
	if (r < 0)
		refuse_store(call, r, &err);
	else
		reply_page(call, &page);
}

/* Returns the caller's name, or NULL after refusing; and the reason, unless `ret_reason` is NULL.
 * New memory. */
static char *who_ends(struct service *s, struct call *call, char **ret_reason)
{
	CLEANUP(routes_asker_release) struct routes_asker body = { 0 };
	struct err err = ERR_INIT;
	int r;

	if (routes_take_no_order(s, call))
		return NULL;
	r = routes_asker_read(call, false, &body, &err);
	if (r < 0) {
		call_refuse(call, status_of_content(r), "%s", err.msg);
		return NULL;
	}
	if (ret_reason)
		*ret_reason = utf8_clean(body.reason ? body.reason : "no reason given");
	return operator_name(call_identity(call), body.by);
}

void routes_join_revoke(void *context, struct call *call)
{
	struct service *s = context;
	CLEANUP(freep) char *reason = NULL;
	CLEANUP(freep) char *who = who_ends(s, call, &reason);
	CLEANUP(freep) char *what = NULL;
	struct err err = ERR_INIT;
	int64_t id = 0;
	int r;

	if (!who)
		return;
	r = routes_number(call, "join token", &id, &err);
	if (r == 0)
		r = store_revoke_join_token(s->store, id, clock_real_us(), &err);
	if (r < 0) {
		routes_refuse_change(s, call, r, &err);
		return;
	}
	what = xasprintf("%" PRId64 ": %s", id, reason);
	actor_join_token_revoked(s->act, &(struct actor_joined){ "", who, what });
	log_info("%s revoked join token %" PRId64, who, id);
	answer(s, call,
	       json_pack("{s:I, s:o}", "id", (json_int_t)id, "sentence",
			 json_sprintf("join token %" PRId64 " is revoked; hosts that joined "
				      "with it stay",
				      id)));
}

void routes_join_reset(void *context, struct call *call)
{
	struct service *s = context;
	CLEANUP(freep) char *reason = NULL;
	CLEANUP(freep) char *who = who_ends(s, call, &reason);
	const char *node = call_segment(call);
	struct err err = ERR_INIT;
	int r;

	if (!who || asks_nobody(s, call))
		return;
	if (!node_name_ok(node)) {
		call_refuse(call, 422, "'%.80s' is not a host name", node);
		return;
	}
	if (tokens_lists(&s->tokens, node)) {
		call_refuse(call, 409,
			    "%s: tokens.yaml has a token for that name: remove its row there", node);
		return;
	}
	r = store_join(
		s->store,
		&(struct store_joining){ .node = node, .origin = who, .at_us = clock_real_us() },
		&err);
	if (r < 0) {
		routes_refuse_change(s, call, r, &err);
		return;
	}
	actor_token_reset(s->act, &(struct actor_joined){ node, who, reason });
	log_info("%s reset the token of %s", who, node);
	answer(s, call,
	       json_pack("{s:s, s:o}", "node", node, "sentence",
			 json_sprintf("%s: its token was revoked, and it may join again", node)));
}
