/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What decides becomes what is done. One actor owns every effect on the
 * cluster, whoever asked for it: the policy, assayctl, or a hand at the cluster that
 * it finds out about.
 *
 *	decided --> recorded --> reserved --> done on the node --> recorded
 *	            (store)      (ledger)     (cluster)            (store, ledger)
 *
 * Invariants:
 *  - nothing is touched before it stands in the store with who, why and evidence, and
 *    nothing takes a host out of service before the ledger has its place;
 *  - whatever was killed in between is found out at the next start from the node itself:
 *    done and not recorded is recorded, reserved and not done is given back;
 *  - another's cordon is never lifted, a person's uncordon is an order;
 *  - every way back into service is the same one (release.c).
 *
 * Nothing here blocks: what is asked is answered later, when it is durable.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/store/store_actions.h"
#include "lib/base/macro.h"

struct act;
struct err;

/* An order of a person. All borrowed. */
struct act_ask {
	const char *node;
	const char *who;    /* "operator NAME" or what the identity says */
	const char *reason; /* never empty */
	bool break_glass;   /* a cordon beyond the budgets and the breaker: recorded as such */
	uint64_t until_us;  /* of override and silence: real time; 0 takes it back */
};

/* What came of it. All borrowed until the callback returns. */
struct act_said {
	unsigned status;    /* 200 done; 404, 409, 422, 503 */
	int64_t action;	    /* its number, or 0 */
	const char *rule;   /* what refused: "budget.total", "breaker", "not-ours", ...; or NULL */
	const char *words;  /* one sentence: what was done, or why not */
	const char *allows; /* of a refusal: what would allow it; or NULL */
};
typedef void act_told(void *context, const struct act_said *said);

/*
 * Ask for it: ACT_CORDON, ACT_UNCORDON, ACT_REPAIR_DONE, ACT_OVERRIDE, ACT_SILENCE,
 * ACT_BREAKER_RESET (no node). `told` is called once, maybe before this returns; not after
 * act_leave().
 */
void act_ask(struct act *act, enum action_kind kind, const struct act_ask *ask, act_told *told,
	     void *context);

/* Who asked with this context is gone: it is done all the same, and nobody told. */
void act_leave(struct act *act, const void *context);

/* --- what the API shows; new references --- */

/*
 * {"state", "since", "by", "cordon": {mark}|null, "schedulable", "override_until", "silence_until",
 * "hold": {until, by}|null, "passes", "tested", "managed", "hands_off", "unverified", "labels",
 * "undo"}. NULL for a host that the cluster does not have.
 */
json_t *act_node_json(const struct act *act, const char *node);

/*
 * Does it take jobs, and who has it that it does not? {"state", "by", "reason", "since",
 * "hold_until", "silence_until", "override_until"}; NULL for a host that the cluster does not have.
 */
json_t *act_service_json(const struct act *act, const char *node);

/* Is it a node of the cluster? 0: it reports, and is nobody's to act on. -1: not known yet. */
int act_in_cluster(const struct act *act, const char *node);

/* {"open", "reason", "by", "at", "reset", "mode", "epoch", "stale", "budget": [{rule, used, limit}]} */
json_t *act_breaker_json(const struct act *act);

/* Hosts whose deep verdict is older than it may be, the oldest first: [{node, tested, ordered}]. */
json_t *act_coverage_json(const struct act *act);

/*
 * What an RMA needs of what was done: {"life", "transitions", "actions"}, newest first. -ENOENT for
 * a host that nothing is known of.
 */
int act_evidence(struct act *act, const char *node, json_t **ret_bundle, struct err *err);
