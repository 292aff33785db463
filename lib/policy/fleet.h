/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fleet as policy_decide() sees it: every host, what keeps it out of service, and its findings.
 * Pure memory without a clock; the caller owns it and keeps it up to date:
 *
 *	facts	  from the cluster and the reports: fleet_set_*(), and the members under
 *		  "facts", written directly
 *	findings  fleet_note() for each bad window, fleet_clear() when it is closed
 *	record	  what we did and were told: struct node_record, changed only by
 *		  fleet_event(), fleet_tested() and policy_decide(). The caller stores it
 *		  after each change and restores it at start: then OUT_OURS is what the
 *		  cluster shows, and a record that holds a node which the cluster does not
 *		  means that EVENT_UNCORDONED has happened
 *
 * Invariants: nodes are sorted by name. A pointer to a node is valid until fleet_remove(), one to a
 * finding until fleet_clear() or an event that ends a cordon. An unknown timestamp is 0. All
 * timestamps are from one clock, the real one in the controller, and 0 < timestamp <= now.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/blame.h"
#include "lib/policy/life.h"
#include "lib/policy/names.h"
#include "lib/policy/windows.h"

struct err;

enum {
	FLEET_NODES_MAX = 100000,
	FLEET_FINDINGS_MAX = 256, /* of one node; further ones are dropped */
	FLEET_JOBS_MAX = 64,	  /* of one node */
	FLEET_PARTS_MAX = 64,	  /* of one node */
	FLEET_SETTINGS_MAX = 64,  /* of one node */
	FLEET_ALIKE_MIN = 3,	  /* hosts needed for a majority */
	PART_CORDONS_MAX = 16,	  /* timestamps kept per part */
};

/* Why a node takes no work; bits. Any of them makes it unavailable, and it counts once. */
enum fleet_out {
	OUT_OURS = 1,	   /* our cordon; set and cleared by fleet_event() */
	OUT_OTHERS = 2,	   /* somebody else's cordon: never touched */
	OUT_NOT_READY = 4, /* by the cluster */
	OUT_HOLD = 8,	   /* kept free for a test; set and cleared by fleet_event() */
	OUT_COMING = 16,   /* with OUT_OTHERS: not set yet, the node still takes work */
};

/*
 * What a cordon was for: the serial of a GPU or NIC, or the host itself. The record moves with the
 * part.
 */
struct part {
	char *serial;
	uint64_t cordons_us[PART_CORDONS_MAX]; /* ring buffer */
	uint64_t n_cordons;
};

/* The code of findings that are too good to be true: for the alert about wrong measurements. */
#define FINDING_IMPOSSIBLE "impossible"

/* One open finding of a (check, subject). Owns its texts. */
struct finding {
	struct finding *next;
	char *check, *subject;
	char *locality;	  /* class, or NULL */
	char *code;	  /* or NULL */
	char *serial;	  /* of the blamed part; NULL: the host */
	int64_t incident; /* number of its open incident; 0: none */
	char *sentence;	  /* what is wrong, for people; or NULL */
	int severity;	  /* enum severity (lib/report/report.h) */
	int source;	  /* enum verdict_source: its reference */
	struct windows windows;
	uint64_t since_us;	   /* its first bad window */
	uint64_t fatal_us;	   /* fatal since; 0: not fatal */
	uint64_t seen_us;	   /* when its newest evidence was measured */
	bool born;		   /* it was never good: no onset */
	bool was_born;		   /* it was, in the bad run before: one lower run is no onset */
	unsigned parts_bad, parts; /* of the check on this host; 0 of 0: unknown */
	double score;		   /* measured / expected, 1 is as expected; NAN: none */
	/*
	 * Maintained by policy_decide() and fleet_tested(); stored, and restored after
	 * fleet_note().
	 */
	uint64_t reached_us; /* K of N since; 0: not */
	unsigned reproduced; /* tests in a row that failed again, and runs that count as such */
	unsigned passed;     /* tests in a row that passed, not yet enough to end it */
	unsigned exonerated; /* times that tests ended it: it came back that often, less one */
	uint64_t tested_us;  /* last result, or last run that counted as one */
	char *partner;	     /* of the last test, or NULL */
	bool shared;	     /* it is, or may yet be, in a notice: the host is not blamed */
	/* Maintained by policy_decide() alone; not restored after a restart. */
	uint64_t asks_us;    /* it asks for a test since; 0: it does not */
	uint64_t told_us;    /* last in a notice; 0: never, or it is its host's own again */
	uint64_t run_us;     /* ... its newest run since then */
	unsigned runs_since; /* ... and their number */
};

/*
 * Passed tests in a row that end a finding of a measured value. A part that is 10 % slow passes one
 * run in seven because of its own noise and that of the floor (sim: 1 % per run, floors 5 to 7.5 %
 * below), and tests close together share the noise of the hour: one pass would clear one sick host
 * in four, two would clear one in forty, three hardly any.
 */
enum { FINDING_PASSES = 3 };

/* What the caller reports of a finding. Borrowed; members as in struct finding. */
struct finding_news {
	const char *check, *subject;
	const char *locality, *code, *serial, *sentence;
	int64_t incident;
	int severity, source;
	const struct windows *windows; /* NULL: add one bad window to those kept */
	uint64_t since_us;	       /* 0: unchanged, or seen_us if it is new */
	uint64_t seen_us;
	bool born;
	unsigned parts_bad, parts;
	double score;
};

/* What must survive a restart of the caller; plain, without pointers. */
struct node_record {
	struct life life;
	uint64_t override_us, override_until_us; /* when the order came, and until when it holds */
	uint64_t silence_until_us;
	uint64_t hold_until_us; /* 0: none */
	uint64_t ordered_us;	/* when the test under way was ordered; 0: none */
	uint64_t wanted_us;	/* when a cordon was first wanted, granted or not; 0: not */
	/*
	 * When a cordon for a part that was always slow, because a job blames it, was last decided:
	 * it counts for jobs.born from then on, whoever has the host now. 0: not within
	 * jobs.born.per
	 */
	uint64_t born_us;
	uint64_t tested_us;  /* last result of a test of the whole host */
	uint64_t marked_us;  /* time in the mark of this cordon; 0: unknown */
	uint64_t clear_us;   /* nothing has been bad since; 0: something is */
	uint64_t asked_us;   /* when its jobs were asked to leave, under this cordon */
	uint64_t drain_us;   /* ... when their eviction began */
	uint64_t drained_us; /* ... and when it ended, completed or not */
	unsigned passes;     /* active tests passed in a row while verifying */
	unsigned aborted;    /* tests in a row without a result */
};

struct fleet_node {
	char *name;
	/* Facts. Numbers are set by fleet_set_*(). */
	int domain, sku; /* of fleet.domains and fleet.skus; NAME_NONE: unknown */
	int *jobs;	 /* of fleet.jobs */
	size_t n_jobs;
	bool jobs_known;       /* these are all of them: fleet_set_jobs() */
	struct fleet_ran *ran; /* jobs that ran recently, including these: fleet_jobs.h */
	size_t n_ran;
	int *settings; /* of fleet.settings, ascending; fleet_set_settings() */
	size_t n_settings;
	uint32_t settings_sum; /* checksum of what they were made from */
	struct part **parts;   /* by serial; the host itself is first */
	size_t n_parts;
	unsigned out;	      /* enum fleet_out bits */
	bool managed;	      /* false: opted out; counted, but never touched */
	char *hands_off;      /* why it is not touched, a clause; or NULL. fleet_set_hands_off() */
	bool outside;	      /* it takes no jobs: never touched, and in no budget */
	bool unverified;      /* joined, and no test passed since: not a spare */
	struct blame blame;   /* what a slow job says of it: fleet_set_blame() */
	uint64_t known_us;    /* when it was first seen */
	uint64_t reported_us; /* last report, by our clock */
	uint64_t deep_us;     /* last deep verdict */
	struct node_record record;
	struct finding *findings; /* sorted by (check, subject) */
	size_t n_findings;
	unsigned scratch; /* for policy_decide() */
};

struct fleet {
	struct fleet_node **nodes; /* by name */
	size_t n, room;
	struct names domains, skus, jobs, settings;
	void *parts;		/* tree of struct part, by serial */
	struct notice *notices; /* maintained by policy_decide(): decide.h */
	size_t n_notices;
	char *stale; /* why facts may be out of date (then nothing is touched); or NULL. Owned */
	bool tells_jobs;    /* the keeper knows which jobs run where when it is asked */
	bool awaits_blames; /* jobs' blames are not loaded yet: no hold ends for lack of one */
};

void fleet_release(struct fleet *f);

/* The node, created if new (managed, ready, healthy). NULL if the fleet is full. */
struct fleet_node *fleet_need(struct fleet *f, const char *name, uint64_t now_us);
struct fleet_node *fleet_find(const struct fleet *f, const char *name);

/* The node left the cluster. The records of its parts stay. */
void fleet_remove(struct fleet *f, struct fleet_node *node);

/* NULL: unknown. */
void fleet_set_domain(struct fleet *f, struct fleet_node *node, const char *domain);
void fleet_set_sku(struct fleet *f, struct fleet_node *node, const char *sku);

/* Why we must not touch it (another owner is at work, or it is not for us); NULL: it is ours. */
void fleet_set_hands_off(struct fleet_node *node, const char *why);

/* Replaces what a job says of it; NULL: nothing. Copied. */
void fleet_set_blame(struct fleet_node *node, const struct blame *blame);

/* The jobs that run on it; at most FLEET_JOBS_MAX are kept. */
void fleet_set_jobs(struct fleet *f, struct fleet_node *node, const char *const *jobs, size_t n);
void fleet_forget_jobs(struct fleet *f, struct fleet_node *node);

/*
 * Its settings according to its last report, "bios=2.4.1"; at most FLEET_SETTINGS_MAX are kept.
 * What is slow only on hosts with one of them is no host's fault.
 */
void fleet_set_settings(struct fleet *f, struct fleet_node *node, const char *const *settings,
			size_t n);

/* The same from an object of texts as in reports, without texts that identify the machine. */
void fleet_set_env(struct fleet *f, struct fleet_node *node, const json_t *env);

/* By enum blame_class: true if a setting that can make it slow differs from similar hosts. */
struct fleet_unlike {
	bool alone[BLAME_CLASSES];
	bool group[BLAME_CLASSES]; /* for a host of a group that is accused as a whole */
};

/*
 * Finds settings that differ from those of more than half of the hosts of its SKU which have the
 * key, if these are at least FLEET_ALIKE_MIN. O(hosts of the SKU).
 */
struct fleet_unlike fleet_differs(const struct fleet *f, const struct fleet_node *node);

/*
 * The serials of its GPUs and NICs, at most FLEET_PARTS_MAX. A part that comes from another node
 * brings its record, and one that leaves takes it along.
 */
void fleet_set_parts(struct fleet *f, struct fleet_node *node, const char *const *serials, size_t n);

/*
 * Adds or updates a finding. NULL if the node already has FLEET_FINDINGS_MAX; a fatal one replaces
 * one that is not, which invalidates other pointers to findings.
 */
struct finding *fleet_note(struct fleet *f, struct fleet_node *node,
			   const struct finding_news *news);
struct finding *fleet_finding(const struct fleet_node *node, const char *check, const char *subject);

/* True if a job runs on both. */
bool fleet_share_job(const struct fleet_node *a, const struct fleet_node *b);

/* Closes a finding whose last N windows were good. How often it was exonerated is kept. */
void fleet_clear(struct fleet *f, struct fleet_node *node, struct finding *finding);

enum test_outcome { TEST_PASSED, TEST_FAILED, TEST_NOTHING }; /* nothing: aborted, busy, set-up */

/* The result of one active test. */
struct fleet_test {
	int outcome;		 /* enum test_outcome */
	struct finding *finding; /* the one to reproduce; NULL: the whole host */
	const char *partner;	 /* for a test of pairs; NULL: none */
	bool partner_good;	 /* known to be good, and both sides reported */
	bool deep;		 /* the full profile */
	uint64_t at_us;
};

/*
 * Records the end of a test. For a finding: a failure is one more reproduction (in a test of pairs
 * only with a partner known to be good; not for a part that is born slow according to this run). A
 * pass ends it (for a value that spreads, FINDING_PASSES in a row): its windows are emptied, and
 * only a new K of N brings it back. Returns true if that ended it; the caller then also drops its
 * own windows. For a host that is verifying, the test counts towards its release.
 *
 * In any case the order is over, and the next policy_decide() ends the hold, except if the test
 * failed on a host that a job blames, if it passed on one blamed for a link, or if the host belongs
 * to a group.
 */
bool fleet_tested(struct fleet *f, struct fleet_node *node, const struct fleet_test *test);

/* An event and its circumstances. */
struct fleet_cause {
	int event;	      /* enum life_event */
	const char *who;      /* WHO_AUTOMATIC or "operator NAME" */
	const char *why;      /* a sentence */
	const char *evidence; /* or NULL */
	const char *serial;   /* cordons: the part to blame; NULL: the host */
	uint64_t marked_us;   /* cordons: the time in the node's mark; 0: unknown */
	bool born;	      /* cordons: it counts for jobs.born */
	uint64_t until_us;    /* override, silence, hold, and releases by a person */
};

/*
 * Records what was done to a node, or seen on it. This is the only way in which our cordons, holds,
 * overrides and states change, whoever acts. Every end of a cordon goes through one clean-up: our
 * mark is dropped, pending tests and their counts are forgotten, the record of cordons stays. A
 * cordon makes a hold due to be lifted. EVENT_REPAIR_DONE and EVENT_REPLACED also drop the
 * findings, which were about what is gone. What a person releases (EVENT_UNCORDONED, EVENT_RELEASED
 * by an operator) is overridden until `until_us`, which is now + policy.override_us. EVENT_REPLACED
 * also forgets the host's own record and its list of parts. Somebody else's cordon is never
 * touched. `ret` (may be NULL) receives what to record. -EINVAL with a sentence, and nothing
 * changed, if the state does not allow it.
 */
int fleet_event(struct fleet *f, struct fleet_node *node, const struct fleet_cause *cause,
		uint64_t now_us, struct life_change *ret, struct err *err);

/* True if the check needs two hosts, so that only a good partner shows whose fault it is. */
bool fleet_is_pair_check(const char *check);
bool finding_is_pair(const struct finding *finding);

/* True if it is about some parts. With half of its other parts slow, a host is slow as a whole. */
bool fleet_is_of_parts(const struct finding *finding);

/*
 * True if it is about one part that was always slow, by the last run or the one before it. Good
 * parts spread, and this may be just one of them: it is reported, and a test that finds it slow
 * again proves nothing.
 */
bool fleet_is_born_part(const struct finding *finding);

/* Cordons of the host itself and of the parts now in it, since `since_us`. */
unsigned fleet_repeats(const struct fleet_node *node, uint64_t since_us);

/* The timestamps of one part, newest last, for the store, and back. At most PART_CORDONS_MAX. */
struct part *fleet_part(struct fleet *f, const char *serial);
size_t part_stamps(const struct part *part, uint64_t ret_us[static PART_CORDONS_MAX]);
void part_count(struct part *part, uint64_t at_us);

/* The name of the host's own record of `node`: "host:NAME". New memory. */
char *fleet_host_serial(const char *node);

/* --- only for fleet_*.c and the files of decide.h, which change findings of a node --- */

void fleet_drop_finding(struct fleet_node *node, struct finding *finding);
void fleet_drop_findings(struct fleet_node *node);

/* Nothing is bad in it now; how often it was exonerated is kept. */
void fleet_quieten(struct finding *finding);
