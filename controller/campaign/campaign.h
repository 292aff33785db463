/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A campaign: hosts measure with each other in rounds of groups until it is known which host,
 * link or switch makes collectives slow. lib/pairing judges the results and plans the next
 * round; this file runs the rounds.
 *
 *	group		waiting --> running --> over
 *	campaign	running --> done | abandoned
 *
 * A running group is over when every member has answered or its time is up.
 *
 * Invariants:
 *  - A group counts only if all its members report. The value of a rail is the lowest that any
 *    member reports, so a host that reports low values is slow with every partner, and its
 *    partners are not.
 *  - Work that was not done (busy, set-up, no report) is no evidence against any host: the
 *    group counts as not run.
 *  - A host that does not take orders, is not idle or does not report gets no more orders.
 *  - An order is stored before it is sent to any host, and is not sent again after a restart of
 *    the controller. Answers that still arrive count. A group that lacks one when its time is up
 *    runs again under a new id; by then no host can be working on the old order.
 *
 * Pure: the caller supplies the time, the tokens, and whether a host can be asked.
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
	CAMPAIGN_GROUPS_MAX = PAIRING_RESULTS_MAX, /* of all rounds, restored after a restart */
	CAMPAIGN_RESUMES_MAX = 3, /* restarts survived: it may be what crashes the controller */
};

/* How long after its order's deadline a report still counts; at most the order's timeout. */
#define CAMPAIGN_LATE_US (30 * USEC_PER_SEC)
/*
 * How long to wait for a host that cannot be asked; at most the order's timeout. Its request for
 * orders may be on the way.
 */
#define CAMPAIGN_GRACE_US (15 * USEC_PER_SEC)
/* How long to wait for it after a restart: agents reconnect with a backoff (lib/base/backoff.h). */
#define CAMPAIGN_RETURN_US (2 * USEC_PER_MIN)
/* A campaign saved longer ago is not resumed: old and new results would not be comparable. */
#define CAMPAIGN_RESUME_WITHIN_US USEC_PER_HOUR
/* An unanswered order is sent again this often: the connection may break before it is read. */
#define CAMPAIGN_AGAIN_US (20 * USEC_PER_SEC)

extern const char *const campaign_plan_names[]; /* by enum pairing_plan: "two-pass" ... */

enum campaign_state { CAMPAIGN_RUNNING, CAMPAIGN_DONE, CAMPAIGN_ABANDONED };
extern const char *const campaign_state_names[]; /* "running" ... */

/* The current time on both clocks. */
struct campaign_moment {
	uint64_t mono_us, real_us;
};

struct campaign_host {
	char *name;
	char *address;		       /* HOST:PORT */
	char *leaf[PAIRING_RAILS_MAX]; /* or NULL */
	enum pairing_state state;      /* PAIRING_GONE: gets no more orders */
	char *why;		       /* why it is gone, or NULL */
};

/* One member of a group: when it was given its order, and what it reported. */
struct campaign_side {
	size_t host;
	uint64_t told_us; /* monotonic: when it was last given its order; 0: never */
	bool answered;
	enum pairing_outcome outcome;
	bool late;  /* timed out without a sample: what the others saw counts */
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
	bool resumed;		     /* was running at a restart: who has the order is unknown */
	struct campaign_side *sides; /* by rank */
	size_t *members;	     /* the hosts of the sides, for lib/pairing */
	size_t n;
	int rail; /* the only rail that counts, or PAIRING_RAIL_ALL */
	bool cross;
	char token[CAMPAIGN_TOKEN_SIZE];
	uint64_t since_us; /* monotonic: waiting since; once it runs, when it was ordered */
	enum campaign_phase phase;
	enum pairing_outcome outcome; /* once it is over */
	double least;		      /* B/s of the slowest rail that counts, if measured */
	double rails[PAIRING_RAILS_MAX];
	char *words; /* why it was not measured, or NULL */
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
	uint64_t timeout_us;	       /* of one order, at most an hour */
	size_t at_once;		       /* hosts under test at a time; a larger group runs alone */
	uint64_t seed;		       /* below 2^63 */
	int state;		       /* enum campaign_state */
	uint64_t started_us, ended_us; /* real time; ended_us 0: not ended */
	unsigned resumed;	       /* restarts survived */
	uint64_t returned_us;	       /* monotonic: end of the last interruption; 0: none */
	struct pairing_blame blames[PAIRING_BLAMES_MAX];
	size_t n_blames;
	char *sentence; /* the result, or NULL */
};

/* A host to take part. Strings are borrowed; campaign_new() copies them. */
struct campaign_guest {
	const char *name, *address;
	const char *leaf[PAIRING_RAILS_MAX];
	enum pairing_state state;
	const char *why; /* if PAIRING_GONE */
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

/*
 * Returns -EINVAL with a sentence if fewer than two hosts can take part, if there are too many for
 * the plan, or if no probe or plan fits the measurement.
 */
int campaign_new(const struct campaign_ask *ask, struct campaign **ret, struct err *err);
void campaign_free(struct campaign *c);
DEFINE_CLEANUP(struct campaign *, campaign_free, campaign_freep);

/* What the campaign needs from the caller. */
struct campaign_around {
	/* Returns why this host cannot be asked now, borrowed until the next call; NULL: it can. */
	const char *(*away)(void *context, const char *node);
	/*
	 * Writes a new secret token, CAMPAIGN_TOKEN_SIZE bytes with the NUL. Returns < 0 with a
	 * sentence if none is available yet: the group then waits as long as for a host, and after
	 * that the campaign is abandoned.
	 */
	int (*token)(void *context, char *ret_token, struct err *err);
	void *context;
};

/*
 * Ends groups that are answered or out of time and starts waiting ones. When a round is over,
 * begins the next one or ends the campaign. Returns true if anything changed.
 */
bool campaign_advance(struct campaign *c, const struct campaign_moment *now,
		      const struct campaign_around *around);

/* Returns the order to send to the host now and notes that it was sent. New reference, or NULL. */
json_t *campaign_order(struct campaign *c, const char *node, const struct campaign_moment *now);

/* Returns true if campaign_order() has an order for the host. */
bool campaign_has_order(const struct campaign *c, const char *node, uint64_t mono_us);

/* Takes the report that answers `order`. Returns false if its node has no open order of that id. */
bool campaign_report(struct campaign *c, const char *order, const struct report *report);

/*
 * Call this while the controller cannot ask any host, e.g. shortly after its start: no host is
 * given up for that. Running groups continue.
 */
void campaign_hold_back(struct campaign *c, uint64_t mono_us);

/* Ends the campaign as abandoned; its sentence says why. */
void campaign_abandon(struct campaign *c, const char *why, uint64_t real_us);

/* Returns the index of the host, or SIZE_MAX. */
size_t campaign_find(const struct campaign *c, const char *node);

/* Returns the campaign as the API shows it. New reference. */
json_t *campaign_json(const struct campaign *c);

/* --- the result, once it is done (campaign_says.c) --- */

/* One run of a host in a group. */
struct campaign_pass {
	const char *partner; /* the first other member that nothing is said against */
	bool partner_good;   /* it was good with another host, or known to be */
};

enum { CAMPAIGN_PASSES_MAX = 16 };

/* What the campaign says about a host. Strings are borrowed until the callback returns. */
struct campaign_says {
	const char *node;
	bool bad; /* false: it was good with another host, and nothing is said against it */
	const char *check, *subject; /* of the finding: "all_reduce.busbw", "fabric" or "rail:3" */
	const char *words;	     /* with the passes as evidence */
	double ratio;		     /* of what the others reach; NAN: unknown */
	struct campaign_pass passes[CAMPAIGN_PASSES_MAX];
	size_t n_passes;
};

/* Calls `each` for every host that is blamed or cleared. */
void campaign_each(const struct campaign *c,
		   void (*each)(void *context, const struct campaign_says *says), void *context);

/*
 * Returns a sentence about a fault that is not a single host's, such as a switch's, or NULL if
 * there is none. The caller frees it.
 */
char *campaign_shared(const struct campaign *c);

/*
 * Calls `each` for the domain and every switch that nothing is said against and where at least two
 * hosts were good.
 */
void campaign_each_clear(const struct campaign *c, void (*each)(void *context, const char *place),
			 void *context);

/*
 * Returns where the result belongs: the blamed switch, else the domain, else the first host's
 * switch, else "no domain". Borrowed from the campaign.
 */
const char *campaign_place(const struct campaign *c);

/* Returns the check that the campaign measures. */
static inline const char *campaign_check(const struct campaign *c)
{
	return campaign_measure_name(&c->measure);
}

/* --- for the files of this directory --- */

/* Writes the id of the group's order. */
void campaign_order_id(const struct campaign *c, const struct campaign_group *g,
		       char ret[static CAMPAIGN_ID_SIZE]);

/* How long after its order a group is over, even if members have not answered. */
uint64_t campaign_patience_us(const struct campaign *c);

/* The results so far, in the form that lib/pairing takes. Borrows from the campaign. */
struct campaign_view {
	struct pairing_problem problem;
	struct pairing_node *nodes;
	struct pairing_result *results;
};
void campaign_view_init(struct campaign_view *v, const struct campaign *c);
void campaign_view_release(struct campaign_view *v);
