/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger: nodes that we took or are about to take out of service, and the breaker. One text in
 * the cluster, changed by compare and swap before a node is touched, so that two controllers, or
 * one that was killed and restarted, can never take more nodes than the budget has. Pure.
 *
 * - nodes are the truth, the ledger is the lock: a holder without its mark on the node, and without
 *   an action in progress, is dropped (ledger_reconcile()); that of another controller, which may
 *   be about to touch the node, only after a while;
 * - a new controller first writes an epoch one higher; a controller that finds a higher epoch than
 *   its own has been replaced, and touches nothing any more;
 * - the rate's window is part of it, so no cordon is forgotten in a restart.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/breaker.h"

struct err;

enum {
	LEDGER_HOLDERS_MAX = 1024, /* keeps the text below the 256 KiB of an annotation */
	LEDGER_TEXT_MAX = 256 * 1024,
};

enum ledger_kind { LEDGER_CORDON, LEDGER_HOLD };

struct ledger_holder {
	char *node;
	char *domain; /* or NULL */
	char *job;    /* or NULL */
	char *action; /* number of the action */
	int kind;     /* enum ledger_kind */
	bool done;    /* the node shows it; false: reserved */
	uint64_t at_us;
	uint64_t kept_us; /* monotonic: another controller's, respected until then; not in the text */
};

struct ledger {
	uint64_t epoch;
	struct breaker breaker; /* includes the cordons that count for the rate */
	struct ledger_holder *holders;
	size_t n_holders;
};

void ledger_release(struct ledger *l);

/* Returns -EINVAL if the text is invalid; nobody may act on it then. */
int ledger_decode(const char *text, struct ledger *ret, struct err *err);

/* The cluster's text, decoded: the ledger, or what is wrong. */
struct ledger_reading {
	struct ledger ledger; /* whoever takes it zeroes it */
	char *wrong;	      /* NULL: valid */
};

/* `text` NULL: not read, and not wrong. */
struct ledger_reading ledger_reading_of(const char *text);
void ledger_reading_release(struct ledger_reading *reading);

/* New memory. */
char *ledger_encode(const struct ledger *l);

/* NULL: the node has no place of this kind. */
struct ledger_holder *ledger_find(const struct ledger *l, const char *node, int kind);

/* Take a place; false if the ledger is full. A place already held is updated. */
bool ledger_reserve(struct ledger *l, const struct ledger_holder *holder);
void ledger_drop(struct ledger *l, const char *node, int kind);

/*
 * Reconcile it with the nodes: `truth` are the holders found on them and the actions in progress.
 * Returns whether anything changed.
 */
bool ledger_reconcile(struct ledger *l, const struct ledger_holder *truth, size_t n);
