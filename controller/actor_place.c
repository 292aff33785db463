/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places in the ledger when several controllers may have been at it: those of others stand for
 * a while after they were read, though their nodes do not show them, and ours are renewed before
 * another that has read them meanwhile could give them away.
 */
#include <stdlib.h>

#include "controller/action_inside.h"
#include "controller/store_actions.h"
#include "lib/json.h"

static int place_of(const struct doing *d)
{
	return d->kind == ACT_HOLD ? LEDGER_HOLD : LEDGER_CORDON;
}

bool act_ledger_kept(const struct act *act, const char *node, int kind)
{
	const struct ledger_holder *h = ledger_find(&act->ledger, node, kind);

	return h && h->kept_us > act_mono_us(act);
}

void act_ledger_keep(struct act *act, const struct doing *d)
{
	struct ledger_holder *h = ledger_find(&act->ledger, d->node, place_of(d));

	/* Only who was not answered may have done it. */
	if (h && d->backoff.failures > 0)
		h->kept_us = act_mono_us(act) + act->options.keep_us;
}

void act_ledger_placed(struct doing *d)
{
	if (d->phase != PHASE_RESERVE || d->act->written < d->generation)
		return;
	d->phase = PHASE_TOUCH;
	d->placed_us = d->act->written_us;
}

bool act_ledger_renew(struct doing *d)
{
	struct act *act = d->act;

	if (!kind_reserves(d->kind) || act->options.keep_us == 0 ||
	    act_mono_us(act) - d->placed_us < act->options.keep_us / 2)
		return false;
	d->phase = PHASE_RESERVE;
	act_ledger_changed(act);
	d->generation = act->generation;
	act_ledger_flush(act);
	return true;
}

/* Did we take it, before we were started again? Two epochs are never the same. */
static bool was_ours(const struct act *act, const struct ledger *fresh,
		     const struct ledger_holder *h)
{
	CLEANUP(json_freep) json_t *row = NULL;

	if (!h->action ||
	    store_action(act->options.store, strtoll(h->action, NULL, 10), &row, NULL) < 0)
		return false;
	return streq(json_string_value(json_object_get(row, "node")), h->node) &&
	       json_integer_value(json_object_get(row, "epoch")) == (json_int_t)fresh->epoch;
}

/* Whoever wrote what was just read may be about to touch what it has places for. */
static void keep_others(const struct act *act, struct ledger *fresh)
{
	const uint64_t until_us = act_mono_us(act) + act->options.keep_us;
	size_t i;

	for (i = 0; i < fresh->n_holders; i++) {
		struct ledger_holder *h = &fresh->holders[i];
		const struct ledger_holder *known = ledger_find(&act->ledger, h->node, h->kind);

		if (known && streq(known->action, h->action))
			h->kept_us = known->kept_us;
		else if (!was_ours(act, fresh, h))
			h->kept_us = until_us;
	}
}

/* What is under way here has its place, whatever was read. */
static void carry_own(const struct act *act, struct ledger *fresh)
{
	const struct doing *d;

	for (d = act->doings; d; d = d->next) {
		const struct ledger_holder *h = ledger_find(&act->ledger, d->node, place_of(d));

		if (kind_reserves(d->kind) && h && !h->done &&
		    (d->phase == PHASE_RESERVE || d->phase == PHASE_TOUCH))
			(void)ledger_reserve(fresh, h);
	}
}

void act_ledger_merge(const struct act *act, struct ledger *fresh)
{
	keep_others(act, fresh);
	carry_own(act, fresh);
}

/*
 * Cordons that were counted here and are not in what was read count all the same, and so does
 * a breaker that opened here since.
 */
void act_ledger_merge_breaker(const struct act *act, struct breaker *fresh)
{
	const struct breaker *own = &act->ledger.breaker;
	struct breaker merged = *fresh;

	if (own->n_cordons <= fresh->n_cordons && !own->open)
		return;
	if (own->open && own->opened_us > fresh->opened_us && own->reset_us == fresh->reset_us)
		merged = *own;
	if (own->n_cordons > fresh->n_cordons) {
		memcpy(merged.cordons_us, own->cordons_us, sizeof(merged.cordons_us));
		merged.n_cordons = own->n_cordons;
	}
	*fresh = merged;
}
