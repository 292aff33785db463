/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/actor.h"

#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/action.h"
#include "controller/actions/action_step.h"
#include "controller/actions/actor_env.h"
#include "controller/actions/actor_queue.h"
#include "controller/actions/admissions.h"
#include "controller/actions/decider.h"
#include "controller/actions/effect.h"
#include "controller/actions/ledger_sync.h"
#include "controller/actions/node_life.h"
#include "controller/actions/node_record.h"
#include "controller/actions/node_views.h"
#include "controller/actions/out_of_band.h"
#include "controller/actions/paired.h"
#include "controller/actions/reports.h"
#include "controller/actions/reservation.h"
#include "controller/actions/retest.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/policy/fleet.h"

struct actor {
	struct actor_options options;
	struct actor_env env; /* connects the members below */
	struct actor_queue queue;
	struct cluster_watcher watcher;
	struct fleet fleet;
	struct node_views views;
	struct node_records records;
	struct reservation places;
	struct actions actions;
	struct reports reports;
	struct decider decider;
	struct actor_counts counts;
	bool news;	/* env_news() */
	bool finishing; /* actor_finish() */
};

const struct actor_env *actor_env(const struct actor *actor)
{
	return &actor->env;
}

/* --- cluster notifications --- */

static bool on_node(struct actor *actor, struct actor_event *event)
{
	const struct actor_env *env = &actor->env;
	const struct node_views_change change = node_views_put(env, &event->node);
	struct node_view *view = change.view;
	const struct action *a = actions_of(view);

	if (!view->node)
		log_warning("too many nodes: one is ignored node=%s", view->name);
	reports_take_early(&actor->reports, env, view->name);
	node_views_set_coming(env, view, a && action_reserves(a->kind));
	node_views_refresh(env, view);
	out_of_band_look(env, view);
	if (change.news)
		env_news(env);
	/* Its admissions have changed: tell its agent, so that it need not ask first. */
	if (change.was_ours != (view->c.mark != NULL))
		env_orders_changed(env, view->name);
	return false;
}

static void drop(struct actor *actor, struct node_view *host)
{
	const struct actor_env *env = &actor->env;
	struct fleet_node *node = fleet_find(env->fleet, host->name);

	retest_drop(env, host);
	if (node)
		fleet_remove(env->fleet, node);
	node_life_drop(env, host->name);
	reports_drop(&actor->reports, host->name);
	admissions_drop(host);
	node_views_drop(env->views, host);
	env_news(env);
	reservation_want_reconcile(env->places);
	env_commit_wanted(env);
}

static bool on_gone(struct actor *actor, struct actor_event *event)
{
	struct node_view *host = node_views_find(&actor->views, event->about.node);

	if (host && host->known)
		drop(actor, host);
	return false;
}

/* Drop the hosts that the list did not name. */
static void drop_unlisted(struct actor *actor)
{
	struct node_view *host;

	while ((host = node_views_unlisted(&actor->views)))
		drop(actor, host);
}

/* Hosts that report but are not nodes of the cluster are never acted on. */
static void drop_strangers(const struct actor_env *env)
{
	size_t i;

	for (i = env->fleet->n; i-- > 0;) {
		struct fleet_node *node = env->fleet->nodes[i];

		if (!node_views_there(env->views, node->name))
			fleet_remove(env->fleet, node);
	}
}

static void take_over(struct actor *actor)
{
	actor->env.stage = STAGE_LEDGER;
	ledger_sync_take_over(&actor->env);
}

static bool on_synced(struct actor *actor, struct actor_event *event UNUSED)
{
	drop_unlisted(actor);
	drop_strangers(&actor->env);
	node_views_synced(&actor->views);
	env_news(&actor->env);
	if (actor->env.stage == STAGE_LISTING)
		take_over(actor);
	return false;
}

/* Drop decisions that were not sent yet; they are made again once the nodes are known. */
static bool on_stale(struct actor *actor, struct actor_event *event)
{
	struct fleet *fleet = &actor->fleet;

	if (event->words)
		log_error("not acting: no host is cordoned or released: %s", event->words);
	else if (fleet->stale)
		log_info("acting again: the nodes of the cluster are known");
	if (!fleet->stale)
		actor->decider.stale_us = env_mono_us(&actor->env);
	free(fleet->stale);
	fleet->stale = TAKE(event->words);
	env_news(&actor->env);
	return false;
}

/* --- blames by jobs --- */

static bool on_blame(struct actor *actor, struct actor_event *event)
{
	struct fleet_node *node = fleet_find(&actor->fleet, event->about.node);

	if (!node)
		return false;
	fleet_set_blame(node, &event->blame);
	env_news(&actor->env);
	env_wake(&actor->env, 0); /* decide although no report arrives */
	return false;
}

static bool on_blames_told(struct actor *actor, struct actor_event *event UNUSED)
{
	actor->env.blames_told = true;
	actor->fleet.awaits_blames = false;
	env_news(&actor->env);
	return false;
}

/* --- cluster answers --- */

static bool on_applied(struct actor *actor, struct actor_event *event)
{
	const struct actor_env *env = &actor->env;
	struct action *a = actions_find(&actor->actions, event->about.action);

	if (!a || !a->out)
		return false;
	switch (action_answered(env, a, &event->answer)) {
	case ACTION_ANSWER_DONE:
		action_step_done(env, a);
		break;
	case ACTION_ANSWER_WAITS:
		action_step_wait(env, a);
		break;
	case ACTION_ANSWER_TAKEN:
		break;
	}
	return false;
}

static bool on_tried(struct actor *actor, struct actor_event *event)
{
	action_dry_run_answered(&actor->env, event->about.action, &event->answer);
	return false;
}

static bool on_jobs(struct actor *actor, struct actor_event *event)
{
	node_views_put_jobs(&actor->env, event->about.node, &event->answer);
	return false;
}

static bool on_confirmed(struct actor *actor, struct actor_event *event)
{
	const struct actor_env *env = &actor->env;
	const bool done = event->answer.result == CLUSTER_DONE;

	reservation_answered(env->places, done);
	if (done)
		action_step_drop_unfit(env);
	else
		actions_not_confirmed(env, &event->answer);
	return true;
}

void actor_fence(struct actor *actor)
{
	actor->env.stage = STAGE_FENCED;
	actor->counts.fenced = true;
}

/* Once our ledger stands for the first time: resume actions, and look for out-of-band changes. */
static void begin_acting(struct actor *actor)
{
	if (actor->env.stage != STAGE_LEDGER)
		return;
	actor->env.stage = STAGE_ACTING;
	env_news(&actor->env);
	action_step_resume(&actor->env);
	out_of_band_look_all(&actor->env);
}

static bool on_ledger_read(struct actor *actor, struct actor_event *event)
{
	const struct actor_env *env = &actor->env;
	struct reservation_news news;
	struct err err = ERR_INIT;

	switch (reservation_take_over(env->places, &event->answer, &event->ledger, env_mono_us(env),
				      &news, &err)) {
	case RESERVATION_READ:
		ledger_sync_adopt(env, &news);
		break;
	case RESERVATION_UNREADABLE:
		log_error("not acting: %s: fix or remove it, then restart", err.msg);
		actor_fence(actor);
		break;
	default:
		log_warning("the ledger: %s", err.msg);
		actor->env.stage = STAGE_LISTING; /* retried by the next tick */
	}
	return false;
}

static void on_taken(struct actor *actor, uint64_t epoch)
{
	log_error("another controller has taken over; this one no longer acts epoch=%" PRIu64
		  " its-epoch=%" PRIu64,
		  actor->places.ledger.epoch, epoch);
	actor_fence(actor);
	if (actor->options.fenced)
		actor->options.fenced(actor->options.context);
}

/* Somebody wrote the ledger: another controller, or a person who repaired it. */
static bool on_ledger_reread(struct actor *actor, struct actor_event *event)
{
	const struct actor_env *env = &actor->env;
	struct reservation_news news;
	struct err err = ERR_INIT;

	if (env->stage == STAGE_LEDGER) {
		reservation_write_ended(env->places);
		return on_ledger_read(actor, event); /* whoever takes over last owns it */
	}
	switch (reservation_reread(env->places, &event->answer, &event->ledger, env_mono_us(env),
				   &news, &err)) {
	case RESERVATION_READ:
		ledger_sync_adopt(env, &news);
		break;
	case RESERVATION_REMOVED:
		log_warning("the ledger was removed: writing it again");
		break;
	case RESERVATION_FENCED:
		on_taken(actor, event->ledger.ledger.epoch);
		break;
	default:
		log_warning("the ledger: %s", err.msg);
	}
	return false;
}

/* Returns true if places stand now, so that actions waiting for them can go on. */
static bool on_ledger_written(struct actor *actor, struct actor_event *event)
{
	const struct actor_env *env = &actor->env;

	switch (reservation_written(env->places, &event->answer, env_mono_us(env))) {
	case RESERVATION_WRITTEN:
		begin_acting(actor);
		return true;
	case RESERVATION_REREAD:
		actor->counts.conflicts++;
		ledger_sync_reread(env);
		return false;
	default:
		log_warning("the ledger: %s", event->answer.words);
		return false;
	}
}

/* --- controller events --- */

/* Answer whoever asked, now that everything is durable. */
static void leave_ended(const struct actor_env *env)
{
	struct action *a, *next;

	for (a = env->actions->first; a; a = next) {
		struct node_view *host;

		next = a->next;
		if (a->phase != PHASE_END || a->out)
			continue;
		host = action_leave(env, a);
		/* Out-of-band changes were not checked while it was in progress. */
		if (host)
			out_of_band_look(env, host);
	}
}

static bool on_committed(struct actor *actor, struct actor_event *event UNUSED)
{
	const struct actor_env *env = &actor->env;

	actions_note_recorded(env->actions);
	reports_take(&actor->reports, env, &actor->decider.admissions);
	leave_ended(env);
	return true;
}

static bool on_tick(struct actor *actor, struct actor_event *event UNUSED)
{
	const struct actor_env *env = &actor->env;

	if (env->stage == STAGE_LISTING && env->views->listed &&
	    env->places->again_us <= env_mono_us(env))
		take_over(actor);
	if (env->stage == STAGE_ACTING && ledger_sync_is_due(env)) {
		reservation_want_reconcile(env->places);
		ledger_sync_flush(env);
		node_views_refresh_all(env);
		env_news(env);
	}
	retest_end_late(env);
	return true;
}

/* --- one step --- */

/* Event handlers. They return true if actions may have waited for the event. */
static bool (*const handlers[ACTOR_EVENTS_])(struct actor *actor, struct actor_event *event) = {
	[ACTOR_NODE] = on_node,
	[ACTOR_GONE] = on_gone,
	[ACTOR_SYNCED] = on_synced,
	[ACTOR_STALE] = on_stale,
	[ACTOR_APPLIED] = on_applied,
	[ACTOR_TRIED] = on_tried,
	[ACTOR_JOBS] = on_jobs,
	[ACTOR_CONFIRMED] = on_confirmed,
	[ACTOR_LEDGER_READ] = on_ledger_read,
	[ACTOR_LEDGER_REREAD] = on_ledger_reread,
	[ACTOR_LEDGER_WRITTEN] = on_ledger_written,
	[ACTOR_COMMITTED] = on_committed,
	[ACTOR_TICK] = on_tick,
	[ACTOR_BLAME] = on_blame,
	[ACTOR_BLAMES_TOLD] = on_blames_told,
};

/*
 * Advance actions before deciding: an order by a person without an external effect, such as a
 * silence, must count in the decisions of the same step.
 */
static void step(void *context, struct actor_event *event)
{
	struct actor *actor = context;

	if (handlers[event->kind](actor, event) && !actor->finishing)
		action_step_all(&actor->env);
	if (!actor->finishing && (event->kind == ACTOR_COMMITTED || event->kind == ACTOR_TICK))
		decider_run(&actor->decider, &actor->env);
	ledger_sync_flush(&actor->env);
}

static void put(struct actor *actor, enum actor_event_kind kind)
{
	actor_queue_put(&actor->queue, &(struct actor_event){ .kind = kind });
}

void actor_committed(struct actor *actor)
{
	put(actor, ACTOR_COMMITTED);
}

void actor_tick(struct actor *actor)
{
	if (actor->env.stage != STAGE_FENCED)
		put(actor, ACTOR_TICK);
}

static void node_told(void *context, const struct cluster_node *node)
{
	struct actor *actor = context;

	actor_queue_put(&actor->queue, &(struct actor_event){ .kind = ACTOR_NODE, .node = *node });
}

static void gone_told(void *context, const char *name)
{
	struct actor *actor = context;

	actor_queue_put(&actor->queue,
			&(struct actor_event){ .kind = ACTOR_GONE, .about.node = name });
}

static void synced_told(void *context)
{
	put(context, ACTOR_SYNCED);
}

static void stale_told(void *context, const char *words)
{
	struct actor *actor = context;

	actor_queue_put(&actor->queue, &(struct actor_event){ .kind = ACTOR_STALE,
							      .words = (char *)(uintptr_t)words });
}

const struct cluster_watcher actor_watcher = {
	.node = node_told, .gone = gone_told, .synced = synced_told, .stale = stale_told
};

/* --- begin and end --- */

static void forget(struct actor *actor)
{
	actions_release(&actor->actions);
	reports_release(&actor->reports);
	decider_release(&actor->decider, &actor->env);
	fleet_release(&actor->fleet);
	actor->fleet = (struct fleet){ 0 };
	reservation_release(&actor->places);
	node_views_release(&actor->views);
	node_records_release(&actor->records);
	actor_queue_restart(&actor->queue);
}

/* Start from what the store and the cluster have, after a start or a failure. */
static int begin(struct actor *actor, struct err *err)
{
	struct cluster *cluster = actor->options.cluster;
	int r = node_life_load(&actor->env, err);

	if (r == 0)
		r = actions_load(&actor->env, err);
	if (r < 0)
		return r;
	actor->env.stage = STAGE_LISTING;
	actor->env.blames_told = false;
	actor->fleet.tells_jobs = cluster->ops->jobs != NULL;
	actor->fleet.awaits_blames = actor->options.blames;
	env_news(&actor->env);
	actor->watcher = actor_watcher;
	actor->watcher.context = actor;
	return cluster->ops->watch(cluster, &actor->watcher, err);
}

static void wire(struct actor *actor)
{
	actor->env = (struct actor_env){ .options = &actor->options,
					 .store = actor->options.store,
					 .cluster = actor->options.cluster,
					 .fleet = &actor->fleet,
					 .views = &actor->views,
					 .records = &actor->records,
					 .places = &actor->places,
					 .actions = &actor->actions,
					 .queue = &actor->queue,
					 .counts = &actor->counts,
					 .news = &actor->news };
	actor_queue_init(&actor->queue, step, actor);
	reservation_init(&actor->places, actor->options.keep_us);
	actor->records.store = actor->options.store;
}

int actor_open(const struct actor_options *options, struct actor **ret_actor, struct err *err)
{
	CLEANUP(actor_closep) struct actor *actor = xcalloc(1, sizeof(*actor));
	int r;

	actor->options = *options;
	wire(actor);
	r = begin(actor, err);
	if (r < 0)
		return r;
	*ret_actor = TAKE(actor);
	return 0;
}

void actor_failed(struct actor *actor)
{
	struct err err = ERR_INIT;

	if (actor->env.stage == STAGE_FENCED)
		return;
	forget(actor);
	if (begin(actor, &err) < 0)
		log_warning("not acting: the store cannot be read: %s", err.msg);
}

void actor_finish(struct actor *actor)
{
	actor->finishing = true;
}

void actor_stop(struct actor *actor)
{
	if (actor)
		forget(actor);
}

void actor_close(struct actor *actor)
{
	if (!actor)
		return;
	forget(actor);
	free(actor);
}

/* --- blames by jobs --- */

void actor_blame(struct actor *actor, const char *node, const struct blame *blame)
{
	const struct blame nothing = { 0 };

	if (actor->env.stage != STAGE_FENCED)
		actor_queue_put(&actor->queue,
				&(struct actor_event){ .kind = ACTOR_BLAME,
						       .about.node = node,
						       .blame = blame ? *blame : nothing });
}

void actor_blames_told(struct actor *actor)
{
	if (actor->env.stage != STAGE_FENCED)
		actor_queue_put(&actor->queue, &(struct actor_event){ .kind = ACTOR_BLAMES_TOLD });
}

void actor_want_jobs(struct actor *actor, const char *node)
{
	struct node_view *host = node_views_find(actor->env.views, node);

	if (host && actor->env.stage == STAGE_ACTING)
		node_views_want_jobs(&actor->env, host);
}

const struct fleet *actor_fleet(const struct actor *actor)
{
	return &actor->fleet;
}

/* --- reports and tests --- */

void actor_report(struct actor *actor, const struct report *report, uint64_t at_us,
		  unsigned replaced, bool fresh, bool unverified)
{
	if (actor->env.stage != STAGE_FENCED)
		reports_add(&actor->reports, &actor->env, report,
			    &(struct reports_arrival){ at_us, replaced, fresh, unverified });
}

json_t *actor_order(struct actor *actor, const char *node)
{
	return retest_order(&actor->env, node);
}

bool actor_wants_others(struct actor *actor, struct actor_wanted *ret)
{
	return retest_wants_others(&actor->env, ret);
}

void actor_tested_with_others(struct actor *actor, const char *node, int outcome)
{
	retest_answered_with_others(&actor->env, node, outcome);
}

int actor_paired(struct actor *actor, const struct actor_paired *paired, struct err *err)
{
	return paired_note(&actor->env, paired, err);
}

/* --- queries --- */

bool actor_knows(const struct actor *actor)
{
	return actor->env.stage == STAGE_ACTING || actor->env.stage == STAGE_FENCED;
}

const char *actor_in_use(const struct actor *actor, const char *node)
{
	const struct fleet_node *n = fleet_find(&actor->fleet, node);
	const char *stopped = cluster_stopped(actor->options.cluster);
	const struct action *test;

	if (stopped)
		return stopped;
	if (actor->env.stage == STAGE_FENCED)
		return "another controller has taken over";
	if (actor->fleet.stale)
		return actor->fleet.stale; /* a job may have started there */
	if (!n)
		return NULL; /* it reports, but is not a node of the cluster: nothing is known */
	if (n->hands_off)
		return n->hands_off;
	if (n->n_jobs > 0)
		return "a job runs on it";
	test = actions_test_of(node_views_find(&actor->views, node));
	return test && !test->partner ? "another test of this host is running" : NULL;
}

const json_t *actor_labels(const struct actor *actor, const char *node)
{
	const struct node_view *view = node_views_find(&actor->views, node);

	return view ? view->c.labels : NULL;
}

const char *actor_address(const struct actor *actor, const char *node)
{
	const struct node_view *view = node_views_find(&actor->views, node);

	return view ? view->c.address : NULL;
}

char *actor_cordoned(const struct actor *actor, const char *node)
{
	const struct node_view *view = node_views_there(&actor->views, node);

	return view && view->c.mark ? xstrdup(view->c.mark->reason) : NULL;
}

char *actor_let_in(const struct actor *actor, const char *node)
{
	const struct node_view *host = node_views_find(&actor->views, node);

	return host ? xstrdup(host->admission.let_in) : NULL;
}

const char *actor_stale(const struct actor *actor)
{
	return actor->fleet.stale;
}

struct actor_counts actor_counts(const struct actor *actor)
{
	struct actor_counts counts = actor->counts;

	counts.under_way = actor->actions.n;
	counts.breaker_open = actor->places.ledger.breaker.open;
	counts.stale = actor->fleet.stale != NULL;
	return counts;
}
