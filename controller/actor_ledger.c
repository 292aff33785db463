/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger as the cluster has it: read once, then written by compare and swap. */
#include <stdlib.h>

#include "controller/action_inside.h"
#include "lib/duration.h"
#include "lib/err.h"
#include "lib/log.h"
#include "lib/random.h"
#include "lib/xalloc.h"

/* Without anything that asks for it, it is compared with the nodes so often. */
#define RECONCILE_US (10 * USEC_PER_MIN)

/* Others write it, too, in turn with us: more conflicts in a row than that are a quarrel. */
enum { CONFLICTS_AT_ONCE = 3 };

/* An answer belongs to the start in which it was asked for. */
struct asked {
	struct act *act;
	unsigned round;
};

void *act_asking(struct act *act)
{
	struct asked *a = xcalloc(1, sizeof(*a));

	*a = (struct asked){ act, act->round };
	return a;
}

struct act *act_asked(void *context)
{
	CLEANUP(freep) struct asked *a = context;

	return a->round == a->act->round ? a->act : NULL;
}

void act_fence(struct act *act)
{
	act->stage = STAGE_FENCED;
	act->counts.fenced = true;
}

static void fence(struct act *act, uint64_t epoch)
{
	act_fence(act);
	log_error("another controller has taken over: nothing is touched any more epoch=%llu "
		  "its-epoch=%llu",
		  (unsigned long long)act->ledger.epoch, (unsigned long long)epoch);
	if (act->options.fenced)
		act->options.fenced(act->options.context);
}

static void postpone(struct act *act, uint64_t least_us)
{
	act->ledger_again_us =
		act_mono_us(act) + backoff_fail(&act->ledger_backoff, least_us, random_u64());
}

static void again_later(struct act *act, const struct cluster_answer *answer, const char *words)
{
	postpone(act, answer->retry_us);
	log_warning("the ledger: %s", words);
}

static void set_version(struct act *act, const char *version)
{
	free(act->ledger_version);
	act->ledger_version = xstrdup(version);
}

/* --- what was read --- */

static void facts_of(void *context, struct act_host *host)
{
	act_facts(context, host->name);
}

/* What was read counts from now on, as ours. */
static void adopt(struct act *act, struct ledger *fresh, const char *version, uint64_t epoch)
{
	act_recall_counted(act, fresh);
	act_ledger_merge(act, fresh);
	fresh->epoch = epoch;
	ledger_release(&act->ledger);
	act->ledger = *fresh;
	set_version(act, version);
	act->dirty = true;
	act_ledger_changed(act);
	act_ledger_reconcile(act);
	act_each_host(act, facts_of, act);
}

/* --- write --- */

static void take(struct act *act, const struct cluster_answer *answer);

/* Somebody removed it: ours is all there is. */
static void make_anew(struct act *act)
{
	log_warning("somebody has removed the ledger: it is written again");
	free(TAKE(act->ledger_version));
	act_ledger_changed(act);
	act_ledger_flush(act);
}

/* Somebody wrote it: another controller, or a person who mended it. */
static void on_reread(void *context, const struct cluster_answer *answer)
{
	struct act *act = act_asked(context);
	struct ledger fresh = { 0 };
	struct err err = ERR_INIT;

	if (!act)
		return;
	act->writing = false;
	if (act->stage == STAGE_LEDGER) { /* whoever takes it over last has it */
		take(act, answer);
		return;
	}
	if (answer->result == CLUSTER_GONE) {
		make_anew(act);
		return;
	}
	if (answer->result != CLUSTER_DONE) {
		again_later(act, answer, answer->words);
		return;
	}
	if (ledger_decode(answer->text, &fresh, &err) < 0) {
		again_later(act, answer, err.msg);
		return;
	}
	if (fresh.epoch > act->ledger.epoch) {
		fence(act, fresh.epoch);
		ledger_release(&fresh);
		return;
	}
	/* Its breaker counts; who holds what is for the nodes to say. */
	act_ledger_merge_breaker(act, &fresh.breaker);
	adopt(act, &fresh, answer->version, act->ledger.epoch);
	act_ledger_flush(act);
}

static void on_written(void *context, const struct cluster_answer *answer)
{
	struct act *act = act_asked(context);
	struct doing *d, *next;

	if (!act)
		return;
	if (answer->result == CLUSTER_CONFLICT) {
		act->counts.conflicts++;
		if (++act->ledger_conflicts > CONFLICTS_AT_ONCE)
			postpone(act, 0);
		act->options.cluster->ops->ledger_read(
			act->options.cluster, &(struct cluster_call){ on_reread, act_asking(act) });
		return;
	}
	act->writing = false;
	if (answer->result != CLUSTER_DONE) {
		again_later(act, answer, answer->words);
		return;
	}
	backoff_reset(&act->ledger_backoff);
	act->ledger_conflicts = 0;
	set_version(act, answer->version);
	act->written = act->writing_generation;
	act->written_us = act->writing_us;
	if (act->stage == STAGE_LEDGER) {
		act->stage = STAGE_ACTING;
		act->dirty = true;
		act_settle_resumed(act);
		act_observe_all(act);
	}
	for (d = act->doings; d; d = next) {
		next = d->next;
		doing_advance(d);
	}
	act_ledger_flush(act);
}

void act_ledger_changed(struct act *act)
{
	act->generation++;
}

void act_ledger_flush(struct act *act)
{
	CLEANUP(freep) char *text = NULL;

	if (act->writing || act->written == act->generation ||
	    (act->stage != STAGE_ACTING && act->stage != STAGE_LEDGER) ||
	    act->ledger_again_us > act_mono_us(act))
		return;
	text = ledger_encode(&act->ledger);
	act->writing = true;
	act->writing_generation = act->generation;
	act->writing_us = act_mono_us(act);
	act->options.cluster->ops->ledger_write(
		act->options.cluster, act->ledger_version, text,
		&(struct cluster_call){ on_written, act_asking(act) });
}

/* --- take over --- */

static void take(struct act *act, const struct cluster_answer *answer)
{
	struct ledger fresh = { 0 };
	struct err err = ERR_INIT;

	if (answer->result == CLUSTER_DONE && ledger_decode(answer->text, &fresh, &err) < 0) {
		act_fence(act);
		log_error("nothing is acted on: %s: mend or remove it, then restart", err.msg);
		return;
	}
	if (answer->result != CLUSTER_DONE && answer->result != CLUSTER_GONE) {
		act->stage = STAGE_LISTING; /* the next tick asks again */
		again_later(act, answer, answer->words);
		return;
	}
	adopt(act, &fresh, answer->result == CLUSTER_DONE ? answer->version : NULL,
	      MAX(fresh.epoch, act->ledger.epoch) + 1);
	act_ledger_flush(act);
}

static void on_read(void *context, const struct cluster_answer *answer)
{
	struct act *act = act_asked(context);

	if (act)
		take(act, answer);
}

void act_ledger_take_over(struct act *act)
{
	act->stage = STAGE_LEDGER;
	act->options.cluster->ops->ledger_read(act->options.cluster,
					       &(struct cluster_call){ on_read, act_asking(act) });
}

/* --- nodes are the truth --- */

struct truth {
	struct act *act;
	struct ledger_holder *holders;
	size_t n;
};

static void add(struct truth *t, const struct ledger_holder *holder)
{
	if (t->n == LEDGER_HOLDERS_MAX)
		return;
	t->holders = xrealloc(t->holders, t->n + 1, sizeof(*t->holders));
	t->holders[t->n++] = *holder;
}

static void add_node(void *context, struct act_host *host)
{
	struct truth *t = context;
	struct ledger_holder holder = { .node = host->name, .done = true };

	if (!host->there)
		return;
	if (host->c.mark) {
		holder.kind = LEDGER_CORDON;
		holder.action = host->c.mark->action;
		holder.at_us = host->c.mark->at_us;
		add(t, &holder);
	}
	if (host->c.hold_us) {
		holder.kind = LEDGER_HOLD;
		holder.action = NULL;
		holder.at_us = act_real_us(t->act);
		add(t, &holder);
	}
}

static bool has(const struct truth *t, const struct ledger_holder *like)
{
	size_t i;

	for (i = 0; i < t->n; i++) {
		if (t->holders[i].kind == like->kind && streq(t->holders[i].node, like->node))
			return true;
	}
	return false;
}

/* Those of others that still stand, and when the first of them ends. */
static uint64_t add_kept(struct truth *t)
{
	struct act *act = t->act;
	const uint64_t now_us = act_mono_us(act);
	uint64_t first_us = now_us + RECONCILE_US;
	size_t i;

	for (i = 0; i < act->ledger.n_holders; i++) {
		const struct ledger_holder *h = &act->ledger.holders[i];

		if (h->kept_us <= now_us)
			continue;
		first_us = MIN(first_us, h->kept_us);
		if (!has(t, h))
			add(t, h);
	}
	return first_us;
}

void act_ledger_reconcile(struct act *act)
{
	struct truth t = { .act = act };
	struct doing *d;

	act_each_host(act, add_node, &t);
	for (d = act->doings; d; d = d->next) {
		const int kind = d->kind == ACT_HOLD ? LEDGER_HOLD : LEDGER_CORDON;
		const struct ledger_holder *h = ledger_find(&act->ledger, d->node, kind);

		/* A reservation that is under way stands until its action ends, or its node shows it. */
		if (kind_reserves(d->kind) &&
		    (d->phase == PHASE_RESERVE || d->phase == PHASE_TOUCH) && h && !h->done &&
		    !has(&t, h))
			add(&t, h);
	}
	act->reconcile_us = add_kept(&t);
	if (ledger_reconcile(&act->ledger, t.holders, t.n)) {
		act_ledger_changed(act);
		act_ledger_flush(act);
	}
	free(t.holders);
}

void act_ledger_tick(struct act *act)
{
	if (act->stage == STAGE_LISTING && act->listed && act->ledger_again_us <= act_mono_us(act))
		act_ledger_take_over(act);
	if (act->stage != STAGE_ACTING || act_mono_us(act) < act->reconcile_us)
		return;
	act_ledger_reconcile(act);
	act_each_host(act, facts_of, act);
	act->dirty = true;
}
