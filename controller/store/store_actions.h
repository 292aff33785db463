/* SPDX-License-Identifier: Apache-2.0 */
/* Actions, and the life of each host: rows of the store. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct store;
struct store_page;
struct store_range;

enum {
	STORE_ACTIONS_MAX = 100000,	/* kept; beyond that the oldest finished ones are deleted */
	STORE_TRANSITIONS_MAX = 100000, /* the same */
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
	ACT_VERIFIED,	 /* the start-up taint is removed, or stays */
	ACT_JOIN,	 /* a host joined by itself; recorded when done */
	ACT_RESET_TOKEN, /* its token was revoked, its name may join again; recorded when done */
	ACT_CREATE_JOIN_TOKEN, /* of no host; recorded when done */
	ACT_REVOKE_JOIN_TOKEN, /* the same */
	ACT_KINDS_,	       /* number of kinds */
};
extern const char *const action_kind_names[]; /* "cordon" "uncordon" ... "breaker-open" ... */

/* State of a row. Until it ends it is "decided", whatever was done. */
enum action_state {
	ACTION_DECIDED,
	ACTION_DONE,
	ACTION_FAILED,
	ACTION_DROPPED, /* overtaken: its reason, or who decided it, is gone */
	ACTION_DRY_RUN, /* only what would be done */
	ACTION_REFUSED, /* by a budget, the breaker or a rule */
};
extern const char *const action_state_names[];

/* All borrowed. */
struct store_action {
	int64_t id;
	const char *node;
	int kind, state; /* enum action_kind, action_state */
	const char *who, *rule, *reason;
	int64_t incident;	     /* 0: none */
	const char *evidence;	     /* sentence, or NULL */
	const char *check, *subject; /* of the finding it concerns, or NULL */
	const char *partner;	     /* for a test with another host, or NULL */
	bool sticky;		     /* cordon: only a person can lift it */
	int decision;		     /* enum decision_action; 0: by a person, or clean-up */
	const char *profile;	     /* for a test of a whole host: its profile; NULL: full */
	const char *undo, *result;
	const char *key; /* of a person's request, only written; or NULL */
	bool break_glass;
	uint64_t until_us, epoch, decided_us;
	uint64_t done_us; /* 0: in progress */
};

/* Add one in the open transaction. Returns its number, or a negative errno. */
int64_t store_add_action(struct store *s, const struct store_action *action, struct err *err);

/* Set its outcome; `done_us` 0: it goes on. */
int store_end_action(struct store *s, int64_t id, int state, const char *result, uint64_t done_us,
		     struct err *err);

/* A different profile was run than requested. */
int store_set_action_profile(struct store *s, int64_t id, const char *profile, struct err *err);

/* Call `each` for those in progress, oldest first. */
int store_open_actions(struct store *s,
		       void (*each)(void *context, const struct store_action *action),
		       void *context, struct err *err);

/* Newest first; `node` NULL: all. Items as returned by the API. */
int store_actions(struct store *s, const char *node, const struct store_range *range,
		  struct store_page *ret, struct err *err);

/* An action as returned by the API, new reference. -ENOENT. */
int store_action(struct store *s, int64_t id, json_t **ret_action, struct err *err);

/* The newest of a host with this request key, as store_action(). -ENOENT. */
int store_action_of_key(struct store *s, const char *node, const char *key, json_t **ret_action,
			struct err *err);

/* The life state of a host; texts are JSON. All borrowed. */
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

/* A transition. All borrowed. */
struct store_transition {
	const char *node;
	uint64_t at_us;
	int before, after; /* enum life_state */
	const char *event; /* name of the event */
	const char *who, *why, *evidence, *undo;
};

int store_add_transition(struct store *s, const struct store_transition *t, struct err *err);

/* Of one host, newest first. */
int store_transitions(struct store *s, const char *node, const struct store_range *range,
		      struct store_page *ret, struct err *err);

/*
 * Set "by", "reason" and "since" of the object `item` about the host, from its newest transition by
 * an event with one of these names; null if there is none.
 */
int store_add_order(struct store *s, const char *node, const char *const events[static 3],
		    json_t *item, struct err *err);

/* Incremented with each change of an incident. */
uint64_t store_incident_changes(const struct store *s);

/* A host in brief. All borrowed. */
struct store_brief {
	const char *node, *sku, *topology;
	uint64_t seen_us, first_us;
	uint64_t deep_us; /* its newest run of the profile full; 0: none */
	int level;	  /* of its verdict */
	bool unverified;  /* store_joins.h */
};

/* Call `each` for every host. */
int store_briefs(struct store *s, void (*each)(void *context, const struct store_brief *brief),
		 void *context, struct err *err);
