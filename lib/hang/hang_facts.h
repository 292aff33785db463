/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows from a case before anybody is judged: of each group where it stands, of each rank
 * whether it waits and is waited for. All rules work on these. Pure.
 *
 * A rank waits (is pending) in a group where it has enqueued what has not ended. The group's front
 * is the lowest number that somebody waits at. Counters of groups with sends and receives do not
 * compare, so those have no front: there an operation's other end is what is waited for.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/hang/hang_case.h"

enum hang_idle {
	HANG_IDLE_UNKNOWN, /* some counter is missing */
	HANG_IDLE_NO,	   /* it waits somewhere */
	HANG_IDLE_YES,	   /* all that it enqueued has ended, in all its groups */
};

struct hang_front {
	int64_t seq;	  /* HANG_UNKNOWN: nobody is known to wait here */
	uint32_t waiter;  /* who waits there: one of them */
	int64_t last_seq; /* the highest number that somebody waits at, */
	uint32_t last_waiter;
	size_t pending;	   /* members that wait */
	size_t launched;   /* members that have enqueued the front */
	size_t behind;	   /* members that have not */
	size_t unknown;	   /* members of whom it is not known */
	size_t less;	   /* members that have launched less than another */
	int64_t completed; /* the highest that a member has completed, HANG_UNKNOWN; who: */
	uint32_t completed_by;
	int64_t enqueued_most, enqueued_least; /* HANG_UNKNOWN */
	bool counts_only;		       /* what was completed is not known of any member */
};

struct hang_standing {
	uint8_t idle;		/* enum hang_idle */
	bool known;		/* some counter of it is known */
	bool waited;		/* somebody waits for it: */
	uint32_t waiter, group; /* who and where, */
	int64_t seq;		/* at which number */
	bool outrun; /* nobody is known to wait, and a member (those three, too) has ended so much
			more than it has launched that what is known of the two is of different
			times, or runs */
	bool behind; /* in some group, by what was enqueued */
	size_t n_groups; /* with counters */
	size_t first_op; /* place of the oldest operation that has not ended; SIZE_MAX */
};

struct hang_facts {
	const struct hang_case *c;
	struct hang_front *groups;   /* owned; by place */
	struct hang_standing *ranks; /* owned; by rank */
};

/* Release it even on failure. -ENOMEM. */
int hang_facts_init(struct hang_facts *facts, const struct hang_case *c, struct err *err);
void hang_facts_release(struct hang_facts *facts);

/* Is it a send or receive, by its name? */
bool hang_facts_is_p2p(const struct hang_op *op);

/* What a group is called in sentences: its description, or its name. */
const char *hang_facts_group(const struct hang_case *c, uint32_t group);
