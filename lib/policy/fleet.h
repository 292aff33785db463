/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fleet as policy_decide() sees it: every host, who keeps it out of
 * service, and what was found on it. Pure memory without a clock; the caller
 * owns it and keeps it up to date:
 *
 *	facts	  what is so by the cluster and the reports: fleet_set_*(), and
 *		  the members under "facts" written directly
 *	findings  fleet_note() for each bad window, fleet_clear() when it is closed
 *	record	  what we did and were told: struct node_record, changed only by
 *		  fleet_event(), fleet_tested() and policy_decide(); the caller
 *		  stores it after each change and puts it back at its start: then
 *		  OUT_OURS is what the cluster shows, and where the record holds a
 *		  node that the cluster does not, EVENT_UNCORDONED has happened
 *
 * Invariants: nodes are sorted by name; a pointer to a node is good until
 * fleet_remove() of it, one to a finding until fleet_clear() or an event that
 * ends in the clean-up. An unknown stamp is 0. All stamps are of one clock, the
 * real one in the controller, and 0 < stamp <= now.
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
	FLEET_FINDINGS_MAX = 256, /* of one node; the later ones are not kept */
	FLEET_JOBS_MAX = 64,	  /* of one node */
	FLEET_PARTS_MAX = 64,	  /* of one node */
	FLEET_SETTINGS_MAX = 64,  /* of one node */
	FLEET_ALIKE_MIN = 3,	  /* hosts that make a majority */
	PART_CORDONS_MAX = 16,	  /* stamps remembered of one part */
};

/* Why a node takes no work; bits. Any of them makes it unavailable, and it counts once. */
enum fleet_out {
	OUT_OURS = 1,	   /* our cordon; set and cleared by fleet_event() */
	OUT_OTHERS = 2,	   /* somebody else's cordon: never touched */
	OUT_NOT_READY = 4, /* by the cluster */
	OUT_HOLD = 8,	   /* kept free for a test; set and cleared by fleet_event() */
	OUT_COMING = 16,   /* with OUT_OTHERS: that is on its way, and it takes work until then */
};

/*
 * What was cordoned for: the serial of a GPU or NIC, or the host itself. Its
 * record goes where the part goes.
 */
struct part {
	char *serial;
	uint64_t cordons_us[PART_CORDONS_MAX]; /* a ring */
	uint64_t n_cordons;
};

/* The code of a finding that is too good to be true: the alert of who measures wrongly. */
#define FINDING_IMPOSSIBLE "impossible"

/* One open finding of a (check, subject). Texts are owned by it. */
struct finding {
	struct finding *next;
	char *check, *subject;
	char *locality;	  /* class, or NULL */
	char *code;	  /* or NULL */
	char *serial;	  /* of the part it blames, or NULL: the host */
	int64_t incident; /* the number of its open incident, as evidence; 0: none */
	char *sentence;	  /* what is wrong, for people; or NULL */
	int severity;	  /* enum severity (lib/report/report.h) */
	int source;	  /* enum verdict_source: what it was held against */
	struct windows windows;
	uint64_t since_us; /* its first bad window */
	uint64_t fatal_us; /* fatal since then; 0: it is not */
	uint64_t seen_us;  /* when its newest evidence was measured */
	bool born;	   /* it was never good: no onset */
	bool was_born;	   /* a part by the bad run before: one that is low for once is no onset */
	unsigned parts_bad, parts; /* of the check on this host; 0 of 0: not told */
	double score;		   /* measured by expected, 1 as good as expected; NAN: none */
	/* Kept by policy_decide() and fleet_tested(); to be stored, and put back after fleet_note(). */
	uint64_t reached_us; /* K of N since then; 0: not */
	unsigned reproduced; /* tests in a row that failed again, and runs that count as such */
	unsigned passed;     /* tests in a row that passed, fewer than end it */
	unsigned exonerated; /* times that tests ended it: it came back that often, less one */
	uint64_t tested_us;  /* the last result, or the last run that counted as one */
	char *partner;	     /* of the last test, or NULL */
	bool shared;	     /* it belongs to a notice, or may yet: the host is not blamed */
	/* Kept by policy_decide() alone, and learnt anew after a restart. */
	uint64_t asks_us;    /* it has asked for a test since then; 0: it does not */
	uint64_t told_us;    /* it was last in a notice then; 0: in none, or it is its own again */
	uint64_t run_us;     /* ... the newest of its runs since */
	unsigned runs_since; /* ... and how many they are */
};

/*
 * So many tests in a row that pass end a finding of a measured value. A part that is 10 % slow
 * passes one run in seven, for its own noise and that of the floor (sim: 1 % a run, floors 5 to
 * 7.5 % below), and tests soon after each other share the hour's noise: one pass would let one sick
 * host in four go, two let one in forty, three hardly any.
 */
enum { FINDING_PASSES = 3 };

/* What the caller says of a finding. Borrowed; members as in struct finding. */
struct finding_news {
	const char *check, *subject;
	const char *locality, *code, *serial, *sentence;
	int64_t incident;
	int severity, source;
	const struct windows *windows; /* NULL: push one bad window onto those kept */
	uint64_t since_us;	       /* 0: kept, or seen_us when it is new */
	uint64_t seen_us;
	bool born;
	unsigned parts_bad, parts;
	double score;
};

/* What must outlive a restart of the caller; plain, without pointers. */
struct node_record {
	struct life life;
	uint64_t override_us, override_until_us; /* the order came at, and holds until */
	uint64_t silence_until_us;
	uint64_t hold_until_us; /* 0: none */
	uint64_t ordered_us;	/* the test that is under way was ordered then; 0: none */
	uint64_t wanted_us;	/* when a cordon was first wanted, granted or not; 0: not */
	/*
	 * When a cordon for a part that always was slow, because a job blames it, was decided last:
	 * it counts for jobs.born from then on, whoever has the host now. 0: not within jobs.born.per
	 */
	uint64_t born_us;
	uint64_t tested_us;  /* the last result of a test of the whole host */
	uint64_t marked_us;  /* what the mark of this cordon says of its time; 0: not known */
	uint64_t clear_us;   /* nothing is bad since then; 0: something is */
	uint64_t asked_us;   /* under this cordon its jobs were told to leave */
	uint64_t drain_us;   /* ... and their eviction began */
	uint64_t drained_us; /* ... and ended, one way or the other */
	unsigned passes;     /* active tests passed in a row while verifying */
	unsigned aborted;    /* tests in a row that brought nothing */
};

struct fleet_node {
	char *name;
	/* Facts. Those that are numbers are set through fleet_set_*(). */
	int domain, sku; /* of fleet.domains and fleet.skus; NAME_NONE: not known */
	int *jobs;	 /* of fleet.jobs */
	size_t n_jobs;
	bool jobs_known;       /* that is all of them: fleet_set_jobs() */
	struct fleet_ran *ran; /* those that ran lately, too: fleet_jobs.h */
	size_t n_ran;
	int *settings; /* of fleet.settings, ascending; fleet_set_settings() */
	size_t n_settings;
	uint32_t settings_sum; /* of what they were made of */
	struct part **parts;   /* those with serials, and the host itself first */
	size_t n_parts;
	unsigned out;	      /* enum fleet_out bits */
	bool managed;	      /* false: opted out; counted, never touched */
	char *hands_off;      /* why it is not touched, a clause; or NULL. fleet_set_hands_off() */
	bool outside;	      /* it is none for jobs: never touched, and in no budget */
	bool unverified;      /* it joined, and has not passed a test since: nobody's spare */
	struct blame blame;   /* what a job that is slow says of it: fleet_set_blame() */
	uint64_t known_us;    /* when it was first seen */
	uint64_t reported_us; /* its last report, by our clock */
	uint64_t deep_us;     /* its last deep verdict */
	struct node_record record;
	struct finding *findings; /* in order of (check, subject) */
	size_t n_findings;
	unsigned scratch; /* of policy_decide() */
};

struct fleet {
	struct fleet_node **nodes; /* by name */
	size_t n, room;
	struct names domains, skus, jobs, settings;
	void *parts;		/* tree of struct part, by serial */
	struct notice *notices; /* kept by policy_decide(): decide.h */
	size_t n_notices;
	char *stale;	 /* why the facts may no longer be so: nothing is touched; or NULL. Owned */
	bool tells_jobs; /* who keeps it learns which jobs run where, when it is asked for */
	bool awaits_blames; /* what jobs say of its nodes is not known yet: no hold ends for want of it */
};

void fleet_release(struct fleet *f);

/* The node, made when it is new (managed, ready, healthy). NULL when the fleet is full. */
struct fleet_node *fleet_need(struct fleet *f, const char *name, uint64_t now_us);
struct fleet_node *fleet_find(const struct fleet *f, const char *name);

/* It left the cluster. The records of its parts stay. */
void fleet_remove(struct fleet *f, struct fleet_node *node);

/* NULL: not known. */
void fleet_set_domain(struct fleet *f, struct fleet_node *node, const char *domain);
void fleet_set_sku(struct fleet *f, struct fleet_node *node, const char *sku);

/* Another owner is at work on it, or it is none for us; NULL: it is ours to touch. */
void fleet_set_hands_off(struct fleet_node *node, const char *why);

/* What a job says of it, in place of what was said before; NULL: nothing. Copied. */
void fleet_set_blame(struct fleet_node *node, const struct blame *blame);

/* The jobs that run on it; at most FLEET_JOBS_MAX are counted. */
void fleet_set_jobs(struct fleet *f, struct fleet_node *node, const char *const *jobs, size_t n);
void fleet_forget_jobs(struct fleet *f, struct fleet_node *node);

/*
 * What it was set up with, as its last report says, "bios=2.4.1"; at most FLEET_SETTINGS_MAX are
 * kept. What is slow on the hosts with one of them and not on the others is no host's fault.
 */
void fleet_set_settings(struct fleet *f, struct fleet_node *node, const char *const *settings,
			size_t n);

/* The same from an object of texts as reports have it; what names the machine is left out. */
void fleet_set_env(struct fleet *f, struct fleet_node *node, const json_t *env);

/* By enum blame_class: one of its settings differs that can slow it so. */
struct fleet_unlike {
	bool alone[BLAME_CLASSES];
	bool group[BLAME_CLASSES]; /* a host of a group that is accused as a whole */
};

/*
 * Which of its settings are others than more than half of the hosts of its SKU have, of those
 * that have the key, at least FLEET_ALIKE_MIN? O(hosts of the SKU).
 */
struct fleet_unlike fleet_differs(const struct fleet *f, const struct fleet_node *node);

/*
 * The serials of its GPUs and NICs, at most FLEET_PARTS_MAX. A part that comes
 * from another node brings its record, and one that leaves takes it along.
 */
void fleet_set_parts(struct fleet *f, struct fleet_node *node, const char *const *serials, size_t n);

/*
 * Add or bring up to date. NULL when the node has FLEET_FINDINGS_MAX others; for one that is
 * fatal one that is not makes room, so that other pointers to findings end.
 */
struct finding *fleet_note(struct fleet *f, struct fleet_node *node,
			   const struct finding_news *news);
struct finding *fleet_finding(const struct fleet_node *node, const char *check, const char *subject);

/* Does a job run on both? */
bool fleet_share_job(const struct fleet_node *a, const struct fleet_node *b);

/* It is closed: the last N windows were good. What was exonerated is remembered. */
void fleet_clear(struct fleet *f, struct fleet_node *node, struct finding *finding);

enum test_outcome { TEST_PASSED, TEST_FAILED, TEST_NOTHING }; /* nothing: aborted, busy, set-up */

/* The result of one active test. */
struct fleet_test {
	int outcome;		 /* enum test_outcome */
	struct finding *finding; /* what it was to reproduce; NULL: the whole host */
	const char *partner;	 /* of a test of pairs; NULL: none */
	bool partner_good;	 /* the partner is known to be good, and both sides reported */
	bool deep;		 /* it was the full profile */
	uint64_t at_us;
};

/*
 * A test ended. Of a finding: a failure is one more reproduction (in a test of
 * pairs only with a partner that is known to be good; not of a part that was
 * born slow, by this run), a pass ends it (of a value that
 * spreads, FINDING_PASSES of them in a row): its windows are emptied, and only a new K of N
 * brings it back. True when it is over so: the caller forgets its own windows of it too. Of a
 * host that is verifying: counted towards its release. The order is over either way, and the
 * next policy_decide() ends the hold; not after one that failed on a host that a job blames, nor
 * that passed on one it blames for a link, nor on one of a group.
 */
bool fleet_tested(struct fleet *f, struct fleet_node *node, const struct fleet_test *test);

/* An event and its circumstances. */
struct fleet_cause {
	int event;	      /* enum life_event */
	const char *who;      /* WHO_AUTOMATIC or "operator NAME" */
	const char *why;      /* a sentence */
	const char *evidence; /* or NULL */
	const char *serial;   /* cordons: the part to blame; NULL: the host */
	uint64_t marked_us;   /* cordons: the time in the mark on the node; 0: not known */
	bool born;	      /* cordons: it counts for jobs.born */
	uint64_t until_us;    /* override, silence, hold, and what a person gives back */
};

/*
 * Something was done to a node, or seen on it: the only way in which our cordons, holds,
 * overrides and states change, whoever acts. Every end of a cordon goes through one
 * clean-up: our mark goes, tests under way and their counts are forgotten, the
 * record of cordons stays. A cordon makes a hold due to be lifted. EVENT_REPAIR_DONE and
 * EVENT_REPLACED also drop the findings: they were about what is gone. What a person gives back
 * (EVENT_UNCORDONED, EVENT_RELEASED by an operator) is overridden until `until_us`,
 * which is then now + policy.override_us. EVENT_REPLACED also forgets the host's own
 * record and which parts it has. Somebody else's cordon is never touched.
 * -EINVAL with a sentence, and nothing changed, when the state does not allow it.
 * `ret` (may be NULL) is what to record.
 */
int fleet_event(struct fleet *f, struct fleet_node *node, const struct fleet_cause *cause,
		uint64_t now_us, struct life_change *ret, struct err *err);

/* Does the check need two hosts, so that only a good partner tells whose fault it is? */
bool fleet_is_pair_check(const char *check);
bool finding_is_pair(const struct finding *finding);

/* Is it of some parts? A host that is slow in half of its other parts is slow as a whole. */
bool fleet_is_of_parts(const struct finding *finding);

/*
 * Is it of one part that always was so, by the last run or the one before it? Good parts spread,
 * and one that always was slow may be just one of them: it is told, and a test that finds it slow
 * again proves nothing.
 */
bool fleet_is_born_part(const struct finding *finding);

/* Cordons of the host itself and of the parts that are in it now, since `since_us`. */
unsigned fleet_repeats(const struct fleet_node *node, uint64_t since_us);

/* The stamps of one part, newest last, for the store; and back. At most PART_CORDONS_MAX. */
struct part *fleet_part(struct fleet *f, const char *serial);
size_t part_stamps(const struct part *part, uint64_t ret_us[static PART_CORDONS_MAX]);
void part_count(struct part *part, uint64_t at_us);

/* The name that the host's own record of `node` stands under: "host:NAME". New memory. */
char *fleet_host_serial(const char *node);

/* --- for the files that change what is found of a node: fleet_*.c, and those of decide.h --- */

void fleet_drop_finding(struct fleet_node *node, struct finding *finding);
void fleet_drop_findings(struct fleet_node *node);

/* Nothing is bad in it now; how often it was exonerated is remembered. */
void fleet_quieten(struct finding *finding);
