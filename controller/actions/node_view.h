/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node shows: the facts for the fleet, out-of-band changes since its record was written, and
 * the condition to publish at the cluster. Pure: the actor acts on it.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct cluster_node;
struct fleet;
struct fleet_node;
struct node_record;
struct policy;

/* What the node shows that its record does not know. */
enum observed {
	OBSERVED_NOTHING,
	OBSERVED_UNCORDON,  /* schedulable, but with our mark: uncordoned by hand, an order */
	OBSERVED_CORDON,    /* our mark: whoever set it was killed before recording, or is a twin */
	OBSERVED_ANEW,	    /* our mark, but of another cordon than the recorded one */
	OBSERVED_UNMARKED,  /* our mark is gone, with or without the cordon: no longer ours */
	OBSERVED_HOLD_OVER, /* held for a test that has ended */
	OBSERVED_UNHOLD,    /* the hold was removed */
};

/* `now_us`: real time, also below. */
enum observed node_view_observe(const struct cluster_node *c, const struct node_record *record,
				uint64_t now_us);

/* Was override-until set by hand, beyond what is recorded? */
bool node_view_is_overridden(const struct cluster_node *c, const struct node_record *record,
			     uint64_t now_us);

/* Is it kept out of service by somebody else? */
bool node_view_is_by_others(const struct cluster_node *c);

/*
 * Set the facts about whether the node is out of service. `kept`: another controller has a place
 * for it and may take it out at any moment; `coming`: one of our actions is taking it out, so that
 * it counts and is not decided on again.
 */
void node_view_out(struct fleet_node *node, const struct cluster_node *c, bool kept, bool coming);

/* Set the remaining facts: whether we manage it, and where it is. */
void node_view_facts(struct fleet *fleet, struct fleet_node *node, const struct cluster_node *c,
		     const char *domain_label);

/* The condition "Healthy" of the node. */
struct node_view_condition {
	int healthy; /* 1: true, 0: false, -1: unknown */
	const char *reason;
	char *message; /* owned by the caller */
};

/*
 * Get the condition to publish. Returns false if it has not changed or we may not touch the node.
 * `told` is what was published last, 0 at first, and is updated.
 */
bool node_view_tell(const struct cluster_node *c, const struct fleet_node *node,
		    const struct policy *policy, uint64_t now_us, int *told,
		    struct node_view_condition *ret);
