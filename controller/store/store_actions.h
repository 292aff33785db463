/* SPDX-License-Identifier: Apache-2.0 */
/* What was done and why, and where each host is in its life: rows of the store. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct store;
struct store_page;
struct store_range;

enum {
	STORE_ACTIONS_MAX = 100000,	/* kept; those that are over go beyond it, oldest first */
	STORE_TRANSITIONS_MAX = 100000, /* likewise */
};

enum action_kind {
	ACT_CORDON,
	ACT_UNCORDON,
	ACT_HOLD,
	ACT_UNHOLD,
	ACT_EVICT,
	ACT_RETEST,
	ACT_OVERRIDE,
	ACT_SILENCE,
	ACT_REPAIR_DONE,
	ACT_BREAKER_OPEN,
	ACT_BREAKER_RESET,
	ACT_ALERT,
	ACT_VERIFIED,	       /* the start-up taint goes, or stays */
	ACT_JOIN,	       /* a host joined by itself; recorded when it is done */
	ACT_RESET_TOKEN,       /* its token is void, and its name may join again; likewise */
	ACT_CREATE_JOIN_TOKEN, /* of no host; likewise */
	ACT_REVOKE_JOIN_TOKEN, /* likewise */
	ACT_KINDS_,	       /* not a kind: how many there are */
};
extern const char *const action_kind_names[]; /* "cordon" "uncordon" ... "breaker-open" ... */

/* Of the row. While it is decided it is under way, whatever was done of it. */
enum action_state {
	ACTION_DECIDED,
	ACTION_DONE,
	ACTION_FAILED,
	ACTION_DROPPED, /* overtaken: the reason for it, or who decided it, was gone */
	ACTION_DRY_RUN, /* what would be done */
	ACTION_REFUSED, /* by a budget, the breaker or a rule */
};
extern const char *const action_state_names[];

/* All borrowed. */
struct store_action {
	int64_t id;
	const char *node;
	int kind, state; /* enums above */
	const char *who, *rule, *reason;
	int64_t incident;	     /* 0: none */
	const char *evidence;	     /* a sentence, or NULL */
	const char *check, *subject; /* of the finding it is about, or NULL */
	const char *partner;	     /* of a test with another host, or NULL */
	bool sticky;		     /* of a cordon: only a person ends it */
	int decision;		     /* enum decision_action; 0: a person's, or clean-up */
	const char *profile;	     /* of a test of a whole host: by what; NULL: full */
	const char *undo, *result;
	const char *key; /* of a person's request, written and not read; or NULL */
	bool break_glass;
	uint64_t until_us, epoch, decided_us;
	uint64_t done_us; /* 0: it is under way */
};

/* Put one into the open transaction; its number, or a negative errno. */
int64_t store_add_action(struct store *s, const struct store_action *action, struct err *err);

/* How it went; `done_us` 0: it goes on. */
int store_end_action(struct store *s, int64_t id, int state, const char *result, uint64_t done_us,
		     struct err *err);

/* Another profile ran than was asked for. */
int store_set_action_profile(struct store *s, int64_t id, const char *profile, struct err *err);

/* Call `each` for those that are under way, oldest first. */
int store_open_actions(struct store *s,
		       void (*each)(void *context, const struct store_action *action),
		       void *context, struct err *err);

/* Newest first; `node` NULL: of all. Items as the API gives them. */
int store_actions(struct store *s, const char *node, const struct store_range *range,
		  struct store_page *ret, struct err *err);

/* One as the API gives it, new reference. -ENOENT. */
int store_action(struct store *s, int64_t id, json_t **ret_action, struct err *err);

/* The newest of a host that was asked for with this key, likewise. -ENOENT. */
int store_action_of_key(struct store *s, const char *node, const char *key, json_t **ret_action,
			struct err *err);

/* Where a host is in its life; texts are JSON. All borrowed. */
struct store_life {
	const char *node, *record, *findings;
};

int store_put_life(struct store *s, const struct store_life *life, struct err *err);
int store_drop_life(struct store *s, const char *node, struct err *err);
int store_lives(struct store *s, void (*each)(void *context, const struct store_life *life),
		void *context, struct err *err);

/* When a part was cordoned for, a JSON array. */
int store_put_part(struct store *s, const char *serial, const char *cordons, struct err *err);
int store_parts(struct store *s,
		void (*each)(void *context, const char *serial, const char *cordons), void *context,
		struct err *err);

/* A step of it. All borrowed. */
struct store_transition {
	const char *node;
	uint64_t at_us;
	int before, after; /* enum life_state */
	const char *event; /* its name */
	const char *who, *why, *evidence, *undo;
};

int store_add_transition(struct store *s, const struct store_transition *t, struct err *err);

/* Of one host, newest first. */
int store_transitions(struct store *s, const char *node, const struct store_range *range,
		      struct store_page *ret, struct err *err);

/*
 * Set "by", "reason" and "since" of the object `item`, which is about the host: those of its newest
 * step by an event of one of these names; null when none is kept.
 */
int store_add_order(struct store *s, const char *node, const char *const events[static 3],
		    json_t *item, struct err *err);

/* Counts up with every change of an incident. */
uint64_t store_incident_changes(const struct store *s);

/* A host in short. All borrowed. */
struct store_brief {
	const char *node, *sku, *topology;
	uint64_t seen_us, first_us;
	uint64_t deep_us; /* of its newest run of the profile full; 0: none */
	int level;	  /* of its verdict */
	bool unverified;  /* store_joins.h */
};

/* Call `each` for every host. */
int store_briefs(struct store *s, void (*each)(void *context, const struct store_brief *brief),
		 void *context, struct err *err);
