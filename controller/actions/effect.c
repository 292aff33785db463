/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/effect.h"

#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/action.h"
#include "controller/actions/actor_env.h"
#include "controller/actions/actor_queue.h"
#include "controller/actions/drain.h"
#include "controller/actions/node_life.h"
#include "controller/actions/node_views.h"
#include "controller/actions/reservation.h"
#include "controller/store/store.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/policy/fleet.h"
#include "lib/policy/startup.h"

static struct cluster_change change_of(const struct action *a)
{
	/* An order by a person applies to the node as it is now. */
	return (struct cluster_change){
		.node = a->node,
		.version = a->version ? a->version : a->host->c.version,
		.dry_run = a->dry_run,
	};
}

/* --- sending --- */

static void send_cordon(const struct actor_env *env, struct action *a,
			const struct cluster_call *call)
{
	CLEANUP(freep) char *incident = a->incident ? xasprintf("%" PRId64, a->incident) : NULL;
	CLEANUP(freep) char *action = xasprintf("%" PRId64, a->id);
	CLEANUP(json_freep) json_t *evidence = json_pack("[s*]", a->evidence);
	const struct cluster_change change = change_of(a);
	const uint64_t now_us = env_real_us(env);
	const struct cluster_mark mark = {
		.by = streq(a->who, WHO_AUTOMATIC) ? (char *)(uintptr_t) "assay" : a->who,
		.incident = incident,
		.reason = a->reason,
		.action = action,
		.evidence = evidence,
		.at_us = now_us,
		.epoch = env->places->ledger.epoch,
		.sticky = a->sticky,
		.born = action_is_born(env, a),
	};

	a->marked_us = now_us;
	env->cluster->ops->cordon(env->cluster, &change, &mark, call);
}

static void send_uncordon(const struct actor_env *env, struct action *a,
			  const struct cluster_call *call)
{
	struct cluster_change change = change_of(a);

	/* Our cordon was lifted and a new one set before our mark was removed: it is not ours. */
	change.keep_cordon = streq(a->who, WHO_AT_CLUSTER) && a->host->c.unschedulable;
	env->cluster->ops->uncordon(env->cluster, &change, a->until_us, call);
}

/* The cordon to lift is gone, and the node was taken out of service anew. */
static const char *uncordon_overtaken(const struct actor_env *env UNUSED, const struct action *a)
{
	const struct cluster_mark *mark = a->host->c.mark;
	const uint64_t lifts_us = a->lifts_us ? a->lifts_us : a->decided_us;

	return a->host->there && mark && mark->at_us > lifts_us ? "it has been cordoned again since"
								: NULL;
}

static void send_hold(const struct actor_env *env, struct action *a, const struct cluster_call *call)
{
	const struct cluster_change change = change_of(a);

	env->cluster->ops->hold(env->cluster, &change, a->kind == ACT_HOLD ? a->until_us : 0,
				"assay", call);
}

static void send_override(const struct actor_env *env, struct action *a,
			  const struct cluster_call *call)
{
	const struct cluster_change change = change_of(a);

	env->cluster->ops->annotate(env->cluster, &change, a->until_us, call);
}

static void send_verified(const struct actor_env *env, struct action *a,
			  const struct cluster_call *call)
{
	const struct cluster_change change = change_of(a);

	env->cluster->ops->verified(env->cluster, &change, call);
}

/* --- booking --- */

static struct fleet_cause cause_of(const struct action *a, int event)
{
	return (struct fleet_cause){ .event = event,
				     .who = a->who,
				     .why = a->reason,
				     .evidence = a->evidence,
				     .until_us = a->until_us,
				     .marked_us = a->marked_us };
}

static int happen(const struct actor_env *env, const struct action *a, int event, struct err *err)
{
	const struct fleet_node *node = fleet_find(env->fleet, a->node);
	const struct finding *finding = node && a->check ? fleet_finding(node, a->check, a->subject)
							 : NULL;
	struct fleet_cause cause = cause_of(a, event);

	/* Booked on the bad part, wherever it moves. */
	cause.serial = finding ? finding->serial : NULL;
	return node_life_event(env, a->node, &cause, err);
}

static void publish(const struct actor_env *env, const struct action *a, const char *reason,
		    bool warning)
{
	env->cluster->ops->event(env->cluster,
				 &(struct cluster_event){ a->node, reason, a->reason, warning });
}

static int complete_cordon(const struct actor_env *env, struct action *a, struct err *err)
{
	(void)reservation_done(env->places, a->node, LEDGER_CORDON);
	publish(env, a, "AssayCordoned", true);
	log_warning("cordoned node=%s by=%s: %s", a->node, a->who, a->reason);
	return happen(env, a, a->sticky ? EVENT_CORDONED_STICKY : EVENT_CORDONED, err);
}

static int complete_uncordon(const struct actor_env *env, struct action *a, struct err *err)
{
	const struct fleet_node *node = fleet_find(env->fleet, a->node);

	reservation_drop(env->places, a->node, LEDGER_CORDON);
	publish(env, a, "AssayUncordoned", false);
	log_info("uncordoned node=%s by=%s: %s", a->node, a->who, a->reason);
	if (!node || !life_holds(node->record.life.state))
		return 0;
	return happen(env, a, a->until_us ? EVENT_UNCORDONED : EVENT_RELEASED, err);
}

static int complete_hold(const struct actor_env *env, struct action *a, struct err *err)
{
	if (a->kind == ACT_UNHOLD)
		reservation_drop(env->places, a->node, LEDGER_HOLD);
	else if (!reservation_done(env->places, a->node, LEDGER_HOLD))
		reservation_changed(env->places);
	return happen(env, a, a->kind == ACT_HOLD ? EVENT_HOLD : EVENT_UNHOLD, err);
}

static int complete_override(const struct actor_env *env, struct action *a, struct err *err)
{
	return happen(env, a, EVENT_OVERRIDE, err);
}

static int complete_verified(const struct actor_env *env, struct action *a, struct err *err UNUSED)
{
	const bool let_in = streq(a->rule, STARTUP_RULE_OPEN);

	publish(env, a, let_in ? "AssayLetIn" : "AssayVerified", let_in);
	log_info("start-up taint removed node=%s: %s", a->node, a->reason);
	return 0;
}

static int complete_silence(const struct actor_env *env, struct action *a, struct err *err)
{
	return happen(env, a, EVENT_SILENCE, err);
}

/* The findings and baselines were those of the repaired parts. */
static int complete_repair_done(const struct actor_env *env, struct action *a, struct err *err)
{
	int r = happen(env, a, EVENT_REPAIR_DONE, err);

	if (r == 0)
		r = store_begin_repaired(env->store, a->node, env_real_us(env), err);
	if (r == 0 && env->options->repaired)
		env->options->repaired(env->options->context, a->node);
	return r;
}

static int complete_reset(const struct actor_env *env, struct action *a, struct err *err UNUSED)
{
	(void)breaker_reset(&env->places->ledger.breaker, a->who, a->reason, env_real_us(env));
	env->options->forgive_file(env->options->context);
	reservation_changed(env->places);
	log_warning("the breaker was reset by=%s: %s", a->who, a->reason);
	return 0;
}

/* The test is ordered; the host does the rest. */
static int complete_retest(const struct actor_env *env, struct action *a, struct err *err UNUSED)
{
	env->counts->tests_ordered++;
	env_orders_changed(env, a->node);
	return 0;
}

/* --- the table --- */

static const struct effect {
	void (*send)(const struct actor_env *env, struct action *a,
		     const struct cluster_call *call); /* NULL: no effect on the cluster */
	int (*complete)(const struct actor_env *env, struct action *a, struct err *err);
	const char *done;
	/* Returns why it is void, or NULL. Static. */
	const char *(*overtaken)(const struct actor_env *env, const struct action *a);
} effects[ACT_KINDS_] = {
	[ACT_CORDON] = { send_cordon, complete_cordon, "cordoned" },
	[ACT_UNCORDON] = { send_uncordon, complete_uncordon, "in service", uncordon_overtaken },
	[ACT_HOLD] = { send_hold, complete_hold, "held for a test" },
	[ACT_UNHOLD] = { send_hold, complete_hold, "no longer held" },
	[ACT_EVICT] = { drain_send, drain_complete, "its jobs were asked to leave",
			drain_overtaken },
	[ACT_RETEST] = { NULL, complete_retest, "" },
	[ACT_OVERRIDE] = { send_override, complete_override, "kept in service" },
	[ACT_SILENCE] = { NULL, complete_silence, "silenced" },
	[ACT_REPAIR_DONE] = { NULL, complete_repair_done,
			      "its findings are cleared; it is tested now, and released when it "
			      "passes" },
	[ACT_BREAKER_RESET] = { NULL, complete_reset, "the breaker is closed" },
	[ACT_VERIFIED] = { send_verified, complete_verified, "start-up taint removed" },
};

bool effect_is_outside(int kind)
{
	return effects[kind].send != NULL;
}

const char *effect_overtaken(const struct actor_env *env, const struct action *a)
{
	return effects[a->kind].overtaken ? effects[a->kind].overtaken(env, a) : NULL;
}

void effect_send(const struct actor_env *env, struct action *a)
{
	const struct cluster_call call = actor_queue_call(env->queue,
							  a->dry_run ? ACTOR_TRIED : ACTOR_APPLIED,
							  &(struct actor_about){ a->node, a->id });

	effects[a->kind].send(env, a, &call);
}

/* Returns the message when done, with the time limit or the cluster's remark if there is one. */
static char *done_of(const struct actor_env *env, const struct action *a)
{
	const char *more = a->kind == ACT_CORDON ? env->cluster->ops->cordon_only : NULL;
	const bool silence = a->kind == ACT_SILENCE;
	char until[CLOCK_STAMP_SIZE];

	if (!silence && a->kind != ACT_OVERRIDE)
		return xasprintf("%s%s%s", effects[a->kind].done, more ? "; " : "",
				 more ? more : "");
	if (!a->until_us)
		return xasprintf("%s ended", silence ? "silence" : "override");
	duration_until(a->until_us, env_real_us(env), until);
	return xasprintf("%s until %s", effects[a->kind].done, until);
}

char *effect_complete(const struct actor_env *env, struct action *a)
{
	struct err err = ERR_INIT;

	if (effects[a->kind].complete && effects[a->kind].complete(env, a, &err) < 0)
		log_warning("done, but the record says otherwise: %s", err.msg);
	if (effect_is_outside(a->kind))
		node_views_forgive(a->host);
	return done_of(env, a);
}

/* --- dry-run mode --- */

/* Asking jobs to leave does not change the node, and a test touches nothing. */
static bool can_be_asked(enum action_kind kind)
{
	return effect_is_outside((int)kind) && kind != ACT_EVICT;
}

void effect_try(const struct actor_env *env, struct node_view *host, enum action_kind kind,
		const struct action_start *start)
{
	CLEANUP(freep)
	char *words = xasprintf("would do: %s: %s", action_kind_names[kind], start->reason);
	const struct cluster_event event = { start->node, "AssayDryRun", words, false };
	int64_t id = action_record(env, kind, ACTION_DRY_RUN, start, "dry-run: would be done");

	env->cluster->ops->event(env->cluster, &event);
	if (id > 0 && can_be_asked(kind))
		effect_send(env, action_begin_dry_run(env, host, kind, start, id));
}
