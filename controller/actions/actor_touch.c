/* SPDX-License-Identifier: Apache-2.0 */
/* Effects: what each kind of action does to the cluster, and what is booked when it is done. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/action_inside.h"
#include "controller/store/store.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"

/* So often the kill switch is looked at by what waits for it. */
#define STOPPED_US USEC_PER_SEC

/* Who changes a node just when we do is soon done with it, or never is. */
#define CONFLICT_BASE_US (200 * USEC_PER_MSEC)
#define CONFLICT_CAP_US (30 * USEC_PER_SEC)

/* What a person has to mend takes minutes; but a server that has just started knows no roles yet. */
#define REFUSED_LEAST_US USEC_PER_SEC
#define REFUSED_BASE_US (4 * USEC_PER_SEC)
#define REFUSED_CAP_US (5 * USEC_PER_MIN)

static struct cluster_change change_of(const struct doing *d)
{
	const struct act_host *host = act_host(d->act, d->node);

	/* An order of a person is for the node as it is now. */
	return (struct cluster_change){
		.node = d->node,
		.version = d->version ? d->version
			   : host     ? host->c.version
				      : NULL,
		.dry_run = d->dry_run,
	};
}

/* --- what is sent --- */

static void touch_cordon(struct doing *d, const struct cluster_call *call)
{
	CLEANUP(freep) char *incident = d->incident ? xasprintf("%" PRId64, d->incident) : NULL;
	CLEANUP(freep) char *action = xasprintf("%" PRId64, d->id);
	CLEANUP(json_freep) json_t *evidence = json_pack("[s*]", d->evidence);
	const struct cluster_change change = change_of(d);
	const uint64_t now_us = act_real_us(d->act);
	const struct cluster_mark mark = {
		.by = streq(d->who, WHO_AUTOMATIC) ? (char *)(uintptr_t) "assay" : d->who,
		.incident = incident,
		.reason = d->reason,
		.action = action,
		.evidence = evidence,
		.at_us = now_us,
		.epoch = d->act->places.ledger.epoch,
		.sticky = d->sticky,
	};

	d->marked_us = now_us;
	d->act->options.cluster->ops->cordon(d->act->options.cluster, &change, &mark, call);
}

static void touch_uncordon(struct doing *d, const struct cluster_call *call)
{
	const struct cluster_change change = change_of(d);

	d->act->options.cluster->ops->uncordon(d->act->options.cluster, &change, d->until_us, call);
}

static void touch_hold(struct doing *d, const struct cluster_call *call)
{
	const struct cluster_change change = change_of(d);

	d->act->options.cluster->ops->hold(d->act->options.cluster, &change,
					   d->kind == ACT_HOLD ? d->until_us : 0, "assay", call);
}

static void touch_override(struct doing *d, const struct cluster_call *call)
{
	const struct cluster_change change = change_of(d);

	d->act->options.cluster->ops->annotate(d->act->options.cluster, &change, d->until_us, call);
}

static void touch_verified(struct doing *d, const struct cluster_call *call)
{
	const struct cluster_change change = change_of(d);

	d->act->options.cluster->ops->verified(d->act->options.cluster, &change, call);
}

/* --- what is booked --- */

static struct fleet_cause cause_of(const struct doing *d, int event)
{
	return (struct fleet_cause){ .event = event,
				     .who = d->who,
				     .why = d->reason,
				     .evidence = d->evidence,
				     .until_us = d->until_us,
				     .marked_us = d->marked_us };
}

static int happen(struct doing *d, int event, struct err *err)
{
	const struct fleet_node *node = fleet_find(&d->act->fleet, d->node);
	const struct finding *finding = node && d->check ? fleet_finding(node, d->check, d->subject)
							 : NULL;
	struct fleet_cause cause = cause_of(d, event);

	/* It counts for the part that was bad, wherever that goes. */
	cause.serial = finding ? finding->serial : NULL;
	return act_event(d->act, d->node, &cause, err);
}

static void tell_event(struct doing *d, const char *reason, bool warning)
{
	d->act->options.cluster->ops->event(
		d->act->options.cluster,
		&(struct cluster_event){ d->node, reason, d->reason, warning });
}

static int book_cordon(struct doing *d, struct err *err)
{
	if (reservation_done(&d->act->places, d->node, LEDGER_CORDON))
		act_ledger_flush(d->act);
	tell_event(d, "AssayCordoned", true);
	log_warning("cordoned node=%s by=%s: %s", d->node, d->who, d->reason);
	return happen(d, d->sticky ? EVENT_CORDONED_STICKY : EVENT_CORDONED, err);
}

static int book_uncordon(struct doing *d, struct err *err)
{
	const struct fleet_node *node = fleet_find(&d->act->fleet, d->node);

	reservation_drop(&d->act->places, d->node, LEDGER_CORDON);
	act_ledger_flush(d->act);
	tell_event(d, "AssayUncordoned", false);
	log_info("uncordoned node=%s by=%s: %s", d->node, d->who, d->reason);
	if (!node || !life_holds(node->record.life.state))
		return 0;
	return happen(d, d->until_us ? EVENT_UNCORDONED : EVENT_RELEASED, err);
}

static int book_hold(struct doing *d, struct err *err)
{
	if (d->kind == ACT_UNHOLD)
		reservation_drop(&d->act->places, d->node, LEDGER_HOLD);
	else if (!reservation_done(&d->act->places, d->node, LEDGER_HOLD))
		reservation_changed(&d->act->places);
	act_ledger_flush(d->act);
	return happen(d, d->kind == ACT_HOLD ? EVENT_HOLD : EVENT_UNHOLD, err);
}

static int book_override(struct doing *d, struct err *err)
{
	return happen(d, EVENT_OVERRIDE, err);
}

static int book_verified(struct doing *d, struct err *err UNUSED)
{
	const bool let_in = streq(d->rule, STARTUP_RULE_OPEN);

	tell_event(d, let_in ? "AssayLetIn" : "AssayVerified", let_in);
	log_info("the start-up taint is off node=%s: %s", d->node, d->reason);
	return 0;
}

static int book_silence(struct doing *d, struct err *err)
{
	return happen(d, EVENT_SILENCE, err);
}

/* What was found was about what was repaired. */
static int book_repair_done(struct doing *d, struct err *err)
{
	int r = happen(d, EVENT_REPAIR_DONE, err);

	return r == 0 ? store_begin_repaired(d->act->options.store, d->node, act_real_us(d->act),
					     err)
		      : r;
}

static int book_reset(struct doing *d, struct err *err UNUSED)
{
	(void)breaker_reset(&d->act->places.ledger.breaker, d->who, d->reason, act_real_us(d->act));
	d->act->options.forgive_file(d->act->options.context);
	reservation_changed(&d->act->places);
	act_ledger_flush(d->act);
	log_warning("the breaker was reset by=%s: %s", d->who, d->reason);
	return 0;
}

/* A test is ordered: the rest of it is the host's. */
static int book_retest(struct doing *d, struct err *err UNUSED)
{
	d->phase = PHASE_TEST;
	d->act->counts.tests_ordered++;
	d->act->options.look(d->act->options.context, d->node);
	return 0;
}

/* --- the table --- */

static const struct way {
	bool reserves;							 /* a place of the budget */
	void (*touch)(struct doing *d, const struct cluster_call *call); /* NULL: nothing outside */
	int (*book)(struct doing *d, struct err *err);
	const char *said;
} ways[ACT_KINDS_] = {
	[ACT_CORDON] = { true, touch_cordon, book_cordon, "it is out of service" },
	[ACT_UNCORDON] = { false, touch_uncordon, book_uncordon, "it is in service" },
	[ACT_HOLD] = { true, touch_hold, book_hold, "it is kept free for a test" },
	[ACT_UNHOLD] = { false, touch_hold, book_hold, "it is kept free no more" },
	[ACT_EVICT] = { false, drain_touch, drain_book, "its jobs were asked to go" },
	[ACT_RETEST] = { false, NULL, book_retest, "" },
	[ACT_OVERRIDE] = { false, touch_override, book_override, "it stays in service" },
	[ACT_SILENCE] = { false, NULL, book_silence, "silenced" },
	[ACT_REPAIR_DONE] = { false, NULL, book_repair_done,
			      "what was found of it is forgotten; it is tested, and given back "
			      "when it passes if it was out of service" },
	[ACT_BREAKER_RESET] = { false, NULL, book_reset, "the breaker is closed" },
	[ACT_VERIFIED] = { false, touch_verified, book_verified, "its start-up taint is off" },
};

bool kind_reserves(int kind)
{
	return ways[kind].reserves;
}

bool kind_touches(int kind)
{
	return ways[kind].touch != NULL;
}

void doing_send(struct doing *d, const struct cluster_call *call)
{
	ways[d->kind].touch(d, call);
}

/* All is as it should be with the host: what comes next begins anew. */
static void forgive(struct doing *d)
{
	struct act_host *host = act_host(d->act, d->node);

	if (!host || !ways[d->kind].touch)
		return;
	host->again_us = 0;
	backoff_reset(&host->conflicts);
	backoff_reset(&host->refusals);
	memset(host->refused, 0, sizeof(host->refused));
}

/* What is said of it, where the time or the cluster matters; new memory. */
static char *said_of(const struct doing *d)
{
	const char *more = d->kind == ACT_CORDON ? d->act->options.cluster->ops->cordon_only : NULL;
	const bool silence = d->kind == ACT_SILENCE;
	char until[CLOCK_STAMP_SIZE];

	if (!silence && d->kind != ACT_OVERRIDE)
		return xasprintf("%s%s%s", ways[d->kind].said, more ? "; " : "", more ? more : "");
	if (!d->until_us)
		return xasprintf("the %s has ended", silence ? "silence" : "override");
	clock_stamp(d->until_us, until);
	return xasprintf("%s until %s", ways[d->kind].said, until);
}

void doing_book(struct doing *d)
{
	CLEANUP(freep) char *said = said_of(d);
	struct err err = ERR_INIT;
	int r = ways[d->kind].book ? ways[d->kind].book(d, &err) : 0;

	forgive(d);
	if (r < 0)
		log_warning("done, but not as the record had it: %s", err.msg);
	if (d->phase == PHASE_TEST)
		return;
	doing_end(d, ACTION_DONE, 200, said);
}

uint64_t doing_refused_us(struct doing *d)
{
	struct act_host *host = act_need_host(d->act, d->node);

	host->refusals.base_us = REFUSED_BASE_US;
	host->refusals.cap_us = REFUSED_CAP_US;
	return backoff_fail(&host->refusals, REFUSED_LEAST_US, random_u64());
}

void doing_try_again(struct doing *d, const struct cluster_answer *answer)
{
	uint64_t wait_us = backoff_fail(&d->backoff, answer->retry_us, random_u64());

	if (answer->result == CLUSTER_REFUSED)
		wait_us = doing_refused_us(d);
	d->question = 0;
	if (d->backoff.failures > TRIES_MAX) {
		doing_end(d, ACTION_FAILED, 503, answer->words);
		return;
	}
	d->again_us = act_mono_us(d->act) + wait_us;
	log_warning("not yet %s node=%s tries=%u: %s", action_kind_names[d->kind], d->node,
		    d->backoff.failures, answer->words);
}

/* The node is another one than that which was decided on: decide again. */
static void on_conflict(struct doing *d, const struct cluster_answer *answer)
{
	struct act_host *host = act_need_host(d->act, d->node);

	d->act->counts.conflicts++;
	if (d->decision == DECIDE_NOTHING) {
		doing_try_again(d, answer);
		return;
	}
	host->conflicts.base_us = CONFLICT_BASE_US;
	host->conflicts.cap_us = CONFLICT_CAP_US;
	host->again_us = act_mono_us(d->act) + backoff_fail(&host->conflicts, 0, random_u64());
	doing_end(d, ACTION_DROPPED, 409, answer->words);
}

/* While the answer was on its way its node may have gone, and another one come by its name. */
static bool is_of_the_node(const struct doing *d, const struct cluster_answer *answer)
{
	const struct act_host *host = act_host(d->act, d->node);

	return host && host->there && (!answer->node || streq(answer->node->uid, host->c.uid));
}

static void on_done(struct doing *d, const struct cluster_answer *answer)
{
	if (is_of_the_node(d, answer))
		doing_book(d);
	else
		doing_end(d, ACTION_DROPPED, 404, "the node that it was done to is gone");
}

static void on_touched(void *context, const struct cluster_answer *answer)
{
	struct doing *d = context;

	d->out = false;
	if (d->orphan) {
		doing_free(d);
		return;
	}
	switch (answer->result) {
	case CLUSTER_DONE:
		on_done(d, answer);
		break;
	case CLUSTER_CONFLICT:
		on_conflict(d, answer);
		break;
	case CLUSTER_NOT_OURS:
		doing_end(d, ACTION_REFUSED, 409, answer->words);
		d->end_rule = xstrdup("not-ours");
		d->end_allows = xstrdup("lift it where it was set: we never lift another's");
		break;
	case CLUSTER_GONE:
		doing_end(d, ACTION_DROPPED, 404, answer->words);
		break;
	case CLUSTER_REFUSED:
	case CLUSTER_AGAIN:
		if (d->kind == ACT_EVICT)
			drain_again(d, answer);
		else
			doing_try_again(d, answer);
		break;
	}
}

/* What was decided on a node as it was is decided again; what is to be done anyway waits. */
static void hold_back(struct doing *d, const char *words)
{
	d->again_us = act_mono_us(d->act) + STOPPED_US;
	if (kind_reserves(d->kind) || (d->decision != DECIDE_NOTHING && d->kind != ACT_EVICT))
		doing_end(d, ACTION_DROPPED, 409, words);
}

bool doing_is_void(struct doing *d)
{
	const char *stale = d->act->fleet.stale;

	if (!stale || d->decision == DECIDE_NOTHING || !kind_touches(d->kind) ||
	    d->phase > PHASE_TOUCH)
		return false;
	hold_back(d, stale);
	return true;
}

void doing_touch(struct doing *d)
{
	const struct cluster_call call = { on_touched, d };
	const char *stopped;

	if (!ways[d->kind].touch) {
		doing_book(d);
		return;
	}
	stopped = cluster_stopped(d->act->options.cluster);
	if (stopped) {
		hold_back(d, stopped);
		return;
	}
	if (d->kind == ACT_EVICT && drain_stops(d))
		return;
	if (!act_confirmed(d))
		return;
	d->out = true;
	d->question = 0; /* the next time it is asked again */
	doing_send(d, &call);
}
