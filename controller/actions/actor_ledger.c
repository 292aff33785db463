/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger's way to the cluster and back, and what follows from what is known by then. */
#include <stdlib.h>

#include "controller/actions/action_inside.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"

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
		  (unsigned long long)act->places.ledger.epoch, (unsigned long long)epoch);
	if (act->options.fenced)
		act->options.fenced(act->options.context);
}

/* --- what nodes show, and what is under way --- */

struct truth {
	struct act *act;
	struct ledger_holder *nodes, *own;
	size_t n_nodes, n_own;
};

static void add_node(struct truth *t, const struct ledger_holder *holder)
{
	if (t->n_nodes == LEDGER_HOLDERS_MAX)
		return;
	t->nodes = xrealloc(t->nodes, t->n_nodes + 1, sizeof(*t->nodes));
	t->nodes[t->n_nodes++] = *holder;
}

static void look_at(void *context, struct act_host *host)
{
	struct truth *t = context;
	struct ledger_holder holder = { .node = host->name, .done = true };

	if (!host->there)
		return;
	if (host->c.mark) {
		holder.kind = LEDGER_CORDON;
		holder.action = host->c.mark->action;
		holder.at_us = host->c.mark->at_us;
		add_node(t, &holder);
	}
	if (host->c.hold_us) {
		holder.kind = LEDGER_HOLD;
		holder.action = NULL;
		holder.at_us = act_real_us(t->act);
		add_node(t, &holder);
	}
}

static void look_at_own(struct truth *t)
{
	const struct doing *d;

	t->own = xcalloc(t->act->n_doings + 1, sizeof(*t->own));
	for (d = t->act->doings; d; d = d->next) {
		if (kind_reserves(d->kind) && (d->phase == PHASE_RESERVE || d->phase == PHASE_TOUCH))
			t->own[t->n_own++] = (struct ledger_holder){ .node = d->node,
								     .kind = (int)doing_place(d) };
	}
}

static struct reservation_truth as_told(const struct truth *t)
{
	return (struct reservation_truth){ t->nodes, t->n_nodes, t->own, t->n_own };
}

static void truth_release(struct truth *t)
{
	free(t->nodes);
	free(t->own);
}

void act_ledger_reconcile(struct act *act)
{
	CLEANUP(truth_release) struct truth t = { .act = act };
	struct reservation_truth told;

	act_each_host(act, look_at, &t);
	look_at_own(&t);
	told = as_told(&t);
	if (reservation_reconcile(&act->places, &told, act_mono_us(act)))
		act_ledger_flush(act);
}

static void facts_of(void *context, struct act_host *host)
{
	act_facts(context, host->name);
}

/* --- what was read --- */

/* It counts from now on, as ours. */
static void adopt(struct act *act, struct reservation_news *news)
{
	CLEANUP(truth_release) struct truth t = { .act = act };
	struct reservation_truth told;

	act_recall_counted(act, &news->ledger);
	look_at_own(&t);
	told = as_told(&t);
	reservation_adopt(&act->places, news, &told, act->options.store, act_mono_us(act));
	act->dirty = true;
	act_ledger_reconcile(act);
	act_each_host(act, facts_of, act);
	act_ledger_flush(act);
}

static void take(struct act *act, const struct cluster_answer *answer)
{
	struct reservation_news news;
	struct err err = ERR_INIT;

	switch (reservation_take_over(&act->places, answer, act_mono_us(act), &news, &err)) {
	case RESERVATION_READ:
		adopt(act, &news);
		break;
	case RESERVATION_UNREADABLE:
		act_fence(act);
		log_error("nothing is acted on: %s: mend or remove it, then restart", err.msg);
		break;
	default:
		act->stage = STAGE_LISTING; /* the next tick asks again */
		log_warning("the ledger: %s", err.msg);
	}
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

/* Somebody wrote it: another controller, or a person who mended it. */
static void reread(struct act *act, const struct cluster_answer *answer)
{
	struct reservation_news news = { 0 };
	struct err err = ERR_INIT;

	switch (reservation_reread(&act->places, answer, act_mono_us(act), &news, &err)) {
	case RESERVATION_READ:
		adopt(act, &news);
		break;
	case RESERVATION_REMOVED:
		log_warning("somebody has removed the ledger: it is written again");
		act_ledger_flush(act);
		break;
	case RESERVATION_FENCED:
		fence(act, news.ledger.epoch);
		ledger_release(&news.ledger);
		break;
	default:
		log_warning("the ledger: %s", err.msg);
	}
}

static void on_reread(void *context, const struct cluster_answer *answer)
{
	struct act *act = act_asked(context);

	if (!act)
		return;
	if (act->stage != STAGE_LEDGER) {
		reread(act, answer);
		return;
	}
	reservation_write_ended(&act->places);
	take(act, answer); /* whoever takes it over last has it */
}

/* --- what was written --- */

/* Places stand by now. */
static void go_on(struct act *act)
{
	struct doing *d, *next;

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

static void on_written(void *context, const struct cluster_answer *answer)
{
	struct act *act = act_asked(context);

	if (!act)
		return;
	switch (reservation_written(&act->places, answer, act_mono_us(act))) {
	case RESERVATION_WRITTEN:
		go_on(act);
		break;
	case RESERVATION_REREAD:
		act->counts.conflicts++;
		act->options.cluster->ops->ledger_read(
			act->options.cluster, &(struct cluster_call){ on_reread, act_asking(act) });
		break;
	default:
		log_warning("the ledger: %s", answer->words);
	}
}

void act_ledger_flush(struct act *act)
{
	CLEANUP(freep) char *text = NULL;

	if (act->stage == STAGE_ACTING || act->stage == STAGE_LEDGER)
		text = reservation_text(&act->places, act_mono_us(act));
	if (text)
		act->options.cluster->ops->ledger_write(
			act->options.cluster, act->places.version, text,
			&(struct cluster_call){ on_written, act_asking(act) });
}

void act_ledger_tick(struct act *act)
{
	const uint64_t now_us = act_mono_us(act);

	if (act->stage == STAGE_LISTING && act->listed && act->places.again_us <= now_us)
		act_ledger_take_over(act);
	if (act->stage != STAGE_ACTING || now_us < act->places.reconcile_us)
		return;
	act_ledger_reconcile(act);
	act_each_host(act, facts_of, act);
	act->dirty = true;
}
