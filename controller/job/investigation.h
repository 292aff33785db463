/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An investigation: what is done about the hosts that slow a job, as a record that people can see
 * and withdraw. Pure; investigating.h looks the facts up and keeps the record.
 *
 *	open -> testing -> evict -> cordoned -> replaced -> verified
 *	                         -> acquitted | owner | watch
 *	any state -> withdrawn
 *
 * Each of its hosts is in one of these states by itself (but replaced and verified), and the record
 * in that of the one that is furthest from its end: while one is looked into, evict before testing
 * before open; then cordoned, acquitted, owner, watch, withdrawn, the first that any of them is in.
 * It goes on while a host is looked into, and with a host cordoned for INVESTIGATION_CLOSES_US at
 * most, or until another host of the job is to be tested: then it ends as it is.
 *
 *  - a step that is repeated with the same facts changes nothing;
 *  - begun only in mode enforce, for a host that is to be tested or taken out; in other modes it is
 *    withdrawn;
 *  - a host that boots meanwhile, leaves the cluster, or that a person gives back is withdrawn; so
 * is every one when the job is silent. One that its windows clear is watched;
 *  - but what job and tests have proven stays so for INVESTIGATION_PROVEN_US while the findings and
 * the boot are the same, though the job falls silent or goes on elsewhere: until the budgets let
 * the host be cordoned. Windows of the same run that clear it end it all the same, and so does a
 * test that acquits it;
 *  - what a person withdrew is not looked into for that job for jobs.acquit.for, as if its tests
 *    had acquitted it (investigation_bars()).
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct err;

enum investigation_state {
	INVESTIGATION_OPEN,    /* it waits for a test: the host is busy, or was not told yet */
	INVESTIGATION_TESTING, /* a test was ordered */
	INVESTIGATION_EVICT,   /* job and test agree: the policy is asked to take it out */
	INVESTIGATION_CORDONED,
	INVESTIGATION_REPLACED, /* the job runs on without it */
	INVESTIGATION_VERIFIED, /* ... as fast as was predicted */
	INVESTIGATION_EXCLUDED, /* a diagnosis: the job is to start without some */
	INVESTIGATION_ACQUITTED,
	INVESTIGATION_OWNER, /* the job slows itself: its owner is told */
	INVESTIGATION_WATCH, /* nothing for now: cleared by the next windows, or nobody can tell */
	INVESTIGATION_WITHDRAWN,
	INVESTIGATION_STATES
};

/* "open" "testing" ... "withdrawn", up to NULL. */
extern const char *const investigation_state_names[];

enum investigation_kind {
	INVESTIGATION_OF_SUSPECTS, /* the windows of a job blame its hosts */
	INVESTIGATION_DIAGNOSIS,   /* a person asked for it: diagnosing.h */
};

/* "suspects" "diagnosis", up to NULL. */
extern const char *const investigation_kind_names[];

enum {
	INVESTIGATION_HOSTS_MAX = 64, /* of one; what is beyond waits for the next */
	INVESTIGATION_TESTS_MAX = 64, /* the newest of them */
};

/* With a host cordoned it waits so long for the job to go on without it: predictions are checked
 * within it. */
#define INVESTIGATION_CLOSES_US USEC_PER_DAY

/* What tests have proven of a host is good for its cordon for so long: what the budgets wait for
 * are repairs, which take days. */
#define INVESTIGATION_PROVEN_US (7 * USEC_PER_DAY)

/* All owned. */
struct investigation_host {
	char *name;
	char *boot;	/* boot id when it was begun; NULL: not known */
	int class;	/* enum blame_class */
	int state;	/* enum investigation_state */
	char *sentence; /* why it is in that state */
	char *by;	/* the person who withdrew it; NULL: nobody did */
	/* Of one to be taken out, as job and tests agreed first; 0: they did not. */
	uint64_t proven_us;
	uint64_t since_us; /* it was a suspect since then: tests count that were ordered later */
	uint64_t from_us;  /* the first window that blamed it began */
	/* The check that shows it as of this step, borrowed with its fact; NULL: not known. Not kept. */
	const char *proof;
};

/* Stamps are of the real clock, whole milliseconds; 0: not yet. All owned. */
struct investigation {
	int64_t id;  /* 0: the store has not given it one yet */
	int64_t job; /* its number */
	int64_t run; /* whose windows blame the hosts */
	char *job_name;
	int kind;	/* enum investigation_kind */
	int state;	/* enum investigation_state */
	char *reason;	/* why it was begun */
	char *sentence; /* of the last decision */
	char *by;	/* the person who withdrew it, or NULL */
	struct investigation_host *hosts;
	size_t n_hosts;
	json_t *tests;	   /* as job_facts_tests() has them, oldest first */
	json_t *diagnosis; /* how far it is (diagnosing.h); NULL: it is none */
	json_t *pairs;	   /* of ends of slow links (pair_record.h); NULL: none */
	uint64_t began_us, acted_us /* the first cordon */, ended_us;
};

void investigation_release(struct investigation *inv);

/* The host of that name, or NULL. */
struct investigation_host *investigation_find(const struct investigation *inv, const char *name);

/* One host, as it is judged now. Borrowed. */
struct investigation_fact {
	const char *name;
	int class;
	int action;	   /* enum blame_action; -1: no window that counts blames it */
	int incident;	   /* enum blame_incident */
	bool effect;	   /* it is done: mode enforce */
	bool there;	   /* the cluster has it */
	bool cordoned;	   /* by us */
	bool runs;	   /* a job does, on it */
	const char *boot;  /* boot id; NULL: not known */
	uint64_t given_us; /* a person gave it back, or kept it in service, last then; 0: never */
	/* BLAME_EVICT for what a test found: as in struct investigation_host; else 0. */
	uint64_t since_us, from_us;
	/* Of a host that was to be taken out: what was found stands, by this check (job_judge.h);
	 * NULL: it does not. */
	const char *proof;
	const char *sentence;
};

/* All that one step looks at. Borrowed. */
struct investigation_now {
	int64_t job, run; /* of the newest window; 0: there is none */
	const char *job_name;
	bool enforced; /* the mode of jobs is enforce */
	bool silent;   /* no window came for longer than jobs.windows.fresh */
	bool gone;     /* the job is not known any more */
	const struct investigation_fact *facts;
	size_t n_facts;
	const json_t *tests;  /* of these hosts: job_facts_tests() */
	const char *verified; /* the next run is as fast as predicted, a sentence; NULL: not known */
	uint64_t now_us;
};

/* Is a host of these facts to be looked into? */
bool investigation_is_wanted(const struct investigation_now *now);

/* Begin one, of all hosts that are to be looked into; then step it. */
void investigation_begin(const struct investigation_now *now, struct investigation *ret);

/* One step on. Nothing happens to one that has ended. */
void investigation_step(struct investigation *inv, const struct investigation_now *now);

/*
 * A person withdraws it; a host that is cordoned stays so. 1: one had done so before, and nothing
 * changes; -EALREADY: it has ended otherwise.
 */
int investigation_cancel(struct investigation *inv, const char *who, const char *reason,
			 uint64_t now_us, struct err *err);

/* Is a host of it to be taken out though no window asks for it now? */
bool investigation_owes(const struct investigation *inv, const struct investigation_host *host);

/* Is this host looked into by it now? Only of such a host is the actor told. */
bool investigation_holds(const struct investigation *inv, const char *host);

/* Is this host among its own, and has it not ended? */
bool investigation_has(const struct investigation *inv, const char *host);

/* Did a person withdraw this host, less than `acquit_us` ago? The host of it, or NULL. */
const struct investigation_host *investigation_bars(const struct investigation *inv,
						    const char *host, uint64_t acquit_us,
						    uint64_t now_us);

/* As the API shows it and the store keeps it: new reference. */
json_t *investigation_json(const struct investigation *inv);

/* -EBADMSG: it is none. */
int investigation_read(const json_t *value, struct investigation *ret, struct err *err);
