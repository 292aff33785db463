/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes as the cluster has them, and what somebody did to them meanwhile. */
#include <search.h>
#include <stdlib.h>

#include "controller/actions/action_inside.h"
#include "controller/actions/node_view.h"
#include "controller/store/store.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"

static const char somebody[] = "somebody at the cluster";

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct act_host *)a)->name, ((const struct act_host *)b)->name);
}

struct act_host *act_host(const struct act *act, const char *node)
{
	CLEANUP(freep) char *name = xstrdup(node);
	struct act_host key = { .name = name };
	struct act_host **found = tfind(&key, &act->hosts, compare);

	return found ? *found : NULL;
}

struct act_host *act_need_host(struct act *act, const char *node)
{
	struct act_host *host = act_host(act, node);

	if (host)
		return host;
	host = xcalloc(1, sizeof(*host));
	host->name = xstrdup(node);
	if (!tsearch(host, &act->hosts, compare))
		abort(); /* out of memory */
	return host;
}

static void host_free(void *p)
{
	struct act_host *host = p;

	cluster_node_release(&host->c);
	free(host->name);
	free(host->let_in);
	startup_free(host->startup);
	free(host->sku);
	free(host);
}

void act_hosts_release(struct act *act)
{
	tdestroy(act->hosts, host_free);
	act->hosts = NULL;
}

struct walk {
	void (*each)(void *context, struct act_host *host);
	void *context;
};

static void walk_one(const void *at, VISIT visit, void *context)
{
	const struct walk *walk = context;

	if (visit == preorder || visit == leaf)
		walk->each(walk->context, *(struct act_host *const *)at);
}

void act_each_host(struct act *act, void (*each)(void *context, struct act_host *host),
		   void *context)
{
	struct walk walk = { each, context };

	twalk_r(act->hosts, walk_one, &walk);
}

/* Somebody else keeps it out of service, or another controller may be about to. */
static bool is_by_others(const struct act *act, const struct act_host *host)
{
	const uint64_t now_us = act_mono_us(act);

	return node_view_is_by_others(&host->c) ||
	       (!host->c.mark &&
		reservation_kept(&act->places, host->name, LEDGER_CORDON, now_us)) ||
	       (!host->c.hold_us && reservation_kept(&act->places, host->name, LEDGER_HOLD, now_us));
}

bool act_out_without(const struct act *act, const struct fleet_node *node)
{
	const struct act_host *host = act_host(act, node->name);

	return (node->out & ~(unsigned)(OUT_OTHERS | OUT_COMING)) || node->outside ||
	       (host && is_by_others(act, host));
}

void act_facts(struct act *act, const char *node)
{
	const struct act_host *host = act_host(act, node);
	struct fleet_node *n = fleet_find(&act->fleet, node);
	const struct policy *policy = act->options.policy(act->options.context);
	const struct doing *d;

	if (!host || !host->there || !n)
		return;
	d = doing_of(act, node);
	node_view_facts(&act->fleet, n, &host->c, policy->domain_label, is_by_others(act, host),
			d && kind_reserves(d->kind));
}

/* --- what the cluster is told --- */

static void tell(struct act *act, struct act_host *host)
{
	const struct policy *policy = act->options.policy(act->options.context);
	const struct fleet_node *node = fleet_find(&act->fleet, host->name);
	struct node_view_condition view;

	if (!host->there || !node ||
	    !node_view_tell(&host->c, node, policy, act_real_us(act), &host->told, &view))
		return;
	act->options.cluster->ops->condition(
		act->options.cluster,
		&(struct cluster_condition){ host->name, view.healthy, view.reason, view.message },
		&(struct cluster_call){ 0 });
	free(view.message);
}

void act_tell_condition(struct act *act, const char *node)
{
	struct act_host *host = act_host(act, node);

	if (host)
		tell(act, host);
}

static void tell_one(void *context, struct act_host *host)
{
	tell(context, host);
}

void act_tell_all(struct act *act)
{
	if (act->stage == STAGE_ACTING && act->options.cluster->ops->conditions)
		act_each_host(act, tell_one, act);
}

/* --- what somebody did --- */

/* Our cordon was lifted by hand: an order. Our marks go, by the one way back into service. */
static void find_uncordon(struct act *act, struct act_host *host)
{
	const struct policy *policy = act->options.policy(act->options.context);
	const struct doing_start start = {
		.node = host->name,
		.who = somebody,
		.reason = "it was made schedulable by hand",
		.until_us = act_real_us(act) + policy->override_us,
	};

	act->counts.overrides_found++;
	(void)doing_begin(act, ACT_UNCORDON, &start);
}

/* Our mark is gone, with or without the cordon: it is not ours any more. */
static void find_unmarked(struct act *act, struct act_host *host)
{
	const struct policy *policy = act->options.policy(act->options.context);
	const struct fleet_cause cause = {
		.event = EVENT_UNCORDONED,
		.who = somebody,
		.why = "our mark was taken off by hand",
		.until_us = act_real_us(act) + policy->override_us,
	};
	const struct doing_start start = {
		.node = host->name, .who = somebody, .reason = cause.why, .until_us = cause.until_us
	};

	act->counts.overrides_found++;
	(void)act_event(act, host->name, &cause, NULL);
	(void)act_record(act, ACT_UNCORDON, ACTION_DONE, &start, "it was found so");
	act_ledger_reconcile(act);
}

/* Done and not recorded: whoever did it was killed in between, or is a twin. */
static void adopt(struct act *act, struct act_host *host)
{
	const struct cluster_mark *mark = host->c.mark;
	const struct fleet_cause cause = {
		.event = mark->sticky ? EVENT_CORDONED_STICKY : EVENT_CORDONED,
		.who = streq(mark->by, "assay") ? WHO_AUTOMATIC : mark->by,
		.why = mark->reason,
		.evidence = json_string_value(json_array_get(mark->evidence, 0)),
		.marked_us = mark->at_us,
	};

	log_info("a cordon of ours is found and recorded node=%s", host->name);
	(void)act_event(act, host->name, &cause, NULL);
	act_ledger_reconcile(act);
}

/* What was tested and found good was the cordon before: this one begins anew. */
static void adopt_anew(struct act *act, struct act_host *host)
{
	const struct fleet_cause ended = {
		.event = EVENT_RELEASED,
		.who = WHO_AUTOMATIC,
		.why = "another controller gave it back, and took it out of service again",
	};

	if (act_event(act, host->name, &ended, NULL) == 0)
		adopt(act, host);
}

/* Which cordon the record is of is known once the cluster shows its mark. */
static void note_mark(struct act *act, const struct act_host *host, struct fleet_node *node)
{
	if (!host->c.mark || node->record.marked_us || !life_holds(node->record.life.state))
		return;
	node->record.marked_us = host->c.mark->at_us;
	(void)act_keep_record(act, node, NULL);
}

/* The hold stands, and its test is over. */
static void find_hold(struct act *act, struct act_host *host)
{
	const struct doing_start start = { .node = host->name,
					   .who = WHO_AUTOMATIC,
					   .reason = "the test it was kept free for is over" };

	(void)doing_begin(act, ACT_UNHOLD, &start);
}

static void find_unhold(struct act *act, struct act_host *host)
{
	const struct fleet_cause cause = { .event = EVENT_UNHOLD,
					   .who = somebody,
					   .why = "the hold was taken off" };

	(void)act_event(act, host->name, &cause, NULL);
}

static void find_override(struct act *act, struct act_host *host)
{
	const struct fleet_cause cause = { .event = EVENT_OVERRIDE,
					   .who = somebody,
					   .why = "override-until was set by hand",
					   .until_us = host->c.override_us };

	(void)act_event(act, host->name, &cause, NULL);
}

void act_observe(struct act *act, struct act_host *host)
{
	static void (*const find[])(struct act * act, struct act_host * host) = {
		[OBSERVED_UNCORDON] = find_uncordon, [OBSERVED_CORDON] = adopt,
		[OBSERVED_ANEW] = adopt_anew,	     [OBSERVED_UNMARKED] = find_unmarked,
		[OBSERVED_HOLD_OVER] = find_hold,    [OBSERVED_UNHOLD] = find_unhold,
	};
	struct fleet_node *node = fleet_find(&act->fleet, host->name);
	enum observed observed;

	if (!node || !host->there || act->stage != STAGE_ACTING || doing_of(act, host->name))
		return;
	observed = node_view_observe(&host->c, &node->record, act_real_us(act));
	if (observed != OBSERVED_NOTHING)
		find[observed](act, host);
	note_mark(act, host, node);
	if (node_view_is_overridden(&host->c, &node->record, act_real_us(act)))
		find_override(act, host);
}

static void observe_one(void *context, struct act_host *host)
{
	act_observe(context, host);
}

void act_observe_all(struct act *act)
{
	act_each_host(act, observe_one, act);
}

/* --- the watch --- */

static void on_node(void *context, const struct cluster_node *node)
{
	struct act *act = context;
	struct act_host *host = act_need_host(act, node->name);
	const bool news = !host->there || !cluster_node_same(&host->c, node);
	const bool cordoned = host->there && host->c.mark;
	uint64_t now_us = act_real_us(act);

	cluster_node_release(&host->c);
	host->c = cluster_node_copy(node);
	host->there = true;
	host->listed = act->listing;
	if (!fleet_need(&act->fleet, node->name, now_us))
		log_warning("the fleet is full: a node is left out node=%s", node->name);
	act_take_early(act, host);
	act_facts(act, node->name);
	act_observe(act, host);
	act->dirty |= news;
	/* It refuses jobs, or takes them again, from now on: its agent need not ask first. */
	if (cordoned != (node->mark != NULL))
		act->options.look(act->options.context, node->name);
}

static void on_gone(void *context, const char *name)
{
	struct act *act = context;
	struct act_host *host = act_host(act, name);
	struct fleet_node *node = fleet_find(&act->fleet, name);
	struct doing *test = doing_test_of(act, name);

	if (!host)
		return;
	if (test)
		doing_end(test, ACTION_DROPPED, 404, "the node is gone");
	if (node)
		fleet_remove(&act->fleet, node);
	act_drop_record(act, name);
	(void)tdelete(host, &act->hosts, compare);
	host_free(host);
	act->dirty = true;
	act_ledger_reconcile(act);
	act->options.touch(act->options.context);
}

struct unlisted {
	const struct act *act;
	const char *name;
};

static void find_unlisted(void *context, struct act_host *host)
{
	struct unlisted *u = context;

	if (!u->name && (!host->there || host->listed != u->act->listing))
		u->name = host->name;
}

/* What the list did not name is gone. */
static void drop_unlisted(struct act *act)
{
	for (;;) {
		struct unlisted u = { act, NULL };
		CLEANUP(freep) char *name = NULL;

		act_each_host(act, find_unlisted, &u);
		if (!u.name)
			return;
		name = xstrdup(u.name);
		on_gone(act, name);
	}
}

/* Hosts that report and are no nodes of the cluster are nobody's to act on. */
static void drop_strangers(struct act *act)
{
	size_t i;

	for (i = act->fleet.n; i-- > 0;) {
		struct fleet_node *node = act->fleet.nodes[i];
		const struct act_host *host = act_host(act, node->name);

		if (!host || !host->there)
			fleet_remove(&act->fleet, node);
	}
}

static void on_synced(void *context)
{
	struct act *act = context;

	drop_unlisted(act);
	drop_strangers(act);
	act->listing++;
	act->listed = true;
	act->dirty = true;
	if (act->stage == STAGE_LISTING)
		act_ledger_take_over(act);
}

/* What was decided and is not sent yet is dropped, and decided again when they are known. */
static void on_stale(void *context, const char *words)
{
	struct act *act = context;

	if (words)
		log_error("nothing is taken out of service or given back: %s", words);
	else if (act->fleet.stale)
		log_info("the nodes of the cluster are known again");
	if (!act->fleet.stale)
		act->stale_us = act_mono_us(act);
	free(act->fleet.stale);
	act->fleet.stale = xstrdup(words);
	act->dirty = true;
}

const struct cluster_watcher act_watcher = {
	.node = on_node, .gone = on_gone, .synced = on_synced, .stale = on_stale
};
