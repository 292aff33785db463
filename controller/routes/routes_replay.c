/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /v1/policy/replay?since=D: applies a policy to the store's history, in slices
 * (background_job.h). One at a time. The policy is JSON, or YAML as in its file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/actions/actor_views.h"
#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/routes/background_job.h"
#include "controller/routes/routes.h"
#include "controller/store/store.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/pool.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/verdict.h"
#include "lib/policy/policy.h"
#include "lib/policy/replay.h"

/* The replay in progress. */
struct replaying {
	struct service *service;
	struct policy policy;
	struct replay *replay;
	json_t *domains; /* of hosts, by name: strings or null; looked up once */
	int64_t after;
	uint64_t since_us;
	struct pool pool; /* texts of `rows` */
	struct store_past rows[STORE_PAST_MAX];
	int n_rows, next; /* the first not processed yet */
};

static void drop_rows(struct replaying *p)
{
	while (p->next < p->n_rows)
		free(p->rows[p->next++].items);
	pool_release(&p->pool);
}

static void release(void *context)
{
	struct replaying *p = context;

	p->service->replaying = NULL;
	drop_rows(p);
	replay_free(p->replay);
	policy_release(&p->policy);
	json_decref(p->domains);
	free(p);
}

/* The current value of the policy's label on the host, or NULL. Borrowed. */
static const char *domain_of(struct replaying *p, const char *node)
{
	const json_t *known = json_object_get(p->domains, node);

	if (!known && p->policy.domain_label) {
		CLEANUP(json_freep) json_t *life = actor_node_json(p->service->act, node);
		json_t *label =
			json_object_get(json_object_get(life, "labels"), p->policy.domain_label);

		(void)json_object_set_new(p->domains, node,
					  label ? json_incref(label) : json_null());
		known = json_object_get(p->domains, node);
	}
	return json_string_value(known);
}

static void items_of(const struct store_past *past, struct replay_item *ret_items)
{
	size_t i;

	for (i = 0; i < past->n_items; i++) {
		const struct verdict_item *item = &past->items[i];

		ret_items[i] = (struct replay_item){
			.check = item->check,
			.subject = item->subject,
			.sentence = item->sentence,
			.level = item->level,
			.fatal = item->fatal,
			.source = item->source,
			.value = item->value,
			.expected = item->expected,
			.floor = item->floor,
			.unit = item->unit,
			.link = item->link,
			.bare = item->bare,
			.impossible = item->impossible,
			.usual = item->usual,
			.known_by = item->known_by,
			.low_by = item->low_by,
		};
	}
}

static void feed(struct replaying *p, const struct store_past *past)
{
	CLEANUP(freep)
	struct replay_item *items = xcalloc(past->n_items + 1, sizeof(*items));
	const struct replay_run run = {
		.node = past->node,
		.sku = past->sku,
		.domain = domain_of(p, past->node),
		.profile = past->profile,
		.at_us = past->seen_us,
		.items = items,
		.n_items = past->n_items,
	};

	items_of(past, items);
	replay_add(p->replay, &run);
}

/* One run per step, as it may have thousands of items. Returns 1 if there is more, 0 at the end. */
static int step(void *context, struct err *err)
{
	struct replaying *p = context;
	int64_t before = p->after;
	int n;

	if (p->next < p->n_rows) {
		feed(p, &p->rows[p->next]);
		free(p->rows[p->next++].items);
		return 1;
	}
	drop_rows(p);
	p->next = p->n_rows = 0;
	n = store_past(p->service->store, &p->after, p->since_us, &p->pool, p->rows, err);
	p->n_rows = MAX(n, 0);
	return n < 0 ? n : n > 0 || p->after != before;
}

static void answer(void *context, struct call *call)
{
	struct replaying *p = context;

	call_reply(call, 200, replay_end(p->replay, clock_real_us()));
}

static const struct background_job_work replaying_work = {
	step, answer, release, "since: too much history to replay within 25 s: ask for less"
};

/* ?since; returns false after refusing the call. */
static bool since_of(struct call *call, uint64_t *ret_us)
{
	const char *text = call_argument(call, "since");
	uint64_t now_us = clock_real_us(), us = 0;

	if (!text || duration_parse(text, &us, NULL) < 0 || us == 0) {
		call_refuse(call, 400, "since: expected a duration like 7d");
		return false;
	}
	*ret_us = now_us - MIN(us, now_us);
	return true;
}

/* A JSON object begins with a brace; otherwise it is YAML. */
static bool is_json(const char *bytes, size_t length)
{
	size_t i = 0;

	while (i < length && strchr(" \t\r\n", bytes[i]) && bytes[i])
		i++;
	return i == length || bytes[i] == '{';
}

static int read_policy(struct call *call, struct policy *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	bool gzip = false;
	size_t length = 0;
	const void *bytes = call_body(call, &length, &gzip);
	struct jval root;
	int r;

	if (gzip)
		return err_set(err, EBADMSG, "policy: must not be compressed");
	r = is_json(bytes, length) ? json_parse(bytes, length, "policy", &value, err)
				   : yaml_parse(bytes, length, "policy", &value, err);
	if (r < 0)
		return -EBADMSG;
	root = jval_root(value, "policy");
	return policy_decode(&root, ret, err);
}

void post_policy_replay(void *context, struct call *call)
{
	struct service *s = context;
	struct policy policy = { 0 };
	struct replaying *p;
	uint64_t since_us = 0;
	struct err err = ERR_INIT;
	int r;

	if (!since_of(call, &since_us))
		return;
	if (s->replaying) {
		call_refuse(call, 503, "another replay is running");
		return;
	}
	r = read_policy(call, &policy, &err);
	if (r < 0) {
		call_refuse(call, status_of_content(r), "%s", err.msg);
		return;
	}
	p = xcalloc(1, sizeof(*p));
	*p = (struct replaying){
		.service = s, .policy = policy, .domains = json_object(), .since_us = since_us
	};
	p->replay = replay_new(&p->policy);
	s->replaying = p;
	background_job_begin(s, call, &replaying_work, p);
}
