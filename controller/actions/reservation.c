/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/reservation.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "controller/cluster/cluster.h"
#include "controller/store/store_actions.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

#define RETRY_BASE_US (500 * USEC_PER_MSEC)
#define RETRY_CAP_US (60 * USEC_PER_SEC)

/* Interval of the periodic reconciliation with the nodes. */
#define RECONCILE_US (10 * USEC_PER_MIN)

/* Others write it too, in turn with us: more conflicts in a row call for a back-off. */
enum { CONFLICTS_AT_ONCE = 3 };

void reservation_init(struct reservation *r, uint64_t keep_us)
{
	*r = (struct reservation){ .keep_us = keep_us,
				   .backoff = { .base_us = RETRY_BASE_US, .cap_us = RETRY_CAP_US } };
}

void reservation_release(struct reservation *r)
{
	ledger_release(&r->ledger);
	free(TAKE(r->version));
	r->generation = r->written = 0;
	r->reconcile_us = 0;
	r->writing = r->confirming = r->reconcile = false;
}

/* --- places --- */

uint64_t reservation_take(struct reservation *r, const struct ledger_holder *holder)
{
	return ledger_reserve(&r->ledger, holder) ? ++r->generation : 0;
}

bool reservation_stands(const struct reservation *r, uint64_t generation, uint64_t *ret_placed_us)
{
	if (r->written < generation)
		return false;
	*ret_placed_us = r->written_us;
	return true;
}

uint64_t reservation_renew(struct reservation *r, uint64_t placed_us, uint64_t now_us)
{
	return r->keep_us > 0 && now_us - placed_us >= r->keep_us / 2 ? ++r->generation : 0;
}

bool reservation_done(struct reservation *r, const char *node, enum ledger_kind kind)
{
	struct ledger_holder *h = ledger_find(&r->ledger, node, (int)kind);

	if (!h || h->done)
		return false;
	h->done = true;
	r->generation++;
	return true;
}

void reservation_drop(struct reservation *r, const char *node, enum ledger_kind kind)
{
	ledger_drop(&r->ledger, node, (int)kind);
	r->generation++;
}

void reservation_keep(struct reservation *r, const char *node, enum ledger_kind kind,
		      uint64_t now_us)
{
	struct ledger_holder *h = ledger_find(&r->ledger, node, (int)kind);

	if (h)
		h->kept_us = now_us + r->keep_us;
}

bool reservation_kept(const struct reservation *r, const char *node, enum ledger_kind kind,
		      uint64_t now_us)
{
	const struct ledger_holder *h = ledger_find(&r->ledger, node, (int)kind);

	return h && h->kept_us > now_us;
}

/* --- nodes are the truth --- */

struct holders {
	struct ledger_holder *list; /* strings are borrowed */
	size_t n;
};

static void add(struct holders *all, const struct ledger_holder *holder)
{
	if (all->n < LEDGER_HOLDERS_MAX)
		all->list[all->n++] = *holder;
}

static bool has(const struct holders *all, const struct ledger_holder *like)
{
	size_t i;

	for (i = 0; i < all->n; i++) {
		if (all->list[i].kind == like->kind && streq(all->list[i].node, like->node))
			return true;
	}
	return false;
}

/* Returns the place reserved for an action in progress here, or NULL. */
static const struct ledger_holder *reserved(const struct reservation *r,
					    const struct ledger_holder *own)
{
	const struct ledger_holder *h = ledger_find(&r->ledger, own->node, own->kind);

	return h && !h->done ? h : NULL;
}

/* Add the places of others that still stand. Returns when the first of them ends. */
static uint64_t add_kept(struct holders *all, const struct reservation *r, uint64_t now_us)
{
	uint64_t first_us = now_us + RECONCILE_US;
	size_t i;

	for (i = 0; i < r->ledger.n_holders; i++) {
		const struct ledger_holder *h = &r->ledger.holders[i];

		if (h->kept_us <= now_us)
			continue;
		first_us = MIN(first_us, h->kept_us);
		if (!has(all, h))
			add(all, h);
	}
	return first_us;
}

bool reservation_reconcile(struct reservation *r, const struct reservation_truth *truth,
			   uint64_t now_us)
{
	const size_t room = truth->n_nodes + truth->n_own + r->ledger.n_holders + 1;
	struct holders all = { xcalloc(room, sizeof(*all.list)), 0 };
	const struct ledger_holder *h;
	bool changed;
	size_t i;

	for (i = 0; i < truth->n_nodes; i++)
		add(&all, &truth->nodes[i]);
	for (i = 0; i < truth->n_own; i++) {
		h = reserved(r, &truth->own[i]);
		if (h && !has(&all, h))
			add(&all, h);
	}
	r->reconcile = false;
	r->reconcile_us = add_kept(&all, r, now_us);
	changed = ledger_reconcile(&r->ledger, all.list, all.n);
	r->generation += changed;
	free(all.list);
	return changed;
}

void reservation_want_reconcile(struct reservation *r)
{
	r->reconcile = true;
}

/* --- write --- */

void reservation_changed(struct reservation *r)
{
	r->generation++;
}

static enum reservation_result postpone(struct reservation *r, uint64_t least_us, uint64_t now_us)
{
	r->again_us = now_us + backoff_fail(&r->backoff, least_us, random_u64());
	return RESERVATION_LATER;
}

static void set_version(struct reservation *r, const char *version)
{
	free(r->version);
	r->version = xstrdup(version);
}

char *reservation_text(struct reservation *r, uint64_t now_us)
{
	if (r->writing || r->written == r->generation || r->again_us > now_us)
		return NULL;
	r->writing = true;
	r->writing_generation = r->generation;
	r->writing_us = now_us;
	return ledger_encode(&r->ledger);
}

enum reservation_result reservation_written(struct reservation *r,
					    const struct cluster_answer *answer, uint64_t now_us)
{
	if (answer->result == CLUSTER_CONFLICT) {
		if (++r->conflicts > CONFLICTS_AT_ONCE)
			(void)postpone(r, 0, now_us);
		return RESERVATION_REREAD;
	}
	r->writing = false;
	if (answer->result != CLUSTER_DONE)
		return postpone(r, answer->retry_us, now_us);
	backoff_reset(&r->backoff);
	r->conflicts = 0;
	set_version(r, answer->version);
	r->written = r->writing_generation;
	r->written_us = r->writing_us;
	return RESERVATION_WRITTEN;
}

/* --- read --- */

/* Did we take the place before a restart? No two controllers share an epoch. */
static bool was_ours(struct store *store, const struct ledger *fresh, const struct ledger_holder *h)
{
	CLEANUP(json_freep) json_t *row = NULL;

	if (!h->action || store_action(store, strtoll(h->action, NULL, 10), &row, NULL) < 0)
		return false;
	return streq(json_string_value(json_object_get(row, "node")), h->node) &&
	       json_integer_value(json_object_get(row, "epoch")) == (json_int_t)fresh->epoch;
}

/* Whoever wrote this ledger may be about to touch the nodes it has places for. */
static void keep_others(const struct reservation *r, struct ledger *fresh, struct store *store,
			uint64_t now_us)
{
	size_t i;

	for (i = 0; i < fresh->n_holders; i++) {
		struct ledger_holder *h = &fresh->holders[i];
		const struct ledger_holder *known = ledger_find(&r->ledger, h->node, h->kind);

		if (known && streq(known->action, h->action))
			h->kept_us = known->kept_us;
		else if (!was_ours(store, fresh, h))
			h->kept_us = now_us + r->keep_us;
	}
}

void reservation_adopt(struct reservation *r, struct reservation_news *news,
		       const struct reservation_truth *truth, struct store *store, uint64_t now_us)
{
	const struct ledger_holder *h;
	size_t i;

	keep_others(r, &news->ledger, store, now_us);
	for (i = 0; i < truth->n_own; i++) {
		h = reserved(r, &truth->own[i]);
		if (h)
			(void)ledger_reserve(&news->ledger, h);
	}
	ledger_release(&r->ledger);
	r->ledger = news->ledger;
	r->ledger.epoch = news->epoch;
	news->ledger = (struct ledger){ 0 };
	set_version(r, news->version);
	r->generation++;
}

static void merge_breaker(const struct breaker *own, struct breaker *fresh)
{
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

/* RESERVATION_READ, or why nothing was read; after RESERVATION_LATER it is read again. */
static enum reservation_result result_of(struct reservation *r, const struct cluster_answer *answer,
					 const struct ledger_reading *reading, uint64_t now_us,
					 struct err *err)
{
	if (answer->result == CLUSTER_GONE)
		return RESERVATION_REMOVED;
	if (answer->result != CLUSTER_DONE) {
		(void)err_set(err, EAGAIN, "%s", answer->words);
		return postpone(r, answer->retry_us, now_us);
	}
	if (reading->wrong) {
		(void)err_set(err, EINVAL, "%s", reading->wrong);
		return RESERVATION_UNREADABLE;
	}
	return RESERVATION_READ;
}

enum reservation_result reservation_take_over(struct reservation *r,
					      const struct cluster_answer *answer,
					      struct ledger_reading *reading, uint64_t now_us,
					      struct reservation_news *ret, struct err *err)
{
	const enum reservation_result result = result_of(r, answer, reading, now_us, err);

	if (result != RESERVATION_READ && result != RESERVATION_REMOVED)
		return result;
	*ret = (struct reservation_news){
		.ledger = reading->ledger, /* empty if it was removed */
		.epoch = MAX(reading->ledger.epoch, r->ledger.epoch) + 1,
		.version = result == RESERVATION_READ ? answer->version : NULL,
	};
	reading->ledger = (struct ledger){ 0 };
	return RESERVATION_READ;
}

void reservation_write_ended(struct reservation *r)
{
	r->writing = false;
}

enum reservation_result reservation_reread(struct reservation *r,
					   const struct cluster_answer *answer,
					   struct ledger_reading *reading, uint64_t now_us,
					   struct reservation_news *ret, struct err *err)
{
	const enum reservation_result result = result_of(r, answer, reading, now_us, err);

	r->writing = false;
	if (result == RESERVATION_REMOVED) {
		free(TAKE(r->version));
		r->generation++;
	}
	if (result == RESERVATION_UNREADABLE)
		return postpone(r, 0, now_us); /* a person may be repairing it */
	if (result != RESERVATION_READ)
		return result;
	if (reading->ledger.epoch > r->ledger.epoch)
		return RESERVATION_FENCED;
	/* Take over its breaker; places are reconciled with the nodes. */
	merge_breaker(&r->ledger.breaker, &reading->ledger.breaker);
	*ret = (struct reservation_news){ .ledger = reading->ledger,
					  .epoch = r->ledger.epoch,
					  .version = answer->version };
	reading->ledger = (struct ledger){ 0 };
	return RESERVATION_READ;
}

/* --- confirmation --- */

bool reservation_confirmed(const struct reservation *r, unsigned *question)
{
	if (*question == 0)
		*question = r->questions + 1;
	return *question <= r->answered;
}

bool reservation_ask(struct reservation *r)
{
	if (r->confirming)
		return false;
	r->confirming = true;
	r->questions++;
	return true;
}

void reservation_answered(struct reservation *r, bool went_well)
{
	r->confirming = false;
	if (went_well)
		r->answered = r->questions;
}
