/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows from a case before anybody is judged: the state of each group, and for each rank
 * whether it waits and is waited for. All rules use these. Pure.
 *
 * A rank waits (is pending) in a group if it has enqueued an operation that has not ended. The
 * group's front is the lowest number at which somebody waits. Counters of groups with sends and
 * receives are not comparable, so those have no front: there an operation waits for its other end.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/hang/hang_case.h"

enum hang_idle {
	HANG_IDLE_UNKNOWN, /* some counter is missing */
	HANG_IDLE_NO,	   /* it waits somewhere */
	HANG_IDLE_YES,	   /* everything that it enqueued has ended, in all its groups */
};

struct hang_front {
	int64_t seq;	  /* HANG_UNKNOWN: nobody is known to wait here */
	uint32_t waiter;  /* one of those that wait there */
	int64_t last_seq; /* the highest number at which somebody waits */
	uint32_t last_waiter;
	size_t pending;	   /* members that wait */
	size_t launched;   /* members that have enqueued the front */
	size_t behind;	   /* members that have not */
	size_t unknown;	   /* members for which this is unknown */
	size_t less;	   /* members that have launched less than another one */
	int64_t completed; /* highest number completed by a member, HANG_UNKNOWN; and by whom: */
	uint32_t completed_by;
	int64_t enqueued_most, enqueued_least; /* HANG_UNKNOWN */
	bool counts_only;		       /* completions are not known for any member */
};

struct hang_standing {
	uint8_t idle;		/* enum hang_idle */
	bool known;		/* at least one of its counters is known */
	bool waited;		/* somebody waits for it: */
	uint32_t waiter, group; /* who, in which group, */
	int64_t seq;		/* at which number */
	/* Nobody is known to wait, but a member (in waiter, group, seq) has ended so much more than
	 * it has launched that their data are from different times, or runs. */
	bool outrun;
	bool behind;	 /* in some group, by what was enqueued */
	size_t n_groups; /* with counters */
	size_t first_op; /* index of its oldest operation that has not ended; SIZE_MAX */
};

struct hang_facts {
	const struct hang_case *c;
	struct hang_front *groups;   /* owned; by index */
	struct hang_standing *ranks; /* owned; by rank */
};

/* Must be released even on failure. -ENOMEM. */
int hang_facts_init(struct hang_facts *facts, const struct hang_case *c, struct err *err);
void hang_facts_release(struct hang_facts *facts);

/* True if it is a send or receive, by its name. */
bool hang_facts_is_p2p(const struct hang_op *op);

/* What sentences call a group: its description, or its name. */
const char *hang_facts_group(const struct hang_case *c, uint32_t group);
