/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/job_live.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/actions/actor.h"
#include "controller/actions/remediation.h"
#include "controller/cluster/cluster.h"
#include "controller/controller.h"
#include "controller/job/accusers.h"
#include "controller/job/advice.h"
#include "controller/job/diagnosing.h"
#include "controller/job/diagnosis_plan.h"
#include "controller/job/diagnosis_rerun.h"
#include "controller/job/investigating.h"
#include "controller/job/job_advice.h"
#include "controller/job/job_judging.h"
#include "controller/job/job_loads.h"
#include "controller/job/job_prediction.h"
#include "controller/job/job_view.h"
#include "controller/job/plan_gains.h"
#include "controller/store/store.h"
#include "controller/store/store_advices.h"
#include "controller/store/store_investigations.h"
#include "controller/store/store_jobs.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/policy/fleet.h"

#define ACQUITTED "AssayHostAcquitted"

enum { NEWS_MAX = 256 }; /* between two commits; further ones are only shown */

/* A job with suspects. */
struct live_job {
	int64_t id;
	uint64_t tested; /* hosts being tested for it */
};

/* The most severe blame of a host by jobs. */
struct live_host {
	char *name;
	struct blame blame; /* its job is owned */
};

/* A new suspect, an acquittal, or a message to the owner of a job. */
struct live_news {
	char *node, *job; /* one of them; the other is NULL */
	char *words;
	const char *reason; /* of the Event; static */
	bool warning;
	uint64_t after_us; /* for an acquittal: time since the suspicion */
};

struct job_live {
	struct service *s;
	struct live_job *jobs;
	size_t n;
	size_t left;	  /* in the current round, jobs before this index are still to be judged */
	struct map hosts; /* struct live_host: the last result */
	struct map told;  /* struct live_host: as the actor was told */
	struct live_news *news;
	size_t n_news;
	struct investigating investigating;
	struct job_live_counts counts;
	struct accusers accusers; /* over all stored jobs */
	struct job_speeds *speeds;
	struct job_loads loads;
	const struct trace_files *files;
	struct plan_gains gains;
	bool distrusted[BLAME_CLASSES]; /* over all jobs: job_prediction_distrusted() */
	bool read;			/* the stored jobs are loaded */
	bool found;			/* `hosts` has changed, durable with the next commit */
	bool all_told;			/* the actor was told that this is complete */
	bool advised;			/* the same for a change of advice */
	uint64_t due_us;		/* monotonic */
	uint64_t answered;		/* tests answered when the last round began */
};

struct job_live_counts job_live_counts(const struct job_live *live)
{
	return live->counts;
}

struct job_live *job_live_new(struct service *s, struct job_speeds *speeds,
			      const struct trace_files *files)
{
	struct job_live *live = xcalloc(1, sizeof(*live));

	live->s = s;
	live->files = files;
	live->speeds = speeds;
	return live;
}

static void host_release(void *item)
{
	struct live_host *host = item;

	blame_release(&host->blame);
}

static void forget_news(struct job_live *live)
{
	while (live->n_news > 0) {
		const struct live_news *news = &live->news[--live->n_news];

		free(news->node);
		free(news->job);
		free(news->words);
	}
}

void job_live_free(struct job_live *live)
{
	if (!live)
		return;
	forget_news(live);
	free(live->news);
	accusers_release(&live->accusers);
	job_loads_release(&live->loads);
	plan_gains_release(&live->gains);
	map_release(&live->hosts, host_release);
	map_release(&live->told, host_release);
	free(live->jobs);
	free(live);
}

void job_live_failed(struct job_live *live)
{
	forget_news(live);
	accusers_release(&live->accusers);
	job_loads_release(&live->loads);
	plan_gains_release(&live->gains);
	map_release(&live->hosts, host_release);
	map_release(&live->told, host_release);
	live->n = live->left = 0;
	live->read = live->found = live->all_told = live->advised = false;
	investigating_failed(&live->investigating);
	live->due_us = 0;
}

/* --- list of jobs --- */

static struct live_job *find(struct job_live *live, int64_t job)
{
	size_t i;

	for (i = 0; i < live->n; i++) {
		if (live->jobs[i].id == job)
			return &live->jobs[i];
	}
	return NULL;
}

static struct live_job *need(struct job_live *live, int64_t job)
{
	struct live_job *one = find(live, job);

	if (one)
		return one;
	live->jobs = xrealloc(live->jobs, live->n + 1, sizeof(*live->jobs));
	live->jobs[live->n] = (struct live_job){ .id = job };
	return &live->jobs[live->n++];
}

static void leave(struct job_live *live, int64_t job)
{
	const struct job_judge_result none = { .n = 0 };
	struct live_job *one = find(live, job);

	job_loads_take(&live->loads, job, &none, 0);
	plan_gains_forget(&live->gains, job);
	if (one)
		*one = live->jobs[--live->n];
}

static void take_job(void *context, int64_t job)
{
	(void)need(context, job);
}

static void take_accused(void *context, int64_t job, const json_t *accused)
{
	struct job_live *live = context;

	accusers_set(&live->accusers, job, accused);
}

/* --- one job --- */

struct views {
	struct job_window windows[JOB_SUSPECTS_WINDOWS];
	json_t *summaries[JOB_SUSPECTS_WINDOWS];
	size_t n;
	struct job_suspects suspects;
};

static void views_free(struct views **views)
{
	size_t i;

	job_suspects_release(&(*views)->suspects);
	for (i = 0; i < (*views)->n; i++)
		json_decref((*views)->summaries[i]);
	free(*views);
}

static void add_window(void *context, const struct store_trace_window *w)
{
	struct views *v = context;
	json_t *summary = w->summary ? json_loads(w->summary, 0, NULL) : NULL;

	if (v->n == JOB_SUSPECTS_WINDOWS || !summary) {
		json_decref(summary);
		return;
	}
	v->summaries[v->n] = summary;
	v->windows[v->n++] = (struct job_window){ .summary = summary,
						  .id = w->id,
						  .run = w->run,
						  .from_us = w->from_us,
						  .until_us = w->until_us,
						  .received_us = w->received_us };
}

static uint64_t tested_for_others(const struct job_live *live, int64_t job)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < live->n; i++)
		n += live->jobs[i].id == job ? 0 : live->jobs[i].tested;
	return n;
}

/* Copies what it borrows. */
static void add_blame(struct job_live *live, const char *node, const struct blame *blame)
{
	struct live_host *host = map_need(&live->hosts, node, sizeof(*host));

	if (!blame_is_harder(blame, &host->blame))
		return;
	blame_release(&host->blame);
	host->blame = blame_copy(blame);
}

/* Once per window: compute the gains for the hosts it blames. */
static void learn_gains(struct job_live *live, const struct job_judging_input *in,
			const struct job_judged *judged)
{
	CLEANUP(json_freep) json_t *hosts = json_array();
	struct blame blame;
	size_t i;

	for (i = 0; i < judged->result.n; i++) {
		const struct job_judge_item *item = &judged->result.items[i];

		if (job_judging_blame(in, judged, item, &blame))
			json_insert_text(hosts, item->host->name);
	}
	for (i = 0; i < judged->n_owed; i++)
		json_insert_text(hosts, judged->owed[i].host);
	if (in->n > 0)
		plan_gains_learn(&live->gains, live->files, in->id, in->windows[0].id, hosts);
}

static void add_blames(struct job_live *live, const struct job_judging_input *in,
		       const struct job_judged *judged, json_t *diagnosed)
{
	struct blame blame;
	const char *node;
	json_t *asked;
	size_t i;

	learn_gains(live, in, judged);
	for (i = 0; i < judged->result.n; i++) {
		const struct job_judge_item *item = &judged->result.items[i];

		if (!job_judging_blame(in, judged, item, &blame))
			continue;
		blame.gain = plan_gains_of(&live->gains, in->id, item->host->name);
		add_blame(live, item->host->name, &blame);
	}
	for (i = 0; i < judged->n_owed; i++) {
		blame = judged->owed[i].blame;
		blame.gain = plan_gains_of(&live->gains, in->id, judged->owed[i].host);
		add_blame(live, judged->owed[i].host, &blame);
	}
	json_object_foreach(diagnosed, node, asked)
	{
		blame = diagnosing_blame(in, asked);
		add_blame(live, node, &blame);
	}
}

static struct live_news *new_news(struct job_live *live, const char *reason)
{
	if (live->n_news == NEWS_MAX)
		return NULL;
	live->news = xrealloc(live->news, live->n_news + 1, sizeof(*live->news));
	live->news[live->n_news] = (struct live_news){ .reason = reason };
	return &live->news[live->n_news++];
}

static void add_one_news(struct job_live *live, const struct job_judge_item *item,
			 const char *reason, uint64_t after_us)
{
	struct live_news *news = new_news(live, reason);

	if (!news)
		return;
	news->node = xstrdup(item->host->name);
	news->words = xstrdup(item->sentence);
	news->warning = !streq(reason, ACQUITTED);
	news->after_us = after_us;
}

/* Only the owner of the job is told. */
static void inform_owner(struct job_live *live, const char *job, const json_t *view)
{
	const json_t *decision = json_object_get(view, "decision");
	const char *sentence = json_string_value(json_object_get(view, "sentence"));
	struct live_news *news = new_news(live, "AssayJobSlow");

	if (!news)
		return;
	news->job = xstrdup(job);
	news->words = xasprintf(
		"%s takes %.2f times as long as it should, and no host is to blame: %s (%s)", job,
		json_number_value(json_object_get(view, "slowdown")), sentence ? sentence : "",
		json_string_value(json_object_get(decision, "reason")));
}

/* Reported once per suspicion or acquittal. */
static void add_news(struct job_live *live, const struct job_judging_input *in,
		     const struct job_judged *judged)
{
	size_t i;

	for (i = 0; i < judged->result.n; i++) {
		const struct job_judge_item *item = &judged->result.items[i];

		if (judged->fresh[item->suspect - in->suspects->list.items])
			add_one_news(live, item, "AssayHostSuspected", 0);
	}
	for (i = 0; i < judged->n_acquitted; i++)
		add_one_news(live, judged->acquitted[i].item, ACQUITTED,
			     judged->acquitted[i].after_us);
	for (i = 0; i < judged->n_disputed; i++)
		add_one_news(live, judged->disputed[i].item, "AssayHostDisputed", 0);
	for (i = 0; i < judged->n_silicon; i++)
		add_one_news(live, judged->silicon[i].item, "AssayHostSlow", 0);
}

/* Store it if it has changed. */
static int keep(struct job_live *live, int64_t job, const json_t *view, const json_t *before,
		struct err *err)
{
	CLEANUP(freep) char *text = NULL;
	const char *key;
	json_t *value;
	bool same = true;

	json_object_foreach((json_t *)(uintptr_t)view, key, value)
		same &= json_equal(value, json_object_get(before, key));
	if (same)
		return 0;
	text = json_line(view);
	service_touch(live->s);
	return store_show_job(live->s->store, job, text, err);
}

static json_t *view_of(const struct job_judging_input *in, const struct job_judged *judged,
		       bool rejected, uint64_t analysed)
{
	const struct job_view_input input = { .windows = in->windows,
					      .n = in->n,
					      .rejected = rejected,
					      .suspects = in->suspects,
					      .judged = &judged->result };
	json_t *view = job_view(&input);

	job_judging_note(in, judged, view);
	(void)json_object_set_new(view, "windows", json_integer((json_int_t)analysed));
	(void)json_object_set(view, "beats", json_object_get(in->before, "beats"));
	(void)json_object_set(view, "hang", json_object_get(in->before, "hang"));
	return view;
}

static void want_jobs(struct actor *act, const json_t *nodes)
{
	const json_t *node;
	size_t i;

	json_array_foreach(nodes, i, node) actor_want_jobs(act, json_string_value(node));
}

/* Without its windows. */
static struct job_judging_input input_of(const struct job_live *live, int64_t job,
					 const json_t *before)
{
	struct service *s = live->s;
	struct job_judging_input in = { .store = s->store,
					.fleet = actor_fleet(s->act),
					.hosts = &s->hosts,
					.policy = remediation_policy(s),
					.job = json_string_value(json_object_get(before, "job")),
					.before = before,
					.id = job,
					.accusers = &live->accusers,
					.speeds = live->speeds,
					.baselines = &s->baselines,
					.loads = live->loads.all,
					.n_loads = live->loads.n,
					.under_way = tested_for_others(live, job),
					.stopped = cluster_stopped(s->cluster) != NULL,
					.now_us = clock_real_us() };

	memcpy(in.distrusted, live->distrusted, sizeof(in.distrusted));
	return in;
}

static void now_release(struct diagnosing_now *now)
{
	json_decref(now->asked);
}

static int judge(struct job_live *live, int64_t job, const struct views *views, bool rejected,
		 const json_t *before, uint64_t analysed, struct err *err)
{
	struct service *s = live->s;
	struct job_judging_input in = input_of(live, job, before);
	CLEANUP(now_release) struct diagnosing_now diagnosed = { .open = false };
	CLEANUP(job_judging_release) struct job_judged judged = { .n_hosts = 0 };
	CLEANUP(json_freep) json_t *view = NULL, *asked = json_array();
	int64_t open = 0;
	int advised, r;

	in.asked = asked;
	in.windows = views->windows;
	in.n = views->n;
	in.suspects = &views->suspects;
	r = job_judging_do(&in, &judged, err);
	if (r == 0)
		r = investigating_step(&live->investigating, s, job, &in, &judged, &open, err);
	if (r == 0 && open)
		r = diagnosing_step(&live->investigating, s, &in, open, &diagnosed, err);
	if (r == 0)
		r = diagnosis_rerun_check(s, &in, err);
	in.diagnosed = diagnosed.open || diagnosed.advised;
	if (r < 0)
		return r;
	view = view_of(&in, &judged, rejected, analysed);
	(void)json_object_set_new(view, "investigation", open ? json_integer(open) : json_null());
	advised = job_advice_judged(&in, &judged, job, view, err);
	if (advised < 0)
		return advised;
	if (advised & JOB_ADVICE_WROTE)
		service_touch(s);
	live->advised |= (advised & JOB_ADVICE_NEWS) != 0 || diagnosed.advised;
	want_jobs(s->act, asked);
	add_blames(live, &in, &judged, diagnosed.asked);
	add_news(live, &in, &judged);
	if (job_view_informs(view, before))
		inform_owner(live, in.job, view);
	if (!json_equal(judged.accused, json_object_get(before, "accused")))
		accusers_set(&live->accusers, job, judged.accused);
	job_loads_take(&live->loads, job, &judged.result, in.now_us);
	if (views->suspects.list.n > 0 || open || advised & JOB_ADVICE_UNDER_WAY)
		need(live, job)->tested = judged.tested;
	else
		leave(live, job);
	return keep(live, job, view, before, err);
}

static int show(struct job_live *live, int64_t job, const bool *rejected, struct err *err)
{
	CLEANUP(views_free) struct views *views = xcalloc(1, sizeof(*views));
	CLEANUP(json_freep) json_t *before = NULL;
	uint64_t n[WINDOW_STATES];
	bool was;
	int r = store_job(live->s->store, job, &before, err);

	if (r == 0)
		r = store_analysed_windows(live->s->store, job, JOB_SUSPECTS_WINDOWS, add_window,
					   views, err);
	if (r == 0)
		r = store_count_trace_windows(live->s->store, job, n, err);
	if (r < 0)
		return r;
	job_suspects_read(views->windows, views->n, &live->s->rules.policy.jobs, before,
			  clock_real_us(), &views->suspects);
	was = streq(json_string_value(json_object_get(before, "state")), "rejected");
	return judge(live, job, views, rejected ? *rejected : was, before, n[WINDOW_ANALYSED], err);
}

static int learn_trust(struct job_live *live, struct err *err)
{
	return job_prediction_distrusted(live->s->store, &remediation_policy(live->s)->jobs,
					 live->distrusted, err);
}

int job_live_show(struct job_live *live, int64_t job, bool rejected, struct err *err)
{
	int r = learn_trust(live, err);

	live->due_us = 0; /* tell its blames soon, together with those of others */
	if (r == 0)
		r = show(live, job, &rejected, err);
	if (r == -ENOENT)
		leave(live, job); /* a window of it was left behind */
	return r == -ENOENT ? 0 : r;
}

/* --- all jobs --- */

/* Tell the actor what has changed. Hosts may have left and come back since they were reported. */
static void tell_host(void *context, void *item)
{
	struct job_live *live = context;
	const struct live_host *host = item;
	const struct fleet_node *node = fleet_find(actor_fleet(live->s->act), host->name);
	struct live_host *told = map_need(&live->told, host->name, sizeof(*told));

	blame_release(&told->blame);
	told->blame = blame_copy(&host->blame);
	if (node && !blame_equals(&node->blame, &host->blame))
		actor_blame(live->s->act, host->name, &host->blame);
}

struct gone {
	struct job_live *live;
	struct map *left; /* hosts still blamed */
};

static void take_back(void *context, void *item)
{
	struct gone *gone = context;
	const struct live_host *host = item;

	if (map_find(&gone->live->hosts, host->name))
		(void)map_need(gone->left, host->name, sizeof(*host));
	else
		actor_blame(gone->live->s->act, host->name, NULL);
}

/* Best effort, as all reports to the cluster. */
static void tell_news(struct job_live *live)
{
	struct cluster *cluster = live->s->cluster;
	size_t i;

	for (i = 0; i < live->n_news; i++) {
		const struct live_news *news = &live->news[i];

		cluster->ops->event(cluster, &(struct cluster_event){ .node = news->node,
								      .job = news->job,
								      .reason = news->reason,
								      .message = news->words,
								      .warning = news->warning });
		if (news->job)
			log_info("telling the owner job=%s: %s", news->job, news->words);
		live->counts.acquittals += streq(news->reason, ACQUITTED);
		live->counts.acquittal_us += news->after_us;
	}
	forget_news(live);
}

static void tell(struct job_live *live)
{
	struct map left = { 0 };
	struct gone gone = { live, &left };

	map_each(&live->told, take_back, &gone);
	map_release(&live->told, host_release);
	live->told = left;
	map_each(&live->hosts, tell_host, live);
	tell_news(live);
	live->found = false;
	if (live->all_told)
		return;
	actor_blames_told(live->s->act);
	live->all_told = true;
}

static int read_jobs(struct job_live *live, struct err *err)
{
	struct store *store = live->s->store;
	int r;

	if (live->read)
		return 0;
	r = store_jobs_with_suspects(store, take_job, live, err);
	if (r == 0)
		r = store_jobs_investigated(store, take_job, live, err);
	if (r == 0)
		r = store_jobs_that_accuse(store, take_accused, live, err);
	if (r == 0)
		r = store_jobs_advised(store, ADVICE_STOP, take_job, live, err);
	live->read = r == 0;
	return r;
}

/* Number of tests answered or timed out since the start. */
static uint64_t count_answered(const struct job_live *live)
{
	const struct actor_counts counts = actor_counts(live->s->act);

	return counts.tests_answered + counts.tests_lost;
}

static bool begin_round(struct job_live *live)
{
	struct err err = ERR_INIT;

	live->answered = count_answered(live);
	if (read_jobs(live, &err) < 0 || (live->n > 0 && learn_trust(live, &err) < 0)) {
		log_warning("jobs cannot be judged: %s", err.msg);
		return false;
	}
	map_release(&live->hosts, host_release);
	live->hosts = (struct map){ 0 };
	job_loads_look(&live->loads, actor_fleet(live->s->act));
	live->left = live->n;
	return true;
}

/*
 * Goes from the last to the first: a job without suspects is removed, and the last one takes its
 * place. Jobs added during the round are judged when they come (job_live_show()).
 */
static void judge_some(struct job_live *live)
{
	struct err err = ERR_INIT;
	unsigned i;
	int r = 0;

	live->left = MIN(live->left, live->n);
	for (i = 0; r == 0 && live->left > 0 && i < JOB_LIVE_AT_ONCE; i++) {
		const int64_t job = live->jobs[--live->left].id;

		r = show(live, job, NULL, &err);
		if (r == -ENOENT) {
			leave(live, job);
			r = diagnosing_gone(&live->investigating, live->s, job, &err);
			if (r == 0)
				r = investigating_gone(&live->investigating, live->s, job, &err);
		}
	}
	if (r < 0) {
		log_warning("jobs cannot be judged: %s", err.msg);
		live->left = 0;
		return;
	}
	live->found = live->left == 0;
}

/* Nothing can be said about hosts that are not known yet. */
static bool may_judge(const struct job_live *live)
{
	return !live->s->closing && !live->s->failing && !remediation_other(live->s) &&
	       actor_knows(live->s->act);
}

void job_live_committing(struct job_live *live)
{
	if (!may_judge(live) || live->left > 0 || live->answered == count_answered(live))
		return;
	live->due_us = clock_mono_us() + JOB_LIVE_EVERY_US;
	if (begin_round(live))
		judge_some(live);
}

void job_live_committed(struct job_live *live)
{
	const uint64_t now_us = clock_mono_us();

	investigating_committed(&live->investigating);
	if (!may_judge(live))
		return;
	if (live->found)
		tell(live);
	if (live->advised)
		controller_wake_advice(live->s);
	live->advised = false;
	if (live->left == 0) {
		if (now_us < live->due_us)
			return;
		live->due_us = now_us + JOB_LIVE_EVERY_US;
		if (!begin_round(live))
			return;
	}
	judge_some(live);
	if (live->left > 0)
		service_touch(live->s); /* the next ones */
	else if (live->found && !store_dirty(live->s->store))
		tell(live);
}

/* --- investigations --- */

int job_live_cancel(struct job_live *live, int64_t investigation, const char *who,
		    const char *reason, json_t **ret, struct err *err)
{
	int advised, r;

	/* Discard the results: all jobs are judged again soon. */
	live->found = false;
	live->left = 0;
	live->due_us = 0;
	r = investigating_cancel(&live->investigating, live->s, investigation, who, reason, ret,
				 err);
	if (r != 0)
		return r;
	advised = diagnosing_withdrawn(live->s, *ret, err);
	live->advised |= advised > 0;
	return MIN(advised, 0);
}

int job_live_diagnose(struct job_live *live, int64_t job, const struct diagnosis_ask *ask,
		      json_t **ret, struct err *err)
{
	CLEANUP(json_freep) json_t *before = NULL;
	struct job_judging_input in;
	int r = store_job(live->s->store, job, &before, err);

	if (r < 0)
		return r;
	in = input_of(live, job, before);
	r = diagnosis_plan_begin(&live->investigating, live->s, &in, ask, ret, err);
	if (r == 0 && json_is_integer(json_object_get(*ret, "id"))) {
		(void)need(live, job);
		live->due_us = 0;
	}
	return r;
}

const uint64_t *job_live_investigations(const struct job_live *live)
{
	return live->investigating.counts;
}
