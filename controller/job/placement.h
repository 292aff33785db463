/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On which host a rank of a job was during a window. Pure.
 *
 * Sources, in order of precedence: what runs pods, what agents read of processes, what the trace
 * says. All but the first are only claims, so two that disagree prove nothing:
 *
 *   a rank is *sure*       one host alone is claimed for it within the window, by all sources
 *                          that know it, and one of them has it there from begin to end
 *   it is *not known*      no source has it anywhere within the window
 *   it is *in doubt*       everything else: it moved, two claim it, there is a gap
 *
 * A suspect is a group of ranks: its hosts are those of all its ranks, and one in doubt makes all
 * doubtful. A lying host can cast doubt on a rank or claim it, but not place it on another host.
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
	PLACEMENT_MOVED,    /* on two hosts within the window, or claimed by two */
	PLACEMENT_DISAGREE, /* pods and agents have it on different hosts */
	PLACEMENT_GAP,	    /* unknown for part of the window */
	PLACEMENT_PARTLY,   /* unknown for some ranks of the group */
	PLACEMENT_OTHER,    /* the trace names other hosts */
	PLACEMENT_MANY,	    /* more than PLACEMENT_HOSTS_MAX hosts */
	PLACEMENT_UNPROVEN, /* known only from a trace whose sender may not name hosts */
	PLACEMENT_NOWHERE,  /* no host is known */
	PLACEMENT_DOUBTS,
};

/* Clause for people, without full stop: "ranks of it were on two hosts". NULL for SURE. */
extern const char *const placement_doubt_words[PLACEMENT_DOUBTS];

/* A rank was on this host. */
struct placement_claim {
	enum placement_source source; /* PODS or AGENTS */
	const char *node;	      /* borrowed */
	uint64_t from_us, until_us;   /* until_us is exclusive */
};

/* The time of a window. Both 0: unknown, and claims from any time count. */
struct placement_span {
	uint64_t from_us, until_us;
};

/* Result for a rank. */
struct placement_found {
	bool known;
	enum placement_doubt doubt;   /* SURE, MOVED, DISAGREE, GAP */
	const char *node;	      /* if SURE; borrowed from a claim */
	enum placement_source source; /* if SURE: the first that has it there all the time */
};

struct placement_found placement_of_rank(const struct placement_claim *claims, size_t n,
					 const struct placement_span *span);

/* --- a suspect --- */

enum { PLACEMENT_HOSTS_MAX = 64 };

struct placement_group {
	char *hosts[PLACEMENT_HOSTS_MAX]; /* owned; sorted, unique */
	size_t n_hosts;
	size_t known, unknown; /* number of ranks */
	enum placement_doubt doubt;
	enum placement_source source; /* the weakest among its ranks */
};

/* Start from zero and add each rank. */
void placement_group_add(struct placement_group *group, const struct placement_found *found);
void placement_group_release(struct placement_group *group);

/* The hosts that the trace names for a suspect, without duplicates. All borrowed. */
struct placement_traced {
	const char *const *hosts;
	size_t n;
	/* The sender may send traces of certain jobs only: hosts it names need not belong to its
	 * job. */
	bool bound;
};

/*
 * After all ranks were added: is their placement sure? Then its hosts are those of the group, or
 * while its source is TRACE those of the trace.
 */
enum placement_doubt placement_group_judge(struct placement_group *group,
					   const struct placement_traced *traced);
