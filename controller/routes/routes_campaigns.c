/* SPDX-License-Identifier: Apache-2.0 */
/* Campaigns of tests between hosts: begin one, list them, show one. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/campaign/campaign.h"
#include "controller/campaign/campaigns.h"
#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/routes/routes.h"
#include "controller/store/store.h"
#include "controller/store/store_campaigns.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/node_name.h"

enum {
	DOMAIN_MAX = 253,
	LIST_MAX = 100, /* per page: a line is read from its whole row, up to 300 KB */
};

/* --- POST: begin a campaign --- */

struct body {
	char *domain, *reason, *by;
	json_t *nodes;
	struct campaign_measure measure;
	int plan;
};

static void body_release(struct body *b)
{
	free(b->domain);
	free(b->reason);
	free(b->by);
	json_decref(b->nodes);
}

static int decode_nodes(const struct jval *v, void *member, struct err *err)
{
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	if (r == 0 && (n < 2 || n > CAMPAIGN_HOSTS_MAX))
		return jval_fail(v, err, "expected 2 to %d hosts", CAMPAIGN_HOSTS_MAX);
	for (i = 0; r == 0 && i < n; i++) {
		struct jval item = jval_at(v, i);
		const char *name = json_string_value(item.value);

		if (!name || !node_name_ok(name))
			r = jval_fail(&item, err, "expected the name of a host");
	}
	if (r == 0)
		*(json_t **)member = json_deep_copy(v->value);
	return r;
}

#define AT(member) offsetof(struct body, member)

static const struct jfield fields[] = {
	{ "domain", J_STRING, AT(domain), 0 },
	{ "nodes", J_CUSTOM, AT(nodes), 0, .decode = decode_nodes },
	{ "kind", J_ENUM, AT(measure.kind), 0, .names = campaign_kind_names },
	{ "memory", J_ENUM, AT(measure.memory), 0, .names = campaign_memory_names },
	{ "engine", J_ENUM, AT(measure.engine), 0, .names = campaign_engine_names },
	{ "plan", J_ENUM, AT(plan), 0, .names = campaign_plan_names },
	{ "reason", J_STRING, AT(reason), J_REQUIRED },
	{ "by", J_STRING, AT(by), 0 },
};

static int read_body(struct call *call, struct body *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root, domain;
	int r = parse_order_body(call, &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, "body");
	r = jval_decode(&root, fields, ARRAY_SIZE(fields), JVAL_STRICT, ret, err);
	if (r == 0)
		r = check_reason(&root, ret->reason, err);
	domain = jval_get(&root, "domain");
	if (r == 0 && !ret->domain == !ret->nodes)
		r = jval_fail(&root, err, "expected either domain or nodes");
	if (r == 0 && ret->domain && (!ret->domain[0] || strlen(ret->domain) > DOMAIN_MAX))
		r = jval_fail(&domain, err, "expected 1 to %d bytes", DOMAIN_MAX);
	return r;
}

static unsigned status_of(int r)
{
	switch (-r) {
	case ENOENT:
		return 404;
	case EBUSY:
		return 409;
	case E2BIG:
	case EINVAL:
		return 422;
	default:
		return 503;
	}
}

static void begun(struct service *s, struct call *call, int64_t id)
{
	CLEANUP(freep) char *number = xasprintf("%" PRId64, id);
	struct waiting waiting = {
		.call = call,
		.status = 202,
		.answer = json_pack(
			"{s:s, s:o}", "id", number, "sentence",
			json_sprintf(
				"campaign %s has started; follow it with assayctl campaign show %s",
				number, number)),
	};

	service_wait(s, &waiting);
}

void post_campaign(void *context, struct call *call)
{
	struct service *s = context;
	CLEANUP(body_release)
	struct body body = { .measure.memory = s->settings->collectives.memory };
	CLEANUP(freep) char *who = NULL;
	CLEANUP(freep) char *reason = NULL;
	struct campaigns_ask ask;
	struct err err = ERR_INIT;
	int64_t id;
	int r;

	if (routes_take_no_order(s, call))
		return;
	r = read_body(call, &body, &err);
	if (r < 0) {
		call_refuse(call, status_of_content(r), "%s", err.msg);
		return;
	}
	who = operator_name(call_identity(call), body.by);
	reason = utf8_clean(body.reason);
	ask = (struct campaigns_ask){ .domain = body.domain,
				      .nodes = body.nodes,
				      .measure = body.measure,
				      .plan = body.plan,
				      .reason = reason,
				      .who = who };
	id = campaigns_begin(s, &ask, &err);
	if (id < 0)
		call_refuse(call, status_of((int)id), "%s", err.msg);
	else
		begun(s, call, id);
}

/* --- GET: the list, and one campaign --- */

void get_campaigns(void *context, struct call *call)
{
	struct service *s = context;
	struct store_range range;
	struct store_page page = { 0 };
	struct err err = ERR_INIT;
	int r;

	if (!routes_range_of(call, CURSOR_NUMBER, &range))
		return;
	range.limit = MIN(range.limit, (size_t)LIST_MAX);
	r = store_campaigns(s->store, &range, &page, &err);
	if (r < 0)
		refuse_store(call, r, &err);
	else
		reply_page(call, &page);
}

void get_campaign(void *context, struct call *call)
{
	struct service *s = context;
	json_t *campaign = NULL;
	struct err err = ERR_INIT;
	int64_t id;
	int r = routes_number(call, "campaign", &id, &err);

	if (r == 0)
		r = store_campaign(s->store, id, &campaign, &err);
	if (r < 0) {
		refuse_store(call, r, &err);
		return;
	}
	(void)json_object_del(campaign, STORE_CAMPAIGN_KEPT);
	call_reply(call, 200, campaign);
}
