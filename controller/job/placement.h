/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which host a rank of a job was on over a whole window. Pure.
 *
 * Sources, the first that knows: what runs pods, what agents read of processes, what the trace
 * says. None but the first is more than a claim, so nothing is made of two that disagree:
 *
 *	a rank is *sure*	one host alone is claimed for it within the window, by all sources
 *				that know it, and one of them has it there from begin to end
 *	it is *not known*	no source has it anywhere within the window
 *	it is *in doubt*	everything else: it moved, two claim it, there is a gap
 *
 * A suspect is a group of ranks: its hosts are those of all its ranks, and one in doubt puts all in
 * doubt. Whoever lies can so put a rank in doubt, or on itself; never on another host.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

enum placement_source {
	PLACEMENT_PODS,	  /* the scheduler of pods */
	PLACEMENT_AGENTS, /* processes on the host */
	PLACEMENT_TRACE,  /* the trace alone: coarse */
	PLACEMENT_SOURCES,
};

/* "pods", "agents", "trace". */
extern const char *const placement_source_names[PLACEMENT_SOURCES];

enum placement_doubt {
	PLACEMENT_SURE,
	PLACEMENT_MOVED,    /* on two hosts within the window, or two claim it */
	PLACEMENT_DISAGREE, /* pods and agents have it on different hosts */
	PLACEMENT_GAP,	    /* for a part of the window nobody knows */
	PLACEMENT_PARTLY,   /* of some ranks of the group nothing is known */
	PLACEMENT_OTHER,    /* the trace names other hosts */
	PLACEMENT_MANY,	    /* more hosts than a suspect has */
	PLACEMENT_UNPROVEN, /* only the trace knows, of one who may not name hosts */
	PLACEMENT_NOWHERE,  /* nobody knows a host */
	PLACEMENT_DOUBTS,
};

/* What a reader is told: "ranks of it were on two hosts", no full stop. NULL of SURE. */
extern const char *const placement_doubt_words[PLACEMENT_DOUBTS];

/* A rank was on a host. */
struct placement_claim {
	enum placement_source source; /* PODS or AGENTS */
	const char *node;	      /* borrowed */
	uint64_t from_us, until_us;   /* the end is not within it */
};

/* Of a window. Both 0: nobody said when it was, so claims count whenever they were. */
struct placement_span {
	uint64_t from_us, until_us;
};

/* Of a rank. */
struct placement_found {
	bool known;
	enum placement_doubt doubt;   /* SURE, MOVED, DISAGREE, GAP */
	const char *node;	      /* of SURE; as a claim has it */
	enum placement_source source; /* of SURE: the first that has it there all the time */
};

struct placement_found placement_of_rank(const struct placement_claim *claims, size_t n,
					 const struct placement_span *span);

/* --- a suspect --- */

enum { PLACEMENT_HOSTS_MAX = 64 };

struct placement_group {
	char *hosts[PLACEMENT_HOSTS_MAX]; /* owned; ascending, each once */
	size_t n_hosts;
	size_t known, unknown; /* ranks */
	enum placement_doubt doubt;
	enum placement_source source; /* the least of those of its ranks */
};

/* Begin with zeroes; add each of its ranks. */
void placement_group_add(struct placement_group *group, const struct placement_found *found);
void placement_group_release(struct placement_group *group);

/* The hosts that the trace names for a suspect, each once. All borrowed. */
struct placement_traced {
	const char *const *hosts;
	size_t n;
	/* Who sent it may send traces of some jobs alone: what he names need not be of his job. */
	bool bound;
};

/*
 * All ranks are added: is it sure where they were? Then its hosts are those of the group, or while
 * its source is TRACE those of the trace.
 */
enum placement_doubt placement_group_judge(struct placement_group *group,
					   const struct placement_traced *traced);
