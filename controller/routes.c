/* SPDX-License-Identifier: Apache-2.0 */
/* The API as a table, and its handlers. */
#include "controller/routes.h"

#include <errno.h>

#include "controller/api.h"
#include "controller/ingest.h"
#include "controller/service.h"
#include "controller/store.h"
#include "lib/clock.h"
#include "lib/err.h"
#include "lib/log.h"
#include "lib/xalloc.h"

static void get_healthz(void *context, struct call *call)
{
	(void)context;
	call_reply_text(call, 200, "text/plain; charset=utf-8", xstrdup("ok\n"));
}

static void get_readyz(void *context, struct call *call)
{
	struct service *s = context;
	struct err err = ERR_INIT;
	uint64_t n = 0;

	if (store_count_nodes(s->store, &n, &err) < 0)
		call_refuse(call, 503, "%s", err.msg);
	else
		call_reply_text(call, 200, "text/plain; charset=utf-8", xstrdup("ready\n"));
}

static void get_metrics(void *context, struct call *call)
{
	struct service *s = context;
	struct api_counts counts = api_counts(s->api);
	uint64_t nodes[4] = { 0 }, incidents = 0;
	struct err err = ERR_INIT;

	if (store_count_verdicts(s->store, nodes, &err) < 0 ||
	    store_count_incidents(s->store, &incidents, &err) < 0)
		call_refuse(call, 503, "%s", err.msg);
	else
		call_reply_text(call, 200, "text/plain; version=0.0.4; charset=utf-8",
				metrics_text(&s->metrics, nodes, incidents, &counts));
}

static unsigned status_of(int r)
{
	switch (-r) {
	case EBADMSG:
		return 400;
	case E2BIG:
		return 413;
	case EOPNOTSUPP:
		return 415;
	case EINVAL:
		return 422;
	default:
		return 503;
	}
}

/* A node speaks for itself only; who may do all may replay for any. */
static bool may_report(const struct identity *who, const char *node)
{
	return who->role == ROLE_ADMIN || (who->role == ROLE_NODE && streq(who->node, node));
}

/* Is there room for one more host? */
static bool has_room(struct service *s, const char *node)
{
	bool known = false;
	uint64_t n = 0;

	if (store_has_node(s->store, node, &known, NULL) < 0 || known)
		return true; /* a failing store says so itself */
	return store_count_nodes(s->store, &n, NULL) < 0 || n < s->settings->nodes_max;
}

static void keep_report(struct service *s, struct call *call, const struct ingest *in)
{
	struct err err = ERR_INIT;
	int place = ingest_keep(s->store, &s->rules, &s->baselines, in, clock_real_us(), &err);

	if (place < 0) {
		service_failed(s, &err);
		call_refuse(call, 503, "the report could not be kept: %s", err.msg);
		return;
	}
	s->metrics.late += place == PLACE_LATE;
	/* A duplicate may be one of what is not yet durable: it waits too. */
	service_wait(s, call, place == PLACE_DUPLICATE);
}

static void refuse_often(struct service *s, struct call *call, const char *node)
{
	s->metrics.refused++;
	call_refuse(call, 429, "'%s' reports too often: report-rate and report-burst", node);
}

static void post_report(void *context, struct call *call)
{
	CLEANUP(ingest_release) struct ingest in = { 0 };
	struct service *s = context;
	const char *sender = call_identity(call)->node;
	struct err err = ERR_INIT;
	struct packed sent = { .coding = PACK_PLAIN };
	bool gzip = false;
	int r;

	/* A host that sends too much is told before it costs anything. */
	if (sender && !limiter_take(&s->limiter, sender, clock_mono_us())) {
		refuse_often(s, call, sender);
		return;
	}
	sent.bytes = call_body(call, &sent.length, &gzip);
	sent.coding = gzip ? PACK_GZIP : PACK_PLAIN;
	r = ingest_decode(&sent, &in, &err);
	if (r < 0) {
		s->metrics.malformed++;
		call_refuse(call, status_of(r), "%s", err.msg);
	} else if (!may_report(call_identity(call), in.report.node)) {
		s->metrics.refused++;
		log_warning("report refused: not its own host node=%s", in.report.node);
		call_refuse(call, 403, "this token may not report for '%s'", in.report.node);
	} else if (!sender && !limiter_take(&s->limiter, in.report.node, clock_mono_us())) {
		refuse_often(s, call, in.report.node);
	} else if (!has_room(s, in.report.node)) {
		s->metrics.refused++;
		call_refuse(call, 503, "no room for another host: nodes-max is reached");
	} else {
		keep_report(s, call, &in);
	}
}

static const struct route routes[] = {
	{ "GET", "/healthz", ROLE_ANYBODY, 0, get_healthz },
	{ "GET", "/readyz", ROLE_ANYBODY, 0, get_readyz },
	{ "GET", "/metrics", ROLE_ANYBODY, 0, get_metrics },
	{ "POST", "/v1/reports", ROLE_NODE, REPORT_MAX, post_report },
	{ "GET", "/v1/nodes", ROLE_READ, 0, get_nodes },
	{ "GET", "/v1/nodes/{}", ROLE_READ, 0, get_node },
	{ "GET", "/v1/nodes/{}/why", ROLE_READ, 0, get_why },
	{ "GET", "/v1/nodes/{}/samples", ROLE_READ, 0, get_samples },
	{ "GET", "/v1/nodes/{}/verdicts", ROLE_READ, 0, get_verdicts },
	{ "GET", "/v1/nodes/{}/orders", ROLE_NODE, 0, get_orders },
	{ "GET", "/v1/incidents", ROLE_READ, 0, get_incidents },
	{ "GET", "/v1/incidents/{}", ROLE_READ, 0, get_incident },
	{ "GET", "/v1/baselines", ROLE_READ, 0, get_baselines },
	{ "GET", "/v1/drift", ROLE_READ, 0, get_drift },
};

void routes_set(struct api_options *options)
{
	options->routes = routes;
	options->n_routes = ARRAY_SIZE(routes);
}
