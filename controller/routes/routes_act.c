/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders by people: cordon, uncordon, repair-done, override, silence, reset of the breaker. A
 * handler decodes an order and passes it to the actor (action.h), which answers once it is durable.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/actor_requests.h"
#include "controller/actions/actor_views.h"
#include "controller/auth/tokens.h"
#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/routes/routes.h"
#include "controller/store/store.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

enum { REASON_MAX = 500 };

#define UNTIL_MOST_US (366 * USEC_PER_DAY)

/* Optional and required members of a body: bits. */
enum order_key {
	KEY_REASON = 1,
	KEY_BREAK_GLASS = 2,
	KEY_UNTIL = 4,
	KEY_FOR = 8,
	KEY_DRY_RUN = 16,
	KEY_IF_SINCE = 32,
	KEY_ONCE = 64,
	KEYS_OF_NODE = KEY_IF_SINCE | KEY_ONCE, /* for orders about a host */
};

struct order {
	enum action_kind kind;
	unsigned takes, needs; /* enum order_key; all take a reason, `by` and dry_run */
	unsigned one_of;       /* exactly one of these */
};

static const struct order order_cordon = { ACT_CORDON, KEY_BREAK_GLASS | KEYS_OF_NODE, KEY_REASON,
					   0 };
static const struct order order_uncordon = { ACT_UNCORDON, KEYS_OF_NODE, KEY_REASON, 0 };
static const struct order order_repair_done = { ACT_REPAIR_DONE, KEYS_OF_NODE, 0, 0 };
static const struct order order_override = { ACT_OVERRIDE, KEY_UNTIL | KEY_FOR | KEYS_OF_NODE, 0,
					     KEY_UNTIL | KEY_FOR };
static const struct order order_silence = { ACT_SILENCE, KEY_FOR | KEYS_OF_NODE,
					    KEY_REASON | KEY_FOR, 0 };
static const struct order order_reset = { ACT_BREAKER_RESET, 0, KEY_REASON, 0 };

/* --- requests --- */

#define NOT_SAID UINT64_MAX

struct body {
	char *reason, *by, *until;
	char *if_since; /* a time; "": there was none */
	char *key;
	uint64_t for_us; /* NOT_SAID: missing; 0: it ends now */
	int break_glass; /* -1: missing */
	int dry_run;	 /* -1: missing */
};

static void body_release(struct body *b)
{
	free(b->reason);
	free(b->by);
	free(b->until);
	free(b->if_since);
	free(b->key);
}

static const struct jfield body_fields[] = {
	{ "reason", J_STRING, offsetof(struct body, reason), 0 },
	{ "by", J_STRING, offsetof(struct body, by), 0 },
	{ "break_glass", J_TRISTATE, offsetof(struct body, break_glass), 0 },
	{ "dry_run", J_TRISTATE, offsetof(struct body, dry_run), 0 },
	{ "until", J_STRING, offsetof(struct body, until), 0 },
	{ "for", J_DURATION, offsetof(struct body, for_us), 0 },
	{ "if_since", J_STRING, offsetof(struct body, if_since), 0 },
	{ "key", J_STRING, offsetof(struct body, key), 0 },
};

static const struct {
	const char *name;
	unsigned key;
} keys[] = {
	{ "reason", KEY_REASON },   { "break_glass", KEY_BREAK_GLASS },
	{ "dry_run", KEY_DRY_RUN }, { "until", KEY_UNTIL },
	{ "for", KEY_FOR },	    { "if_since", KEY_IF_SINCE },
	{ "key", KEY_ONCE },
};

static int check_one_of(const struct order *order, const struct jval *root, struct err *err)
{
	const struct jval until = jval_get(root, "until"), span = jval_get(root, "for");

	if (!order->one_of)
		return 0;
	if (!until.value && !span.value)
		return jval_fail(&until, err, "is required, or for");
	return until.value && span.value ? jval_fail(&span, err, "cannot be combined with until")
					 : 0;
}

static int check_keys(const struct order *order, const struct jval *root, struct err *err)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		struct jval member = jval_get(root, keys[i].name);

		if (!member.value && (order->needs & keys[i].key))
			return jval_fail(&member, err, "is required");
		if (member.value && !((order->takes | KEY_REASON | KEY_DRY_RUN) & keys[i].key))
			return jval_fail(&member, err, "does not apply here");
	}
	return check_one_of(order, root, err);
}

int check_reason(const struct jval *root, const char *reason, struct err *err)
{
	struct jval member = jval_get(root, "reason");
	size_t length = reason ? strlen(reason) : 0;

	if (!member.value)
		return 0;
	if (length == 0 || length > REASON_MAX || strspn(reason, " \t\r\n") == length)
		return jval_fail(&member, err, "expected a reason of 1 to %d bytes", REASON_MAX);
	return 0;
}

int parse_order_body(struct call *call, json_t **ret_value, struct err *err)
{
	bool gzip = false;
	size_t length = 0;
	const void *bytes = call_body(call, &length, &gzip);

	if (gzip)
		return err_set(err, EBADMSG, "body: must not be compressed");
	return json_parse(bytes, length, "body", ret_value, err) < 0 ? -EBADMSG : 0;
}

int routes_order_body(struct call *call, const struct jfield *fields, size_t n, void *out,
		      char *const *reason, struct err *err)
{ /* lint: allow parameters: the call, its fields, and the result */
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;
	int r = parse_order_body(call, &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, "body");
	r = jval_decode(&root, fields, n, JVAL_STRICT, out, err);
	return r == 0 ? check_reason(&root, *reason, err) : r;
}

int routes_asker_read(struct call *call, bool needs_reason, struct routes_asker *ret,
		      struct err *err)
{
	const struct jfield fields[] = {
		{ "reason", J_STRING, offsetof(struct routes_asker, reason),
		  needs_reason ? J_REQUIRED : 0 },
		{ "by", J_STRING, offsetof(struct routes_asker, by), 0 },
	};

	return routes_order_body(call, fields, ARRAY_SIZE(fields), ret, &ret->reason, err);
}

void routes_asker_release(struct routes_asker *a)
{
	free(a->reason);
	free(a->by);
}

/* Errors as negative errno: 400 for invalid JSON, 422 for invalid content. */
static int read_body(const struct order *order, struct call *call, struct body *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;
	int r = parse_order_body(call, &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, "body");
	ret->break_glass = -1;
	ret->dry_run = -1;
	ret->for_us = NOT_SAID;
	r = jval_decode(&root, body_fields, ARRAY_SIZE(body_fields), JVAL_STRICT, ret, err);
	if (r == 0)
		r = check_keys(order, &root, err);
	return r == 0 ? check_reason(&root, ret->reason, err) : r;
}

/* When it ends, by our clock; 0: it has no end, or ends an existing one. */
static int end_of(const struct body *b, uint64_t now_us, uint64_t *ret_us, struct err *err)
{
	uint64_t us = 0;

	*ret_us = 0;
	if (!b->until && (b->for_us == NOT_SAID || b->for_us == 0))
		return 0;
	if (!b->until)
		us = b->for_us > UNTIL_MOST_US ? UINT64_MAX : now_us + b->for_us;
	else if (clock_parse_stamp(b->until, &us) < 0) {
		if (duration_parse(b->until, &us, NULL) < 0)
			return err_set(err, EINVAL,
				       "until: '%.40s' is neither a time in UTC like "
				       "2026-11-22T08:00:00Z nor a duration like 12h",
				       b->until);
		us += now_us;
	}
	if (us <= now_us)
		return err_set(err, EINVAL, "until: %.40s is in the past", b->until);
	if (us - now_us > UNTIL_MOST_US)
		return err_set(err, EINVAL, "more than %d days from now",
			       (int)(UNTIL_MOST_US / USEC_PER_DAY));
	*ret_us = us;
	return 0;
}

/* Write if_since and the request key to `ask`. */
static int guards_of(const struct body *b, struct actor_request *ask, struct err *err)
{
	if (b->key && !tokens_name_ok(b->key))
		return err_set(err, EINVAL, "key: expected 1 to 64 letters, digits, '.', '_', '-'");
	ask->key = b->key;
	ask->if_since = b->if_since != NULL;
	if (b->if_since && b->if_since[0] && clock_parse_stamp(b->if_since, &ask->since_us) < 0)
		return err_set(err, EINVAL,
			       "if_since: '%.40s' is not a time in UTC like 2026-11-22T08:00:00Z",
			       b->if_since);
	return 0;
}

char *operator_name(const struct identity *who, const char *by)
{
	const char *role = who->role == ROLE_ADMIN ? "admin" : "operate";

	if (who->name)
		return xasprintf("operator %s", who->name);
	if (by && tokens_name_ok(by))
		return xasprintf("operator %s, as named by the caller (role %s)", by, role);
	return xasprintf("operator (role %s)", role);
}

/* --- answers --- */

/* A call that waits for the actor. */
struct pending {
	struct service *service;
	struct call *call;
	char *node; /* or NULL */
	enum action_kind kind;
	bool held, told;
};

static void pending_free(struct pending *p)
{
	free(p->node);
	free(p);
}

/*
 * A request for the current state is not an error, so that it can be repeated. But a cordon not set
 * by a person ends by itself, which is not what the person asked for.
 */
static bool is_so(const struct pending *p, const struct actor_reply *said)
{
	CLEANUP(json_freep) json_t *life = NULL;

	if (said->status != 409 || !streq(said->rule, "already") || !p->node)
		return said->status == 200;
	life = actor_node_json(p->service->act, p->node);
	return p->kind != ACT_CORDON || json_is_true(json_object_get(life, "manual"));
}

static void reply(const struct pending *p, const struct actor_reply *said)
{
	CLEANUP(freep) char *number = xasprintf("%" PRId64, said->action);
	CLEANUP(freep)
	char *words = xasprintf("%s%s%s", p->node ? p->node : "", p->node ? ": " : "", said->words);
	CLEANUP(freep) char *detail = NULL;

	if (is_so(p, said)) {
		call_reply(p->call, 200,
			   json_pack("{s:s?, s:s?, s:s}", "node", p->node, "action",
				     said->action ? number : NULL, "sentence", words));
		return;
	}
	detail = said->allows ? xasprintf("%s; to allow it: %s", words, said->allows)
			      : xstrdup(words);
	call_refuse_with(p->call, said->status,
			 json_pack("{s:s*, s:s*, s:s*}", "rule", said->rule, "allows", said->allows,
				   "action", said->action ? number : NULL),
			 detail);
}

static void on_told(void *context, const struct actor_reply *said)
{
	struct pending *p = context;

	p->told = true;
	reply(p, said);
	if (p->held)
		pending_free(p);
}

/* The order is carried out anyway; the result can be looked up. */
static void on_gone(void *context UNUSED, struct call *call)
{
	struct pending *p = call_data(call);

	actor_leave(p->service->act, p);
	call_refuse(call, 503, "the caller is gone");
	pending_free(p);
}

static bool may_break_glass(struct call *call, const struct body *b, bool open)
{
	if (b->break_glass != 1)
		return true;
	if (call_identity(call)->session && !open) {
		call_refuse(call, 403,
			    "break_glass requires the token again: a cookie is not enough");
		return false;
	}
	if (call_identity(call)->role == ROLE_ADMIN)
		return true;
	call_refuse(call, 403, "break_glass needs the role admin");
	return false;
}

static void obey(struct service *s, struct call *call, const struct order *order)
{
	CLEANUP(body_release) struct body body = { 0 };
	CLEANUP(freep) char *who = NULL;
	CLEANUP(freep) char *reason = NULL;
	struct pending *p;
	struct actor_request ask = { 0 };
	struct err err = ERR_INIT;
	int r = read_body(order, call, &body, &err);

	if (r == 0)
		r = end_of(&body, clock_real_us(), &ask.until_us, &err);
	if (r == 0)
		r = guards_of(&body, &ask, &err);
	if (r < 0) {
		call_refuse(call, status_of_content(r), "%s", err.msg);
		return;
	}
	if (!may_break_glass(call, &body, s->tokens.open))
		return;
	who = operator_name(call_identity(call), body.by);
	reason = utf8_clean(body.reason ? body.reason : "no reason given");
	p = xcalloc(1, sizeof(*p));
	*p = (struct pending){ .service = s, .call = call, .kind = order->kind };
	if (order->kind != ACT_BREAKER_RESET)
		p->node = xstrdup(call_segment(call));
	ask.node = p->node;
	ask.who = who;
	ask.reason = reason;
	ask.break_glass = body.break_glass == 1;
	ask.dry_run = body.dry_run == 1;
	actor_ask(s->act, order->kind, &ask, on_told, p);
	if (p->told) {
		pending_free(p);
		return;
	}
	p->held = true;
	call_hold(call, on_gone, p);
}

void post_cordon(void *context, struct call *call)
{
	obey(context, call, &order_cordon);
}

void post_uncordon(void *context, struct call *call)
{
	obey(context, call, &order_uncordon);
}

void post_repair_done(void *context, struct call *call)
{
	obey(context, call, &order_repair_done);
}

void post_override(void *context, struct call *call)
{
	obey(context, call, &order_override);
}

void post_silence(void *context, struct call *call)
{
	obey(context, call, &order_silence);
}

void post_breaker_reset(void *context, struct call *call)
{
	obey(context, call, &order_reset);
}
