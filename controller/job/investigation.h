/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An investigation: the record of what is done about the hosts that slow a job, which people can
 * see and withdraw. Pure; investigating.h looks the facts up and stores the record.
 *
 *   open -> testing -> evict -> cordoned -> replaced -> verified
 *                            -> acquitted | owner | watch
 *   any state -> withdrawn
 *
 * Each host has one of these states of its own (except replaced and verified). The record has that
 * of the host furthest from its end: while any is investigated, evict before testing before open;
 * after that cordoned, acquitted, owner, watch, withdrawn, the first that any host is in. It stays
 * open while a host is investigated. With a host cordoned it stays open for at most
 * INVESTIGATION_CLOSES_US, or until another host of the job needs a test; then it ends in its
 * state.
 *
 * - repeating a step with the same facts changes nothing;
 * - it is begun only in mode enforce, for a host to be tested or taken out; in other modes it is
 *   withdrawn;
 * - a host that reboots, leaves the cluster or is returned to service by a person is withdrawn, and
 *   so are all hosts if the job is silent. A host cleared by its windows is watched;
 * - but what job and tests have proven holds for INVESTIGATION_PROVEN_US while findings and boot
 *   are the same, even if the job falls silent or goes on elsewhere, until the budgets allow the
 *   cordon. Windows of the same run that clear the host, or a test that acquits it, still end it;
 * - a host that a person withdrew is not investigated for that job for jobs.acquit.for, as if its
 *   tests had acquitted it (investigation_bars()).
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct err;

enum investigation_state {
	INVESTIGATION_OPEN,    /* waits for a test: the host is busy, or not told yet */
	INVESTIGATION_TESTING, /* a test was ordered */
	INVESTIGATION_EVICT,   /* job and test agree: the policy is asked to take it out */
	INVESTIGATION_CORDONED,
	INVESTIGATION_REPLACED, /* the job runs on without it */
	INVESTIGATION_VERIFIED, /* ... as fast as predicted */
	INVESTIGATION_EXCLUDED, /* diagnosis: the job should start without some hosts */
	INVESTIGATION_ACQUITTED,
	INVESTIGATION_OWNER, /* the job slows itself: its owner is told */
	INVESTIGATION_WATCH, /* nothing for now: cleared by later windows, or undecidable */
	INVESTIGATION_WITHDRAWN,
	INVESTIGATION_STATES
};

/* "open" "testing" ... "withdrawn", NULL-terminated. */
extern const char *const investigation_state_names[];

enum investigation_kind {
	INVESTIGATION_OF_SUSPECTS, /* windows of a job blame its hosts */
	INVESTIGATION_DIAGNOSIS,   /* requested by a person: diagnosing.h */
};

/* "suspects" "diagnosis", NULL-terminated. */
extern const char *const investigation_kind_names[];

enum {
	INVESTIGATION_HOSTS_MAX = 64, /* per investigation; further ones wait for the next */
	INVESTIGATION_TESTS_MAX = 64, /* the newest ones */
};

/* With a host cordoned it waits this long for the job to go on without it; predictions are checked
 * within that time. */
#define INVESTIGATION_CLOSES_US USEC_PER_DAY

/* How long test results are good for a cordon: budgets wait for repairs, which take days. */
#define INVESTIGATION_PROVEN_US (7 * USEC_PER_DAY)

/* All owned. */
struct investigation_host {
	char *name;
	char *boot;	/* boot ID when it was begun; NULL: unknown */
	int class;	/* enum blame_class */
	int state;	/* enum investigation_state */
	char *sentence; /* the reason for its state */
	char *by;	/* the person who withdrew it; NULL: nobody */
	/* Of a host to be taken out: when job and tests first agreed; 0: they did not. */
	uint64_t proven_us;
	uint64_t since_us; /* suspect since then: only tests ordered later count */
	uint64_t from_us;  /* begin of the first window that blamed it */
	/* The check that proves it now, borrowed with its fact; NULL: unknown. Not stored. */
	const char *proof;
};

/* Times are real time, in whole milliseconds; 0: not yet. All owned. */
struct investigation {
	int64_t id;  /* 0: not stored yet */
	int64_t job; /* number of the job */
	int64_t run; /* whose windows blame the hosts */
	char *job_name;
	int kind;	/* enum investigation_kind */
	int state;	/* enum investigation_state */
	char *reason;	/* why it was begun */
	char *sentence; /* describes the last decision */
	char *by;	/* the person who withdrew it, or NULL */
	struct investigation_host *hosts;
	size_t n_hosts;
	json_t *tests;	   /* as returned by job_facts_tests(), oldest first */
	json_t *diagnosis; /* its state (diagnosing.h); NULL: not a diagnosis */
	json_t *pairs;	   /* of ends of slow links (pair_record.h); NULL: none */
	uint64_t began_us, acted_us /* the first cordon */, ended_us;
};

void investigation_release(struct investigation *inv);

/* Find a host by name; NULL: none. */
struct investigation_host *investigation_find(const struct investigation *inv, const char *name);

/* One host, as judged now. Borrowed. */
struct investigation_fact {
	const char *name;
	int class;
	int action;	   /* enum blame_action; -1: no window that counts blames it */
	int incident;	   /* enum blame_incident */
	bool effect;	   /* it is carried out: mode enforce */
	bool there;	   /* the cluster has it */
	bool cordoned;	   /* by us */
	bool runs;	   /* a job runs on it */
	const char *boot;  /* boot ID; NULL: unknown */
	uint64_t given_us; /* when a person last returned it to, or kept it in, service; 0: never */
	/* BLAME_EVICT due to a test: as in struct investigation_host; else 0. */
	uint64_t since_us, from_us;
	/* Of a host to be taken out: the check that still proves it; NULL: none does. */
	const char *proof;
	const char *sentence;
};

/* Input of one step. Borrowed. */
struct investigation_now {
	int64_t job, run; /* of the newest window; 0: none */
	const char *job_name;
	bool enforced; /* jobs are in mode enforce */
	bool silent;   /* no window for longer than jobs.windows.fresh */
	bool gone;     /* the job is no longer known */
	const struct investigation_fact *facts;
	size_t n_facts;
	const json_t *tests;  /* of these hosts: job_facts_tests() */
	const char *verified; /* a sentence if the next run is as fast as predicted; NULL: unknown */
	uint64_t now_us;
};

/* Does any of these hosts have to be investigated? */
bool investigation_is_wanted(const struct investigation_now *now);

/* Begin one with all hosts to be investigated. Then step it. */
void investigation_begin(const struct investigation_now *now, struct investigation *ret);

/* Advance by one step. Does nothing if it has ended. */
void investigation_step(struct investigation *inv, const struct investigation_now *now);

/*
 * A person withdraws it; a cordoned host stays so. Returns 1 if it was withdrawn before and nothing
 * changed; -EALREADY if it has ended otherwise.
 */
int investigation_cancel(struct investigation *inv, const char *who, const char *reason,
			 uint64_t now_us, struct err *err);

/* Is a host of it still to be taken out although no window asks for it now? */
bool investigation_owes(const struct investigation *inv, const struct investigation_host *host);

/* Is it investigating this host now? Only such hosts are passed to the actor. */
bool investigation_holds(const struct investigation *inv, const char *host);

/* Does it have this host, in a state that is not final? */
bool investigation_has(const struct investigation *inv, const char *host);

/* Returns the host if a person withdrew it less than `acquit_us` ago, else NULL. */
const struct investigation_host *investigation_bars(const struct investigation *inv,
						    const char *host, uint64_t acquit_us,
						    uint64_t now_us);

/* As shown by the API and stored. New reference. */
json_t *investigation_json(const struct investigation *inv);

/* Returns -EBADMSG if it is invalid. */
int investigation_read(const json_t *value, struct investigation *ret, struct err *err);
