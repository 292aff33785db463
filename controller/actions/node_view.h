/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is to be seen of a node: what the fleet counts of it, what somebody did to it since its
 * record was written, and what the cluster is told of how it is. Pure: what follows from it is the
 * actor's.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct cluster_node;
struct fleet;
struct fleet_node;
struct node_record;
struct policy;

/* What the node shows and its record does not know. */
enum observed {
	OBSERVED_NOTHING,
	OBSERVED_UNCORDON, /* it takes jobs and carries our mark: made schedulable by hand, an order */
	OBSERVED_CORDON,   /* our mark: done, and whoever did it was killed, or is a twin */
	OBSERVED_ANEW,	   /* our mark, of another cordon than the one that its record knows */
	OBSERVED_UNMARKED, /* our mark is gone, with or without the cordon: it is not ours any more */
	OBSERVED_HOLD_OVER, /* it is kept free for a test that is over */
	OBSERVED_UNHOLD,    /* the hold was taken off */
};

/* `now_us`: real time, here and below. */
enum observed node_view_observe(const struct cluster_node *c, const struct node_record *record,
				uint64_t now_us);

/* Was override-until set by hand, beyond what the record has? */
bool node_view_is_overridden(const struct cluster_node *c, const struct node_record *record,
			     uint64_t now_us);

/* Does somebody else keep it out of service? */
bool node_view_is_by_others(const struct cluster_node *c);

/*
 * Make facts of the fleet of whether it is out of service. `kept`: another controller has a place
 * for it, and may take it out at once; `coming`: an action takes it out: it counts, and is not
 * decided on a second time.
 */
void node_view_out(struct fleet_node *node, const struct cluster_node *c, bool kept, bool coming);

/* The same of the rest: whose it is, and where. */
void node_view_facts(struct fleet *fleet, struct fleet_node *node, const struct cluster_node *c,
		     const char *domain_label);

/* How it is: the condition "Healthy". */
struct node_view_condition {
	int healthy; /* 1: true, 0: false, -1: not known */
	const char *reason;
	char *message; /* new memory, the caller's */
};

/*
 * What the cluster is to be told of it; false: nothing that it was not, or it is none of ours to
 * touch. `told` is what was told last, 0 at first, and is brought up to date.
 */
bool node_view_tell(const struct cluster_node *c, const struct fleet_node *node,
		    const struct policy *policy, uint64_t now_us, int *told,
		    struct node_view_condition *ret);
