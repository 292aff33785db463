/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rank has stopped a hung job, and how certain that is. Judges a case (hang_case.h) in this
 * order; the first rule that answers counts (docs/hangs.md has their reasons and sources):
 *
 *	processes	a rank whose process is gone, a zombie, stopped, traced or in disk sleep
 *	R1, R2		flight-recorder counters: everything enqueued has ended and peers wait: the
 *			host never launched; peers ended what this rank has not: its own GPU stopped
 *	mismatch	members call different operations, sizes or types at one number
 *	counts		the member that has launched less than the others (RAS, rings)
 *	chains		the earliest group whose members wait for a rank that waits nowhere else
 *	fabric		all started, none ended, a proxy waits to send or to receive
 *	equal-count	all launched the same, nothing ends, and nothing shows why
 *
 * A rank without data may be a suspect, never a culprit; if one may hide in missing data, the
 * answer is "cannot say", with what would be needed. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/hang/hang_case.h"

enum {
	HANG_SENTENCES_MAX = 24, /* of each kind */
	HANG_NAMED_MAX = 64,	 /* culprits, suspects */
};

enum hang_class {
	HANG_CANNOT_SAY,
	HANG_HOST_STALLED,    /* the process on the host launches nothing: never an eviction */
	HANG_OWN_GPU_STOPPED, /* the rank's own GPU or context does not end what others ended */
	HANG_FABRIC,	      /* all have started it, and the network does not move it */
	HANG_MISMATCH,	      /* members call operations that do not match: the job's program */
	HANG_EQUAL_COUNT,     /* all launched the same, it does not end, and nothing shows who */
	HANG_CLASSES
};
extern const char
	*const hang_class_names[HANG_CLASSES + 1]; /* "cannot say" "host-stalled" ...; NULL */

/* What to do about it. */
enum hang_act {
	HANG_ACT_COLLECT,    /* get what is missing; nobody can be blamed */
	HANG_ACT_STACKS,     /* look at the stacks of these ranks, then the owner restarts */
	HANG_ACT_OWNER,	     /* the job's owner: it is the program, or somebody stopped it */
	HANG_ACT_TEST_HOST,  /* test these hosts once the job has left them */
	HANG_ACT_EVICT,	     /* a GPU reports itself broken (a fatal Xid) */
	HANG_ACT_PAIR_PROBE, /* test these hosts with each other */
	HANG_ACTS
};
extern const char *const hang_act_names[HANG_ACTS + 1]; /* "collect" "stacks" ...; NULL */

struct hang_sentences {
	char text[HANG_SENTENCES_MAX][HANG_SENTENCE_SIZE];
	size_t n, left_out;
};

struct hang_verdict {
	enum hang_class class;
	enum hang_act act;
	uint32_t ranks[HANG_NAMED_MAX]; /* culprits, ascending; none for "cannot say" and
					   "equal-count" */
	size_t n_ranks;
	uint32_t suspects[HANG_NAMED_MAX]; /* unproven, ascending */
	size_t n_suspects;
	size_t n_more; /* culprits or suspects beyond HANG_NAMED_MAX */
	struct hang_sentences evidence, missing, tell; /* `tell`: what more would be needed */
};

/* Judges the case. `ret` is large (about 20 KB). -ENOMEM. */
int hang_judge(const struct hang_case *c, struct hang_verdict *ret, struct err *err);
