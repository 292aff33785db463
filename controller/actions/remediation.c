/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/remediation.h"

#include <errno.h>
#include <fnmatch.h>

#include "controller/actions/actor.h"
#include "controller/cluster/cluster.h"
#include "controller/cluster/embedded/cluster_embedded.h"
#include "controller/controller.h"
#include "controller/fleet/findings_fleet.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/report/report.h"

#define TICK_US USEC_PER_SEC
/* Places whose nodes do not show them yet may belong to another controller at work. */
#define KEEP_US USEC_PER_MIN

static void touch(void *context)
{
	service_touch(context);
}

static void wake(void *context, uint64_t after_us)
{
	controller_wake_parts(context, after_us);
}

static void look(void *context, const char *node)
{
	controller_wake_orders(context, node);
}

static const char *wrong_file(void *context)
{
	const struct service *s = context;

	return anomalies_file(&s->baselines.anomalies);
}

static void forgive_file(void *context)
{
	struct service *s = context;

	anomalies_forgive_file(&s->baselines.anomalies);
}

static void repaired(void *context, const char *node)
{
	struct service *s = context;

	baselines_forget(&s->baselines, node);
}

static void share(void *context, const struct fleet *fleet)
{
	struct service *s = context;
	struct err err = ERR_INIT;

	if (findings_share(s->store, &s->baselines.anomalies, fleet, clock_real_us(), &err) < 0)
		log_warning("cannot record what hosts share: %s", err.msg);
}

static bool is_embedded(const struct service *s)
{
	return s->settings->cluster == CLUSTER_EMBEDDED;
}

/* Another controller has taken over: exit, to be restarted as a standby. */
static void fenced(void *context)
{
	struct service *s = context;

	if (!is_embedded(s))
		(void)sd_event_exit(s->loop, 1);
}

static uint64_t real_us(void *context UNUSED)
{
	return clock_real_us();
}

static uint64_t mono_us(void *context UNUSED)
{
	return clock_mono_us();
}

const struct policy *remediation_policy(struct service *s)
{
	s->policy = s->rules.policy;
	s->policy.mode = MIN(s->settings->mode, s->rules.policy.mode);
	return &s->policy;
}

static const struct policy *policy_of(void *context)
{
	return remediation_policy(context);
}

/* All matching labels; on equal keys the later one wins. */
static json_t *labels_of(void *context, const char *node)
{
	struct service *s = context;
	json_t *labels = json_object();
	size_t i;

	for (i = 0; i < json_array_size(s->settings->labels); i++) {
		const json_t *one = json_array_get(s->settings->labels, i);
		const char *glob = json_string_value(json_object_get(one, "nodes"));

		if (glob && fnmatch(glob, node, 0) == 0)
			(void)json_object_update(labels, json_object_get(one, "labels"));
	}
	return labels;
}

static int on_tick(sd_event_source *source, uint64_t due_us UNUSED, void *context)
{
	struct service *s = context;

	if (!is_embedded(s))
		s->kubernetes->tick(s);
	actor_tick(s->act);
	controller_tick(s);
	service_touch(s); /* for requests that could not wait for a commit when they came */
	(void)sd_event_source_set_time_relative(source, TICK_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

const char *remediation_other(const struct service *s)
{
	return is_embedded(s) ? NULL : s->kubernetes->other(s);
}

bool remediation_leads(const struct service *s)
{
	return is_embedded(s) || s->kubernetes->leads(s);
}

static int open_cluster(struct service *s, struct err *err)
{
	const struct cluster_embedded_options embedded = {
		s->store, touch, labels_of, real_us, s, s->settings->kube.prefix
	};

	return is_embedded(s) ? cluster_embedded_open(&embedded, &s->cluster, err)
			      : s->kubernetes->open(s, &s->cluster, err);
}

static int open_actor(struct service *s, struct err *err)
{
	struct actor_options options = { .store = s->store,
					 .commit_wanted = touch,
					 .wake = wake,
					 .orders_changed = look,
					 .wrong_file = wrong_file,
					 .forgive_file = forgive_file,
					 .repaired = repaired,
					 .share = share,
					 .keep_us = is_embedded(s) ? 0 : KEEP_US,
					 .blames = true,
					 .fenced = fenced,
					 .real_us = real_us,
					 .mono_us = mono_us,
					 .policy = policy_of,
					 .context = s };
	int r = open_cluster(s, err);

	if (r < 0)
		return r;
	options.cluster = s->cluster;
	r = actor_open(&options, &s->act, err);
	if (r < 0)
		return r;
	r = sd_event_add_time_relative(s->loop, &s->act_timer, CLOCK_MONOTONIC, TICK_US,
				       USEC_PER_MSEC, on_tick, s);
	return r < 0 ? err_errno(err, -r, "event loop") : 0;
}

_Static_assert((int)LAST_COMMITS >= (int)ACTOR_LAST_COMMITS,
	       "stopping before the ledger was written");

static void stop(struct service *s)
{
	if (s->act)
		actor_finish(s->act);
}

static void close_actor(struct service *s)
{
	s->act_timer = sd_event_source_disable_unref(s->act_timer);
	actor_stop(s->act);
	cluster_close(TAKE(s->cluster)); /* answers waiting callers, who still exist */
	if (s->kubernetes)
		s->kubernetes->close(s);
	actor_close(TAKE(s->act));
}

static void committed(struct service *s)
{
	if (!s->act)
		return;
	if (is_embedded(s))
		cluster_embedded_committed(s->cluster, false);
	actor_committed(s->act);
}

static void failed(struct service *s)
{
	if (!s->act)
		return;
	actor_failed(s->act);
	if (is_embedded(s))
		cluster_embedded_committed(s->cluster, true);
}

void remediation_report(struct service *s, const struct report *report, uint64_t at_us, bool fresh)
{
	const struct host *host = hosts_find(&s->hosts, report->node);
	struct err err = ERR_INIT;

	/* With Kubernetes a host is a node only if the cluster says so. */
	if (is_embedded(s) && cluster_embedded_join(s->cluster, report->node, &err) < 0)
		log_warning("cannot add the host to the cluster yet: %s node=%s", err.msg,
			    report->node);
	actor_report(s->act, report, at_us, host ? host->replaced : 0, fresh,
		     host && host->unverified);
}

static void forgotten(struct service *s, const char *node)
{
	struct err err = ERR_INIT;

	if (is_embedded(s) && cluster_embedded_leave(s->cluster, node, &err) < 0)
		log_warning("cannot remove the host from the cluster: %s node=%s", err.msg, node);
}

const struct controller_part remediation_part = {
	.open = open_actor,
	.committed = committed,
	.failed = failed,
	.forgotten = forgotten,
	.stop = stop,
	.close = close_actor,
};
