/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places in the budgets: the ledger as known here and as the cluster has it. An action takes a
 * place and remembers its generation; once that generation is written the place stands, and the
 * node may be touched.
 *
 * There may be several controllers. Places of others are respected for keep_us after they were
 * read, although their nodes do not show them; ours are renewed at half that age, before a
 * controller that has read them could give them away. A controller that finds a higher epoch than
 * its own has been replaced.
 *
 * No callbacks: the caller sends what is to be written or asked, hands in each answer, and acts on
 * the return value. Times are monotonic.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "controller/cluster/ledger.h"
#include "lib/base/backoff.h"
#include "lib/base/macro.h"

struct cluster_answer;
struct err;
struct store;

struct reservation {
	struct ledger ledger; /* local state; call reservation_changed() after changing its breaker */
	char *version;	      /* of what the cluster has; NULL: nothing yet */
	uint64_t keep_us;     /* 0: no other controllers */
	uint64_t generation, written; /* local, and at the cluster */
	uint64_t written_us;	      /* when the written generation was sent */
	bool writing;
	uint64_t writing_generation, writing_us;
	uint64_t again_us;     /* earliest next write or read */
	uint64_t reconcile_us; /* next periodic reconciliation with the nodes */
	bool reconcile;	       /* reconciliation was requested */
	struct backoff backoff;
	unsigned conflicts; /* in a row */
	unsigned questions,
		answered; /* of reservation_confirmed(): asked so far; the last that succeeded */
	bool confirming;  /* waiting for an answer */
};

void reservation_init(struct reservation *r, uint64_t keep_us);

/* Forget the ledger and the requests in flight, but keep the count of failures. */
void reservation_release(struct reservation *r);

/* --- places --- */

/* Take a place. Returns the generation that has to be written first; 0: the ledger is full. */
uint64_t reservation_take(struct reservation *r, const struct ledger_holder *holder);

/* Does the place stand? If so, `ret_placed_us` is the time at which it was sent. */
bool reservation_stands(const struct reservation *r, uint64_t generation, uint64_t *ret_placed_us);

/*
 * Is it so old that another controller may have given it away? Returns its next generation, or 0.
 */
uint64_t reservation_renew(struct reservation *r, uint64_t placed_us, uint64_t now_us);

/* The node shows it now. Returns false if that was known, or the place is not ours. */
bool reservation_done(struct reservation *r, const char *node, enum ledger_kind kind);

/* Give the place back. */
void reservation_drop(struct reservation *r, const char *node, enum ledger_kind kind);

/* Whether it took effect is unknown: keep the place for a while. */
void reservation_keep(struct reservation *r, const char *node, enum ledger_kind kind,
		      uint64_t now_us);

/* Is it another controller's place, or one with an unknown outcome, that is kept for a while? */
bool reservation_kept(const struct reservation *r, const char *node, enum ledger_kind kind,
		      uint64_t now_us);

/* The places of actions in progress, by node and kind, and those that nodes show. All borrowed. */
struct reservation_truth {
	const struct ledger_holder *nodes; /* done */
	size_t n_nodes;
	const struct ledger_holder *own; /* only node and kind are read */
	size_t n_own;
};

/*
 * Reconcile the ledger with the nodes and the actions in progress. Returns true if it has changed.
 * The place of an action in progress stands until it ends or its node shows it, and another
 * controller's for a while. At most LEDGER_HOLDERS_MAX places are held, those of nodes first.
 */
bool reservation_reconcile(struct reservation *r, const struct reservation_truth *truth,
			   uint64_t now_us);

/* Reconcile before the next write: a node or the actions in progress have changed. */
void reservation_want_reconcile(struct reservation *r);

/* --- to and from the cluster --- */

/* The breaker was changed and must be written. */
void reservation_changed(struct reservation *r);

/*
 * Returns what to write now in new memory; NULL: nothing, a write is in flight, or it is too early.
 */
char *reservation_text(struct reservation *r, uint64_t now_us);

/* What to do after an answer. */
enum reservation_result {
	RESERVATION_LATER,   /* it failed: retry after again_us */
	RESERVATION_WRITTEN, /* places may stand now */
	RESERVATION_REREAD,  /* somebody else wrote it: read it, then reservation_reread() */
	RESERVATION_READ,    /* hand it to reservation_adopt(), then write it */
	RESERVATION_REMOVED, /* somebody removed it: write ours, the only copy */
	RESERVATION_FENCED,  /* another controller has taken over: the ledger has its epoch */
	RESERVATION_UNREADABLE,
};

enum reservation_result reservation_written(struct reservation *r,
					    const struct cluster_answer *answer, uint64_t now_us);

/* The ledger that was read. Owned by the caller until it is adopted. */
struct reservation_news {
	struct ledger ledger;
	uint64_t epoch;	     /* epoch to adopt it with */
	const char *version; /* from the answer */
};

/*
 * The first read: whoever takes over last owns the ledger. If it returns RESERVATION_READ, `ret` is
 * set, here and below; otherwise `err` says what is wrong.
 */
enum reservation_result reservation_take_over(struct reservation *r,
					      const struct cluster_answer *answer,
					      struct ledger_reading *reading, uint64_t now_us,
					      struct reservation_news *ret, struct err *err);

/*
 * After a conflict: another controller wrote it, or a person who repaired it. Cordons counted here
 * that are missing in what was read still count, and so does a breaker that has opened here since.
 */
enum reservation_result reservation_reread(struct reservation *r,
					   const struct cluster_answer *answer,
					   struct ledger_reading *reading, uint64_t now_us,
					   struct reservation_news *ret, struct err *err);

/* A write has ended without a usable answer; a new start follows. */
void reservation_write_ended(struct reservation *r);

/*
 * Replace our ledger with what was read: places of others in it stand, and those of our actions in
 * progress (`truth->own`) are in it. The store knows whether an action was ours from before a
 * restart.
 */
void reservation_adopt(struct reservation *r, struct reservation_news *news,
		       const struct reservation_truth *truth, struct store *store, uint64_t now_us);

/* --- confirmation --- */

/*
 * Was the cluster asked who is out of service after this place stood? `question` is 0 at first, and
 * then the first question that counts; one question serves all that wait when it is asked.
 */
bool reservation_confirmed(const struct reservation *r, unsigned *question);

/* Should the question be sent now? False: an answer is pending. */
bool reservation_ask(struct reservation *r);
void reservation_answered(struct reservation *r, bool went_well);
