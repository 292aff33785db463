/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A campaign: hosts measure with each other, a round of groups after the other, until it
 * is known which of them, or which link or switch, makes collectives slow. What the results
 * say, and who runs next, is lib/pairing; here is how a round comes about:
 *
 *	waiting --> running --> over	a group: every member has its order, and answers or is
 * silent running --> done | abandoned	the campaign
 *
 * Invariants:
 *  - a group counts when each of its members has reported, and a host speaks for itself only:
 *    of what the members saw of a rail the lowest value counts, so a host that says little
 *    of itself is slow with every partner, and its partners are not;
 *  - what was not done (busy, set-up, no report) condemns nobody: the group did not run;
 *  - who does not take orders, is not idle or does not report is asked no more;
 *  - an order is written down before anybody is told it, and a restart of the controller tells none
 *    again: answers that come still count, and a group that lacks one when its time is over runs
 *    anew, under another id, when no host can be at the old order any more.
 *
 * Pure: time, whether a host can be asked, and what nobody can guess come from the caller.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/campaign/campaign_measure.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/pairing/pairing.h"

struct err;
struct report;

enum {
	CAMPAIGN_HOSTS_MAX = PAIRING_NODES_MAX,
	CAMPAIGN_GROUP_MAX = 64,  /* members of one collective: ranks of the probe all-reduce */
	CAMPAIGN_TOKEN_SIZE = 44, /* 43 of [0-9a-zA-Z_-] */
	CAMPAIGN_ID_SIZE = 64,
	CAMPAIGN_GROUPS_MAX = PAIRING_RESULTS_MAX, /* of all rounds, that a restart brings back */
	CAMPAIGN_RESUMES_MAX =
		3, /* restarts that one outlives: it may be what ends the controller */
};

/* A report may come so much after the deadline of its order, but not longer than that was. */
#define CAMPAIGN_LATE_US (30 * USEC_PER_SEC)
/* A host that cannot be asked is waited for, likewise: its call for orders may be on its way. */
#define CAMPAIGN_GRACE_US (15 * USEC_PER_SEC)
/* After a restart one is waited for so long: calls come back with a backoff (lib/base/backoff.h). */
#define CAMPAIGN_RETURN_US (2 * USEC_PER_MIN)
/* What was measured so long ago does not compare with what would be measured now. */
#define CAMPAIGN_RESUME_WITHIN_US USEC_PER_HOUR
/* A host that has its order is told again: a call may break before its answer is read. */
#define CAMPAIGN_AGAIN_US (20 * USEC_PER_SEC)

extern const char *const campaign_plan_names[]; /* by enum pairing_plan: "two-pass" ... */

enum campaign_state { CAMPAIGN_RUNNING, CAMPAIGN_DONE, CAMPAIGN_ABANDONED };
extern const char *const campaign_state_names[]; /* "running" ... */

/* Now, by both clocks. */
struct campaign_moment {
	uint64_t mono_us, real_us;
};

struct campaign_host {
	char *name;
	char *address;		       /* HOST:PORT */
	char *leaf[PAIRING_RAILS_MAX]; /* or NULL */
	enum pairing_state state;      /* GONE: it is asked no more */
	char *why;		       /* of one that is gone; or NULL */
};

/* What a member says of its group. */
struct campaign_side {
	size_t host;
	uint64_t told_us; /* monotonic: it was given its order then; 0: not */
	bool answered;
	enum pairing_outcome outcome;
	bool late;  /* it ran out of time without a word: what the others saw counts */
	bool unfit; /* the host was busy, or has nothing to measure with */
	double rails[PAIRING_RAILS_MAX]; /* B/s; 0: not measured */
	char *words;			 /* why nothing was measured, or NULL */
};

enum campaign_phase { GROUP_WAITING, GROUP_RUNNING, GROUP_OVER };
extern const char *const campaign_phase_names[];   /* "waiting" "running" "over" */
extern const char *const campaign_outcome_names[]; /* by enum pairing_outcome: "not-run" ... */

struct campaign_group {
	unsigned round;		     /* from 1 */
	unsigned attempt;	     /* from 0; another after a restart */
	bool resumed;		     /* it ran when a controller ended: who was told is not known */
	struct campaign_side *sides; /* by rank */
	size_t *members;	     /* the hosts of the sides, for the pairing */
	size_t n;
	int rail; /* that counts, or PAIRING_RAIL_ALL */
	bool cross;
	char token[CAMPAIGN_TOKEN_SIZE];
	uint64_t since_us; /* monotonic: of its round; once it runs, of its order */
	enum campaign_phase phase;
	enum pairing_outcome outcome; /* once it is over */
	double least;		      /* B/s of the slowest rail that counts, when measured */
	double rails[PAIRING_RAILS_MAX];
	char *words; /* why it did not run, or NULL */
};

struct campaign {
	int64_t id;
	struct campaign_measure measure;
	int plan;     /* enum pairing_plan */
	char *domain; /* or NULL */
	char *reason, *who;
	struct campaign_host *hosts;
	size_t n_hosts;
	struct campaign_group *groups; /* of all rounds, in order */
	size_t n_groups;
	size_t rounds, rounds_max;
	uint64_t timeout_us;	       /* of one order, an hour at most */
	size_t at_once;		       /* hosts under test at a time, unless one group has more */
	uint64_t seed;		       /* below 2^63 */
	int state;		       /* enum campaign_state */
	uint64_t started_us, ended_us; /* real time; 0: it goes on */
	unsigned resumed;	       /* restarts that it outlived */
	uint64_t returned_us; /* monotonic: it could go on again then; 0: it always could */
	struct pairing_blame blames[PAIRING_BLAMES_MAX];
	size_t n_blames;
	char *sentence; /* what came of it, or NULL */
};

/* A host to take part. All borrowed, and copied. */
struct campaign_guest {
	const char *name, *address;
	const char *leaf[PAIRING_RAILS_MAX];
	enum pairing_state state;
	const char *why; /* of PAIRING_GONE */
};

struct campaign_ask {
	int64_t id;
	struct campaign_measure measure;
	int plan;
	const char *domain, *reason, *who;
	const struct campaign_guest *hosts;
	size_t n_hosts;
	uint64_t timeout_us, seed;
	size_t at_once;
	size_t rounds_max;   /* 0: as many as the hosts may need */
	uint64_t started_us; /* real time */
};

/* -EINVAL with a sentence: fewer than two hosts that are not gone, or too many for the plan. */
int campaign_new(const struct campaign_ask *ask, struct campaign **ret, struct err *err);
void campaign_free(struct campaign *c);
DEFINE_CLEANUP(struct campaign *, campaign_free, campaign_freep);

/* What the campaign asks of those around it. */
struct campaign_around {
	/* Why this host cannot be asked now, borrowed until the next call; NULL: it can. */
	const char *(*away)(void *context, const char *node);
	/*
	 * A new token, CAMPAIGN_TOKEN_SIZE with its NUL: a secret. < 0 with a sentence when there
	 * can be none yet: the group waits for it as for a host, and then the campaign is abandoned.
	 */
	int (*token)(void *context, char *ret_token, struct err *err);
	void *context;
};

/*
 * Go on: groups that are answered or out of time are over, others begin, and after the last
 * of a round the next begins or the campaign is done. True when anything changed.
 */
bool campaign_advance(struct campaign *c, const struct campaign_moment *now,
		      const struct campaign_around *around);

/* The order that the host has to be told now; a new reference, or NULL. */
json_t *campaign_order(struct campaign *c, const char *node, const struct campaign_moment *now);

/* Does the host have to be told one? */
bool campaign_has_order(const struct campaign *c, const char *node, uint64_t mono_us);

/* Its report, which answers this order. False: it is none of ours, or it has answered. */
bool campaign_report(struct campaign *c, const char *order, const struct report *report);

/*
 * Nobody can be asked by this controller now, as early after its start: nobody is given up for it.
 * A group that runs goes on.
 */
void campaign_hold_back(struct campaign *c, uint64_t mono_us);

/* It goes on no more. */
void campaign_abandon(struct campaign *c, const char *why, uint64_t real_us);

/* The number of the host, or SIZE_MAX. */
size_t campaign_find(const struct campaign *c, const char *node);

/* All of it as the API shows it. */
json_t *campaign_json(const struct campaign *c);

/* --- what came of it, when it is done (campaign_says.c) --- */

/* One pass of a host with others. */
struct campaign_pass {
	const char *partner; /* the first other member that nothing is said against */
	bool partner_good;   /* it was good with somebody else, or known to be */
};

enum { CAMPAIGN_PASSES_MAX = 16 };

/* What is said of a host. Borrowed from the campaign. */
struct campaign_says {
	const char *node;
	bool bad; /* else it was good with somebody, and nothing is said against it */
	const char *check, *subject; /* of the finding: "all_reduce.busbw", "fabric" or "rail:3" */
	const char *words;	     /* with the passes as evidence */
	double ratio;		     /* of what the others reach; NAN: not known */
	struct campaign_pass passes[CAMPAIGN_PASSES_MAX];
	size_t n_passes;
};

/* Call `each` for all of whom something is said. */
void campaign_each(const struct campaign *c,
		   void (*each)(void *context, const struct campaign_says *says), void *context);

/* What is nobody's own fault, a sentence in new memory; NULL: nothing is. */
char *campaign_shared(const struct campaign *c);

/* Call `each` for the domain and each switch of which nothing is said, and two hosts below were good. */
void campaign_each_clear(const struct campaign *c, void (*each)(void *context, const char *place),
			 void *context);

/* Where it belongs to: the switch blamed, else the domain, else the first host's switch. */
const char *campaign_place(const struct campaign *c);

/* The check that is measured. */
static inline const char *campaign_check(const struct campaign *c)
{
	return campaign_measure_name(&c->measure);
}

/* --- for the files of this room --- */

/* The id of the order of a group. */
void campaign_order_id(const struct campaign *c, const struct campaign_group *g,
		       char ret[static CAMPAIGN_ID_SIZE]);

/* So long after its order a group is over, whoever has not answered. */
uint64_t campaign_patience_us(const struct campaign *c);

/* The results so far as the pairing wants them. Borrows from the campaign. */
struct campaign_view {
	struct pairing_problem problem;
	struct pairing_node *nodes;
	struct pairing_result *results;
};
void campaign_view_init(struct campaign_view *v, const struct campaign *c);
void campaign_view_release(struct campaign_view *v);
