/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger: who is out of service or about to be because of us, and the
 * breaker. One text in the cluster, changed by compare and swap before a node
 * is touched, so that two controllers, or one that was killed and started again,
 * can never take more nodes than the budget has. Pure.
 *
 *  - nodes are the truth, the ledger is the lock: a holder without its mark on
 *    the node, and without an action under way, is dropped (ledger_reconcile()); that of
 *    another controller, which may be about to touch the node, only after a while;
 *  - a new controller writes an epoch one higher first; whoever then finds a
 *    higher epoch than its own has been replaced, and touches nothing any more;
 *  - the window of the rate is in here, so a restart forgets no cordon.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/breaker.h"

struct err;

enum {
	LEDGER_HOLDERS_MAX = 1024, /* the text stays below the 256 KiB of an annotation */
	LEDGER_TEXT_MAX = 256 * 1024,
};

enum ledger_kind { LEDGER_CORDON, LEDGER_HOLD };

struct ledger_holder {
	char *node;
	char *domain; /* or NULL */
	char *job;    /* or NULL */
	char *action; /* its number */
	int kind;     /* enum ledger_kind */
	bool done;    /* the node carries it; false: reserved */
	uint64_t at_us;
	uint64_t kept_us; /* monotonic: another's, it stands until then; not in the text */
};

struct ledger {
	uint64_t epoch;
	struct breaker breaker; /* with the cordons that count for the rate */
	struct ledger_holder *holders;
	size_t n_holders;
};

void ledger_release(struct ledger *l);

/* -EINVAL for a text that is none: then nobody may act on it. */
int ledger_decode(const char *text, struct ledger *ret, struct err *err);

/* What the cluster has as its text: the ledger, or why that is none. */
struct ledger_reading {
	struct ledger ledger; /* whoever takes it zeroes it */
	char *wrong;	      /* NULL: it is one */
};

/* `text` NULL: nothing was read, and nothing is wrong. */
struct ledger_reading ledger_reading_of(const char *text);
void ledger_reading_release(struct ledger_reading *reading);

/* New memory. */
char *ledger_encode(const struct ledger *l);

/* NULL: it holds nothing of this kind. */
struct ledger_holder *ledger_find(const struct ledger *l, const char *node, int kind);

/* Take a place; false when the ledger is full. What is held already is brought up to date. */
bool ledger_reserve(struct ledger *l, const struct ledger_holder *holder);
void ledger_drop(struct ledger *l, const char *node, int kind);

/*
 * Bring it in line with the nodes: `truth` are the holders found on them and the actions
 * under way. Returns whether anything changed.
 */
bool ledger_reconcile(struct ledger *l, const struct ledger_holder *truth, size_t n);
