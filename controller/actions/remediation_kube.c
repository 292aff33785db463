/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/remediation_kube.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/cluster/kube/cluster_kube.h"
#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_config.h"
#include "controller/cluster/kube/kube_jobs.h"
#include "controller/cluster/kube/kube_lease.h"
#include "controller/cluster/kube/kube_ledger.h"
#include "controller/controller.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

struct outside {
	struct kube_config config;
	struct kube *kube;
	struct kube_fence *fence;
	struct kube_ledger *ledger;
	struct kube_job_table jobs;
};

static int load(const struct settings *settings, struct kube_config *ret, struct err *err)
{
	int r = kube_config_load(settings->kubeconfig, ret, err);

	if (r == 0 && settings->kube.namespace) {
		free(ret->namespace);
		ret->namespace = xstrdup(settings->kube.namespace);
	}
	if (r == 0)
		ret->prefix = xstrdup(settings->kube.prefix);
	return r;
}

/* Job kinds from the settings; if there are none, only the built-in ones apply. */
static int load_jobs(const struct settings *settings, struct kube_job_table *ret, struct err *err)
{
	CLEANUP(json_freep)
	json_t *all = json_pack("{s:{s:O*}}", "kubernetes", "jobs", settings->kube.jobs);
	const char *file = settings->read_from ? settings->read_from : "controller.yaml";
	const struct jval root = jval_root(all, file);
	const struct jval section = jval_get(&root, "kubernetes");
	const struct jval jobs = jval_get(&section, "jobs");

	return settings->kube.jobs ? kube_job_table_decode(&jobs, ret, err) : 0;
}

static int check(const struct settings *settings, struct err *err)
{
	CLEANUP(kube_config_release) struct kube_config config = { 0 };
	struct kube_job_table jobs = { 0 };
	int r = load_jobs(settings, &jobs, err);

	kube_job_table_release(&jobs);
	return r == 0 ? load(settings, &config, err) : r;
}

static bool leads(void *context)
{
	const struct outside *o = context;

	return kube_fence_holds(o->fence);
}

static const char *stopped(void *context)
{
	const struct outside *o = context;

	if (!kube_fence_holds(o->fence))
		return "this controller does not hold the Lease assay-controller: another one "
		       "acts, or none does yet";
	return kube_ledger_stopped(o->ledger);
}

/* Leadership was gained: act at once, not with the next tick. */
static void gained(void *context, uint64_t epoch UNUSED)
{
	const struct service *s = context;

	cluster_kube_tick(s->cluster);
}

static void lost(void *context UNUSED, const char *why)
{
	log_error("stopping; nothing more is written: %s", why);
}

static int open_parts(struct service *s, struct outside *o, struct err *err)
{
	const struct kube_fence_options fence = { s->loop, NULL, gained, lost, s };
	struct kube_fence_options options = fence;
	int r = load_jobs(s->settings, &o->jobs, err);

	if (r == 0)
		r = load(s->settings, &o->config, err);
	if (r == 0)
		r = kube_open(s->loop, &o->config, &o->kube, err);
	options.kube = o->kube;
	if (r == 0)
		r = kube_fence_open(&options, &o->fence, err);
	return r == 0 ? kube_ledger_open(s->loop, o->kube, o->fence, &o->ledger, err) : r;
}

static int open_cluster(struct service *s, struct cluster **ret_cluster, struct err *err)
{
	const struct settings_kube *settings = &s->settings->kube;
	struct outside *o = s->outside = xcalloc(1, sizeof(*o));
	struct cluster_kube_options options = {
		.loop = s->loop,
		.selector = settings->selector,
		.jobs = &o->jobs,
		.taint = { settings->taint.key, settings->taint.value,
			   settings_taint_effect(&settings->taint) },
		.young_us = settings->young_us,
		.mono_us = clock_mono_us,
		.real_us = clock_real_us,
		.leads = leads,
		.stopped = stopped,
		.context = o,
	};
	int r = open_parts(s, o, err);

	if (r < 0)
		return r;
	options.kube = o->kube;
	options.ledger = o->ledger;
	*ret_cluster = cluster_kube_new(&options);
	return 0;
}

static void tick(struct service *s)
{
	cluster_kube_tick(s->cluster);
}

static void close_outside(struct service *s)
{
	struct outside *o = TAKE(s->outside);

	if (!o)
		return;
	kube_ledger_close(o->ledger);
	if (o->fence)
		kube_fence_yield(o->fence, &o->config);
	kube_fence_close(o->fence);
	kube_close(o->kube);
	kube_config_release(&o->config);
	kube_job_table_release(&o->jobs);
	free(o);
}

static const char *other(const struct service *s)
{
	const struct outside *o = s->outside;

	return o && o->fence ? kube_fence_other(o->fence) : NULL;
}

static bool leads_there(const struct service *s)
{
	const struct outside *o = s->outside;

	return o && o->fence && kube_fence_holds(o->fence);
}

const struct remediation_cluster remediation_kube = { .check = check,
						      .open = open_cluster,
						      .tick = tick,
						      .other = other,
						      .leads = leads_there,
						      .close = close_outside };
