/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places in the budgets: the ledger as it is here and as the cluster has it. An action takes a
 * place and remembers its generation; once that generation is written the place stands, and the
 * node may be touched.
 *
 * Several controllers may be at it. The places of others stand for keep_us after they were read,
 * though their nodes do not show them; ours are renewed when they are half as old, before another
 * that has read them meanwhile could give them away. Whoever finds a higher epoch than its own has
 * been replaced.
 *
 * It calls nobody: the caller sends what is to be written or asked, hands in each answer, and goes
 * by what is returned. Times are monotonic.
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
	struct ledger ledger; /* as it is here; who changes its breaker calls reservation_changed() */
	char *version;	      /* of what the cluster has; NULL: it has none yet */
	uint64_t keep_us;     /* 0: there is no other controller */
	uint64_t generation, written; /* as it is here, as the cluster has it */
	uint64_t written_us;	      /* when what is written was sent */
	bool writing;
	uint64_t writing_generation, writing_us;
	uint64_t again_us;     /* it is not written or read before */
	uint64_t reconcile_us; /* it is compared with the nodes then, if nothing else asks for it */
	bool reconcile;	       /* something has asked for it */
	struct backoff backoff;
	unsigned conflicts; /* in a row */
	unsigned questions,
		answered; /* reservation_confirmed(): asked so far; the last that went well */
	bool confirming;  /* an answer is on its way */
};

void reservation_init(struct reservation *r, uint64_t keep_us);

/* Forget what was read and what is on its way; how often it went wrong is remembered. */
void reservation_release(struct reservation *r);

/* --- places --- */

/* Take a place: the generation that has to be written first; 0: the ledger is full. */
uint64_t reservation_take(struct reservation *r, const struct ledger_holder *holder);

/* Does it stand? Then since when, the time at which it was sent. */
bool reservation_stands(const struct reservation *r, uint64_t generation, uint64_t *ret_placed_us);

/* Has it stood for so long that another may have given it away? Then its next generation, else 0. */
uint64_t reservation_renew(struct reservation *r, uint64_t placed_us, uint64_t now_us);

/* The node carries it now. False: it was known already, or is no place of ours. */
bool reservation_done(struct reservation *r, const char *node, enum ledger_kind kind);

/* It is given back. */
void reservation_drop(struct reservation *r, const char *node, enum ledger_kind kind);

/* What became of it nobody knows: it stands a while longer. */
void reservation_keep(struct reservation *r, const char *node, enum ledger_kind kind,
		      uint64_t now_us);

/* Is it another controller's, or one of unknown fate, that stands for a while? */
bool reservation_kept(const struct reservation *r, const char *node, enum ledger_kind kind,
		      uint64_t now_us);

/* The places of actions under way, by node and kind, and what nodes carry. All borrowed. */
struct reservation_truth {
	const struct ledger_holder *nodes; /* done */
	size_t n_nodes;
	const struct ledger_holder *own; /* only node and kind are read */
	size_t n_own;
};

/*
 * Bring it in line with the nodes and what is under way; true: it has changed. A place that is
 * under way stands until its action ends or its node shows it, and another's for a while. At most
 * LEDGER_HOLDERS_MAX places are held, those of nodes first.
 */
bool reservation_reconcile(struct reservation *r, const struct reservation_truth *truth,
			   uint64_t now_us);

/* Compare it with the nodes before it is written next: one of them, or what is under way, changed. */
void reservation_want_reconcile(struct reservation *r);

/* --- to and from the cluster --- */

/* The breaker was changed: it has to be written. */
void reservation_changed(struct reservation *r);

/* What is to be written now, new memory; NULL: nothing, or one is on its way, or it is too early. */
char *reservation_text(struct reservation *r, uint64_t now_us);

/* What an answer means. */
enum reservation_result {
	RESERVATION_LATER,   /* it went wrong: not before again_us */
	RESERVATION_WRITTEN, /* places stand by now */
	RESERVATION_REREAD,  /* somebody else has written it: read it, then reservation_reread() */
	RESERVATION_READ,    /* hand it to reservation_adopt(), then write it */
	RESERVATION_REMOVED, /* somebody removed it: ours is all there is, write it */
	RESERVATION_FENCED,  /* another controller has taken over: its epoch is in what was read */
	RESERVATION_UNREADABLE,
};

enum reservation_result reservation_written(struct reservation *r,
					    const struct cluster_answer *answer, uint64_t now_us);

/* What was read: the ledger, which is the caller's until it is adopted, and ours from then on. */
struct reservation_news {
	struct ledger ledger;
	uint64_t epoch;	     /* it is adopted with */
	const char *version; /* of the answer */
};

/*
 * For the first time: whoever takes it over last has it. What was read is taken with
 * RESERVATION_READ, here and below; what is wrong goes to `err`.
 */
enum reservation_result reservation_take_over(struct reservation *r,
					      const struct cluster_answer *answer,
					      struct ledger_reading *reading, uint64_t now_us,
					      struct reservation_news *ret, struct err *err);

/*
 * After a conflict: another controller wrote it, or a person who mended it. Cordons that were
 * counted here and are not in what was read count all the same, and so does a breaker that opened
 * here since.
 */
enum reservation_result reservation_reread(struct reservation *r,
					   const struct cluster_answer *answer,
					   struct ledger_reading *reading, uint64_t now_us,
					   struct reservation_news *ret, struct err *err);

/* A write is over without an answer that counts: what follows is a new start. */
void reservation_write_ended(struct reservation *r);

/*
 * What was read replaces ours: others' places in it stand, and those under way here (`truth->own`)
 * are in it. Whether an action was one of ours, before we were started again, the store knows.
 */
void reservation_adopt(struct reservation *r, struct reservation_news *news,
		       const struct reservation_truth *truth, struct store *store, uint64_t now_us);

/* --- the last look --- */

/*
 * Was the cluster asked who is out of service, after this place stood? `question` is 0 at
 * first, and then the first that counts; one stands for all that wait when it is asked.
 */
bool reservation_confirmed(const struct reservation *r, unsigned *question);

/* Is it to be asked now? False: an answer is on its way. */
bool reservation_ask(struct reservation *r);
void reservation_answered(struct reservation *r, bool went_well);
