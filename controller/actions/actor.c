/* SPDX-License-Identifier: Apache-2.0 */
/* The actor itself, and the way of an action through its phases. */
#include "controller/actions/actor.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/actions/action_inside.h"
#include "controller/store/store.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"

#define RETRY_BASE_US (500 * USEC_PER_MSEC)
#define RETRY_CAP_US (60 * USEC_PER_SEC)

/* --- one action --- */

void doing_free(struct doing *d)
{
	char *owned[] = { d->node,     d->who,	     d->rule,	  d->reason,
			  d->evidence, d->check,     d->subject,  d->partner,
			  d->version,  d->end_words, d->end_rule, d->end_allows };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(owned); i++)
		free(owned[i]);
	free(d);
}

static struct doing *enter(struct act *act, const struct store_action *row)
{
	struct doing *d = xcalloc(1, sizeof(*d)), **at = &act->doings;

	*d = (struct doing){
		.act = act,
		.id = row->id,
		.node = xstrdup(row->node),
		.kind = row->kind,
		.who = xstrdup(row->who),
		.rule = xstrdup(row->rule),
		.reason = xstrdup(row->reason),
		.incident = row->incident,
		.break_glass = row->break_glass,
		.until_us = row->until_us,
		.decided_us = row->decided_us,
		.backoff = { .base_us = RETRY_BASE_US, .cap_us = RETRY_CAP_US },
	};
	doing_recall(d, row->evidence);
	while (*at)
		at = &(*at)->next;
	*at = d; /* in the order of the decisions */
	act->n_doings++;
	return d;
}

static void leave(struct doing *d)
{
	struct act *act = d->act;
	struct doing **at = &act->doings;

	while (*at != d)
		at = &(*at)->next;
	*at = d->next;
	act->n_doings--;
	doing_free(d);
}

static const char *undo_of(const struct act *act, int kind)
{
	const char *const undo[ACT_KINDS_] = {
		[ACT_CORDON] = "assayctl uncordon NODE --reason REASON",
		[ACT_UNCORDON] = "assayctl cordon NODE --reason REASON",
		[ACT_HOLD] = "it ends by itself",
		[ACT_RETEST] = "the test ends by itself",
		[ACT_OVERRIDE] = "assayctl override NODE --for 0s",
		[ACT_SILENCE] = "assayctl silence NODE --for 0s --reason REASON",
		[ACT_REPAIR_DONE] = "assayctl cordon NODE --reason REASON",
		[ACT_VERIFIED] = act->options.cluster->names->undo_verified,
		[ACT_BREAKER_OPEN] = "assayctl breaker reset --reason REASON",
	};

	return undo[kind];
}

static struct store_action row_of(const struct act *act, enum action_kind kind, int state,
				  const struct doing_start *start, const char *evidence)
{
	return (struct store_action){
		.node = start->node,
		.kind = (int)kind,
		.state = state,
		.who = start->who,
		.rule = start->rule,
		.reason = start->reason,
		.incident = start->incident,
		.evidence = evidence,
		.undo = undo_of(act, (int)kind),
		.break_glass = start->break_glass,
		.until_us = start->until_us,
		.epoch = act->places.ledger.epoch,
		.decided_us = act_real_us(act),
	};
}

int64_t act_record(struct act *act, enum action_kind kind, int state,
		   const struct doing_start *start, const char *result)
{
	CLEANUP(freep) char *evidence = doing_evidence(start);
	const struct store_action row = row_of(act, kind, state, start, evidence);
	int64_t id = store_add_action(act->options.store, &row, NULL);

	if (id > 0)
		(void)store_end_action(act->options.store, id, state, result, row.decided_us, NULL);
	act->options.touch(act->options.context);
	return MAX(id, (int64_t)0);
}

const char *act_account(const char *who)
{
	const char *role = strstr(who, "(role ");

	return role ? role : who;
}

/* From now on, before anything else is decided: what is decided next finds it taken. */
static void count_for_rate(struct doing *d)
{
	struct act *act = d->act;
	struct breaker *b = &act->places.ledger.breaker;
	/* As the ledger writes it: the next controller finds the stamp by it. */
	uint64_t at_us = d->decided_us / USEC_PER_MSEC * USEC_PER_MSEC;

	if (d->kind != ACT_CORDON)
		return;
	if (!streq(d->who, WHO_AUTOMATIC)) {
		manual_rate_count(&act->manual, act_account(d->who), d->id, d->decided_us);
		return;
	}
	while (breaker_has(b, at_us))
		at_us += USEC_PER_MSEC; /* each is told from the others by it */
	d->counted_us = at_us;
	breaker_count(b, at_us);
}

struct doing *doing_begin(struct act *act, enum action_kind kind, const struct doing_start *start)
{
	CLEANUP(freep) char *evidence = doing_evidence(start);
	struct store_action row = row_of(act, kind, ACTION_DECIDED, start, evidence);
	struct act_host *host = act_host(act, start->node);
	struct err err = ERR_INIT;
	struct doing *d;

	if (act->n_doings >= DOINGS_MAX)
		return NULL;
	row.id = store_add_action(act->options.store, &row, &err);
	if (row.id < 0) {
		log_warning("not acted: %s", err.msg);
		return NULL;
	}
	d = enter(act, &row);
	count_for_rate(d);
	if (host && host->there && start->decision != DECIDE_NOTHING)
		d->version = xstrdup(host->c.version);
	act_facts(act, d->node);
	act->options.touch(act->options.context);
	return d;
}

struct doing *doing_resume(struct act *act, const struct store_action *row)
{
	struct doing *d = enter(act, row);

	d->recorded = true;
	act_facts(act, d->node);
	return d;
}

enum ledger_kind doing_place(const struct doing *d)
{
	return d->kind == ACT_HOLD ? LEDGER_HOLD : LEDGER_CORDON;
}

struct doing *doing_of(const struct act *act, const char *node)
{
	struct doing *d;

	for (d = act->doings; d; d = d->next) {
		if (d->phase != PHASE_TEST && d->phase != PHASE_END && d->kind != ACT_EVICT &&
		    streq(d->node, node))
			return d;
	}
	return NULL;
}

struct doing *doing_test_of(const struct act *act, const char *node)
{
	struct doing *d;

	for (d = act->doings; d; d = d->next) {
		if (d->phase == PHASE_TEST && streq(d->node, node))
			return d;
	}
	return NULL;
}

static void count_end(struct act *act, const struct doing *d, int state)
{
	uint64_t *const cordons[] = {
		[ACTION_DONE] = &act->counts.cordons_done,
		[ACTION_FAILED] = &act->counts.cordons_failed,
		[ACTION_DROPPED] = &act->counts.cordons_dropped,
		[ACTION_REFUSED] = &act->counts.cordons_refused,
	};

	if (d->kind == ACT_CORDON && state < (int)ARRAY_SIZE(cordons) && cordons[state])
		++*cordons[state];
	else if (d->kind == ACT_UNCORDON && state == ACTION_DONE)
		act->counts.uncordons++;
}

static void uncount(struct doing *d)
{
	if (d->kind == ACT_CORDON)
		manual_rate_uncount(&d->act->manual, d->id);
	if (!d->counted_us)
		return;
	breaker_uncount(&d->act->places.ledger.breaker, d->counted_us);
	d->counted_us = 0;
	reservation_changed(&d->act->places);
}

void doing_end(struct doing *d, int state, unsigned status, const char *words)
{
	struct act *act = d->act;
	struct err err = ERR_INIT;

	count_end(act, d, state);
	d->phase = PHASE_END;
	d->end_state = state;
	d->end_status = status;
	free(d->end_words);
	d->end_words = xstrdup(words);
	if (store_end_action(act->options.store, d->id, state, words, act_real_us(act), &err) < 0)
		log_warning("an action ended and is not recorded yet: %s", err.msg);
	/* The node was another one, or another's: nothing was set, and the rate is not used up by it. */
	if (state == ACTION_DROPPED || state == ACTION_REFUSED)
		uncount(d);
	if (kind_reserves(d->kind) && state != ACTION_DONE) {
		/* Where an answer was lost it may have come about: the node says. */
		if (d->backoff.failures > 0)
			reservation_keep(&act->places, d->node, doing_place(d), act_mono_us(act));
		act_ledger_reconcile(act);
	}
	act_facts(act, d->node);
	act->dirty = true;
	act->options.touch(act->options.context);
}

/* Take a place in the ledger before the node is touched. */
static void reserve(struct doing *d)
{
	struct act *act = d->act;
	const struct fleet_node *node = fleet_find(&act->fleet, d->node);
	CLEANUP(freep) char *action = xasprintf("%lld", (long long)d->id);
	const struct ledger_holder holder = {
		.node = d->node,
		.domain = node && node->domain != NAME_NONE
				  ? (char *)(uintptr_t)names_text(&act->fleet.domains, node->domain)
				  : NULL,
		.action = action,
		.kind = (int)doing_place(d),
		.at_us = d->counted_us ? d->counted_us
				       : act_real_us(act) / USEC_PER_MSEC * USEC_PER_MSEC,
	};
	const uint64_t generation = reservation_take(&act->places, &holder);

	if (generation == 0) {
		doing_end(d, ACTION_FAILED, 409, "the ledger is full: too many hosts are held");
		return;
	}
	d->phase = PHASE_RESERVE;
	d->generation = generation;
	act_ledger_flush(act);
}

/* Has its place stood for so long that another may have given it away? Then it is taken again. */
static bool renew(struct doing *d)
{
	struct act *act = d->act;
	uint64_t generation = kind_reserves(d->kind) ? reservation_renew(&act->places, d->placed_us,
									 act_mono_us(act))
						     : 0;

	if (generation == 0)
		return false;
	d->phase = PHASE_RESERVE;
	d->generation = generation;
	act_ledger_flush(act);
	return true;
}

void doing_advance(struct doing *d)
{
	struct act *act = d->act;

	if (d->out || !d->recorded || act->stage != STAGE_ACTING || doing_is_void(d))
		return;
	if (d->phase == PHASE_RECORD) {
		if (kind_reserves(d->kind)) {
			reserve(d);
			return;
		}
		d->phase = PHASE_TOUCH;
	}
	if (d->phase == PHASE_RESERVE &&
	    reservation_stands(&act->places, d->generation, &d->placed_us))
		d->phase = PHASE_TOUCH;
	if (d->phase == PHASE_TOUCH && d->again_us <= act_mono_us(act) && !renew(d))
		doing_touch(d);
}

/* --- all of them --- */

/* Whoever asked is told, once all of it is durable. */
static void tell_ended(struct act *act)
{
	struct doing *d = act->doings, *next;

	for (; d; d = next) {
		struct act_host *host = act_host(act, d->node);
		struct act_said said;

		next = d->next;
		if (d->phase != PHASE_END || d->out)
			continue;
		said = (struct act_said){ .status = d->end_status,
					  .action = d->id,
					  .rule = d->end_rule,
					  .words = d->end_words,
					  .allows = d->end_allows };
		if (d->told)
			d->told(d->told_context, &said);
		leave(d);
		/* What somebody did to the node meanwhile was not looked at. */
		if (host)
			act_observe(act, host);
	}
}

/* What was written down so far is durable now. */
static void note_recorded(struct act *act)
{
	struct doing *d;

	for (d = act->doings; d; d = d->next)
		d->recorded = true;
}

static void advance_all(struct act *act)
{
	struct doing *d = act->doings, *next;

	for (; d; d = next) {
		next = d->next;
		doing_advance(d);
	}
}

/* --- what happens to a host --- */

/* It waits for the commit, where something was written. */
static int kept(struct act *act, int r)
{
	if (r != 0)
		act->options.touch(act->options.context);
	return MIN(r, 0);
}

int act_keep_record(struct act *act, const struct fleet_node *node, struct err *err)
{
	(void)act_need_host(act, node->name); /* it is gone when the cluster does not name it */
	return kept(act, node_records_keep(&act->records, node, err));
}

void act_keep_all(struct act *act)
{
	struct err err = ERR_INIT;

	if (kept(act, node_records_keep_all(&act->records, &act->fleet, &err)) < 0)
		log_warning("records are not kept: %s", err.msg);
}

void act_drop_record(struct act *act, const char *node)
{
	(void)kept(act, node_records_drop(&act->records, node, NULL));
}

void act_note_change(struct act *act, const struct fleet_node *node,
		     const struct life_change *change)
{
	struct err err = ERR_INIT;

	if (node_records_add_change(&act->records, node->name, change, &err) < 0)
		log_warning("a transition is not recorded: %s", err.msg);
	act->options.touch(act->options.context);
}

int act_event(struct act *act, const char *node, const struct fleet_cause *cause, struct err *err)
{
	struct fleet_node *n = fleet_find(&act->fleet, node);
	CLEANUP(freep)
	char *serial = cause->serial ? xstrdup(cause->serial) : fleet_host_serial(node);
	struct life_change change;
	int r;

	if (!n)
		return err_set(err, ENOENT, "the cluster has no node '%.80s'", node);
	r = fleet_event(&act->fleet, n, cause, act_real_us(act), &change, err);
	if (r < 0)
		return r;
	act->dirty = true;
	act_note_change(act, n, &change);
	if (cause->event == EVENT_CORDONED || cause->event == EVENT_CORDONED_STICKY)
		r = node_records_keep_part(&act->records, &act->fleet, serial, err);
	act_facts(act, node);
	if (act->stage == STAGE_ACTING)
		act_tell_condition(act, node);
	return r < 0 ? r : act_keep_record(act, n, err);
}

/* --- begin and end --- */

/* Nobody waits any more for what the store has forgotten. */
static void forget_all(struct act *act)
{
	struct doing *d = act->doings, *next;

	for (; d; d = next) {
		next = d->next;
		if (d->told)
			d->told(d->told_context,
				&(struct act_said){ .status = 503,
						    .words = "the store cannot be written" });
		d->told = NULL;
		if (d->out)
			d->orphan = true; /* its answer frees it */
		else
			doing_free(d);
	}
	act->doings = NULL;
	act->n_doings = 0;
}

static void forget_state(struct act *act)
{
	size_t i;

	forget_all(act);
	for (i = 0; i < act->n_arrived; i++) {
		free(act->arrived[i].node);
		free(act->arrived[i].sku);
		free(act->arrived[i].order_id);
	}
	free(act->arrived);
	act->arrived = NULL;
	act->n_arrived = 0;
	outcome_release(&act->outcome);
	act->outcome = (struct outcome){ 0 };
	fleet_release(&act->fleet);
	denials_release(&act->denials);
	manual_rate_release(&act->manual);
	act->fleet = (struct fleet){ 0 };
	reservation_release(&act->places);
	act_hosts_release(act);
	node_records_release(&act->records);
	act->jobs_out = 0;
	act->again_us = 0;
	act->listed = false;
	act->round++;
}

/* From what the store and the cluster have: after a start, and after a failure. */
static int begin(struct act *act, struct err *err)
{
	int r = act_load(act, err);

	if (r < 0)
		return r;
	act->stage = STAGE_LISTING;
	act->fleet.tells_jobs = act->options.cluster->ops->jobs != NULL;
	act->dirty = true;
	return act->options.cluster->ops->watch(act->options.cluster, &act->watcher, err);
}

int act_open(const struct act_options *options, struct act **ret_act, struct err *err)
{
	CLEANUP(act_closep) struct act *act = xcalloc(1, sizeof(*act));
	int r;

	act->options = *options;
	act->records.store = options->store;
	reservation_init(&act->places, options->keep_us);
	act->watcher = act_watcher;
	act->watcher.context = act;
	r = begin(act, err);
	if (r < 0)
		return r;
	*ret_act = TAKE(act);
	return 0;
}

void act_failed(struct act *act)
{
	struct err err = ERR_INIT;

	if (act->stage == STAGE_FENCED)
		return;
	forget_state(act);
	if (begin(act, &err) < 0)
		log_warning("nothing is acted on until the store can be read: %s", err.msg);
}

void act_stop(struct act *act)
{
	if (act)
		forget_state(act);
}

void act_close(struct act *act)
{
	if (!act)
		return;
	forget_state(act);
	free(act);
}

void act_committed(struct act *act)
{
	if (act->stepping)
		return;
	act->stepping = true;
	note_recorded(act);
	act_take_arrived(act);
	tell_ended(act);
	advance_all(act);
	act_decide(act);
	act->stepping = false;
}

void act_tick(struct act *act)
{
	if (act->stage == STAGE_FENCED || act->stepping)
		return;
	act->stepping = true;
	act_ledger_tick(act);
	act_ledger_flush(act);
	act_tests_due(act);
	advance_all(act);
	act_decide(act);
	act->stepping = false;
}
