/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the API, and its handlers. */
#include "controller/routes/routes.h"

#include <stdlib.h>

#include "controller/actions/actor.h"
#include "controller/actions/remediation.h"
#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/job/trace_files.h"
#include "controller/routes/routes_advice.h"
#include "controller/routes/routes_changes.h"
#include "controller/routes/routes_investigations.h"
#include "controller/routes/routes_jobs.h"
#include "controller/routes/routes_join.h"
#include "controller/routes/routes_metrics.h"
#include "controller/routes/routes_page.h"
#include "controller/routes/routes_session.h"
#include "controller/store/store.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/node_name.h"
#include "lib/topology/topology_file.h"

static void get_healthz(void *context, struct call *call)
{
	const struct service *s = context;
	const char *stale = s->act ? actor_stale(s->act) : NULL;

	/* Still 200: a restart would not bring the cluster back. */
	call_reply_text(call, 200, "text/plain; charset=utf-8",
			stale ? xasprintf("ok\nnot acting: %s\n", stale) : xstrdup("ok\n"));
}

bool stands_by(const struct service *s, struct call *call)
{
	const char *other = remediation_other(s);

	if (!other)
		return false;
	call_close(call);
	call_refuse(call, 503,
		    "another controller is the leader, this one is standing by: '%.200s'", other);
	return true;
}

bool routes_take_no_order(const struct service *s, struct call *call)
{
	if (stands_by(s, call))
		return true;
	if (!service_full(s))
		return false;
	call_refuse(call, 503, "too many requests at once");
	return true;
}

bool routes_may_speak(struct service *s, struct call *call, const char *what)
{
	const struct identity *who = call_identity(call);
	const char *node = call_segment(call);

	if (!node_name_ok(node)) {
		call_refuse(call, 404, "'%.80s' is not a host name", node);
		return false;
	}
	if (who->role != ROLE_ADMIN && (who->role != ROLE_NODE || !streq(who->node, node))) {
		call_refuse(call, 403, "this token may not report %s on '%s'", what, node);
		return false;
	}
	if (who->node && !token_buckets_take(&s->buckets, who->node, clock_mono_us())) {
		s->counts.refused++;
		call_refuse(call, 429, "'%s' sends too often (report-rate, report-burst)",
			    who->node);
		return false;
	}
	return true;
}

static void get_readyz(void *context, struct call *call)
{
	struct service *s = context;
	struct err err = ERR_INIT;
	uint64_t n = 0;

	if (stands_by(s, call))
		return;
	if (store_count_nodes(s->store, &n, &err) < 0)
		call_refuse(call, 503, "%s", err.msg);
	else
		call_reply_text(call, 200, "text/plain; charset=utf-8", xstrdup("ready\n"));
}

static const struct route routes[] = {
	{ "GET", "/healthz", ROLE_ANYBODY, 0, get_healthz },
	{ "GET", "/readyz", ROLE_ANYBODY, 0, get_readyz },
	{ "GET", "/metrics", ROLE_ANYBODY, 0, routes_metrics_get },
	{ "GET", "/metrics/nodes", ROLE_READ, 0, routes_metrics_get_nodes },
	{ "POST", "/v1/reports", ROLE_NODE, REPORT_MAX, post_report },
	{ "POST", "/v1/reports/batch", ROLE_NODE, REPORT_MAX, post_reports },
	{ "PUT", "/v1/topologies/{}", ROLE_NODE, TOPOLOGY_TEXT_MAX, put_topology },
	{ "GET", "/v1/topologies/{}", ROLE_READ, 0, get_topology },
	{ "GET", "/v1/fleet", ROLE_READ, 0, routes_changes_get_fleet },
	{ "GET", "/v1/changes", ROLE_READ, 0, routes_changes_get },
	{ "GET", "/v1/nodes", ROLE_READ, 0, get_nodes },
	{ "GET", "/v1/nodes/{}", ROLE_READ, 0, get_node },
	{ "GET", "/v1/nodes/{}/why", ROLE_READ, 0, get_why },
	{ "GET", "/v1/nodes/{}/samples", ROLE_READ, 0, get_samples },
	{ "GET", "/v1/nodes/{}/verdicts", ROLE_READ, 0, get_verdicts },
	{ "GET", "/v1/nodes/{}/matrices", ROLE_READ, 0, routes_matrices_get },
	{ "GET", "/v1/nodes/{}/parts", ROLE_READ, 0, routes_parts_get },
	{ "GET", "/v1/nodes/{}/series", ROLE_READ, 0, routes_series_get },
	{ "GET", "/v1/nodes/{}/orders", ROLE_NODE, 0, get_orders },
	{ "PUT", "/v1/nodes/{}/processes", ROLE_NODE, PROCESSES_MAX, routes_put_processes },
	{ "PUT", "/v1/nodes/{}/hang", ROLE_NODE, HANG_SAID_MAX, routes_put_hang },
	{ "GET", "/v1/nodes/{}/evidence", ROLE_READ, 0, get_evidence },
	{ "POST", "/v1/nodes/{}/cordon", ROLE_OPERATE, ORDER_MAX, post_cordon },
	{ "POST", "/v1/nodes/{}/uncordon", ROLE_OPERATE, ORDER_MAX, post_uncordon },
	{ "POST", "/v1/nodes/{}/repair-done", ROLE_OPERATE, ORDER_MAX, post_repair_done },
	{ "POST", "/v1/nodes/{}/burn", ROLE_OPERATE, ORDER_MAX, routes_post_burn },
	{ "POST", "/v1/nodes/{}/override", ROLE_OPERATE, ORDER_MAX, post_override },
	{ "POST", "/v1/nodes/{}/silence", ROLE_OPERATE, ORDER_MAX, post_silence },
	{ "GET", "/v1/silences", ROLE_READ, 0, routes_silences },
	{ "GET", "/v1/overrides", ROLE_READ, 0, routes_overrides },
	{ "GET", "/v1/actions", ROLE_READ, 0, get_actions },
	{ "GET", "/v1/breaker", ROLE_READ, 0, get_breaker },
	{ "POST", "/v1/breaker/reset", ROLE_OPERATE, ORDER_MAX, post_breaker_reset },
	{ "GET", "/v1/coverage", ROLE_READ, 0, get_coverage },
	{ "GET", "/v1/policy", ROLE_READ, 0, get_policy },
	{ "GET", "/v1/whoami", ROLE_READ, 0, routes_whoami },
	{ "POST", "/v1/policy/replay", ROLE_READ, JSON_PEOPLE_FILE_MAX, post_policy_replay },
	{ "GET", "/v1/incidents", ROLE_READ, 0, get_incidents },
	{ "GET", "/v1/incidents/{}", ROLE_READ, 0, get_incident },
	{ "POST", "/v1/campaigns", ROLE_OPERATE, CAMPAIGN_BODY_MAX, post_campaign },
	{ "GET", "/v1/campaigns", ROLE_READ, 0, get_campaigns },
	{ "GET", "/v1/campaigns/{}", ROLE_READ, 0, get_campaign },
	{ "POST", "/v1/traces", ROLE_SUBMIT, TRACE_MAX, routes_jobs_post_trace },
	{ "POST", "/v1/steps", ROLE_SUBMIT, BEAT_MAX, routes_jobs_post_steps },
	{ "GET", "/v1/jobs", ROLE_READ, 0, routes_jobs_list },
	{ "GET", "/v1/jobs/{}", ROLE_READ, 0, routes_jobs_show },
	{ "GET", "/v1/jobs/{}/ranks", ROLE_READ, 0, routes_jobs_ranks },
	{ "GET", "/v1/jobs/{}/plan", ROLE_READ, 0, routes_jobs_plan },
	{ "GET", "/v1/jobs/{}/windows", ROLE_READ, 0, routes_jobs_windows },
	{ "POST", "/v1/jobs/{}/diagnose", ROLE_OPERATE, ORDER_MAX, routes_jobs_diagnose },
	{ "GET", "/v1/jobs/{}/windows/{}", ROLE_READ, 0, routes_jobs_window },
	{ "GET", "/v1/investigations", ROLE_READ, 0, routes_investigations_list },
	{ "GET", "/v1/investigations/{}", ROLE_READ, 0, routes_investigations_show },
	{ "POST", "/v1/investigations/{}/cancel", ROLE_OPERATE, ORDER_MAX,
	  routes_investigations_cancel },
	{ "GET", "/v1/jobs/{}/advice", ROLE_SUBMIT, 0, routes_advice_get },
	{ "POST", "/v1/jobs/{}/advice", ROLE_SUBMIT, ORDER_MAX, routes_advice_post },
	{ "GET", "/v1/baselines", ROLE_READ, 0, get_baselines },
	{ "GET", "/v1/drift", ROLE_READ, 0, get_drift },
	{ "GET", "/v1/ca", ROLE_ANYBODY, 0, routes_join_get_ca },
	{ "POST", "/v1/join", ROLE_ANYBODY, ORDER_MAX, routes_join_post },
	{ "POST", "/v1/join-tokens", ROLE_ADMIN, ORDER_MAX, routes_join_post_token },
	{ "GET", "/v1/join-tokens", ROLE_READ, 0, routes_join_list },
	{ "POST", "/v1/join-tokens/{}/revoke", ROLE_ADMIN, ORDER_MAX, routes_join_revoke },
	{ "POST", "/v1/nodes/{}/reset-token", ROLE_ADMIN, ORDER_MAX, routes_join_reset },
	{ "POST", "/v1/backup", ROLE_ADMIN, ORDER_MAX, post_backup },
	{ "GET", "/v1/backup", ROLE_READ, 0, get_backup },
	{ "GET", "/", ROLE_ANYBODY, 0, routes_page_top, routes_page_is_on, false },
	{ "GET", "/page", ROLE_ANYBODY, 0, routes_page_top, routes_page_is_on, false },
	{ "GET", "/page/", ROLE_ANYBODY, 0, routes_page_index, routes_page_is_on, false },
	{ "POST", "/v1/session", ROLE_READ, ORDER_MAX, routes_session_post, routes_page_is_on,
	  false },
	{ "DELETE", "/v1/session", ROLE_READ, 0, routes_session_delete, routes_page_is_on, false },
	{ "GET", "/v1/self", ROLE_READ, 0, routes_session_self, routes_page_is_on, false },
	{ "GET", "/v1/sessions", ROLE_READ, 0, routes_session_list, routes_page_is_on, false },
	{ "POST", "/v1/sessions/{}/end", ROLE_ADMIN, ORDER_MAX, routes_session_end,
	  routes_page_is_on, false },
	{ "GET", "/page/{}/{}", ROLE_ANYBODY, 0, routes_page_file, routes_page_is_on, true },
};

void routes_set(struct api_options *options)
{
	options->routes = routes;
	options->n_routes = ARRAY_SIZE(routes);
	options->session = routes_session_identify;
}
