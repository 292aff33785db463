/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who waits for whom over all groups, when no rank's own counters prove anything. The chain of
 * waits ends in a group whose members all wait and for which nobody is known to be behind: somebody
 * there is unknown (a dump is missing), or all have launched the same (equal count), or the
 * network does not move it. The order follows NVRx's analysis of chains (earliest group of the
 * dependence graph) and MegaScale (arXiv 2402.15627, 5.2). Pure.
 */
#pragma once

#include "lib/hang/hang_facts.h"
#include "lib/hang/hang_verdict.h"

/* Members of whom nothing is known, where nobody who is known is behind: suspects. How many. */
size_t hang_chain_unknown(const struct hang_facts *facts, struct hang_verdict *verdict);

/*
 * Where only what was launched is known (RAS): the member that is behind, and in no other group may
 * be held up by others, is a culprit; else it is a suspect. It may be wherever others have launched
 * as much or less, and also in a group whose collectives nobody has counted: there may be none, but
 * sends and receives. And only where most of the group have launched more: else those
 * who have may have called what the others rightly do not call, and all are suspects. How many
 * culprits.
 */
size_t hang_chain_counts(const struct hang_facts *facts, struct hang_verdict *verdict);

/* A group whose members all wait first in the operation that all have launched; -1. */
int64_t hang_chain_equal(const struct hang_facts *facts);

/*
 * What proxies wait for, in a group whose members have all started and none ended: `*ret_fabric`
 * when they wait for the network; else a GPU that does not take what came is a culprit. How many
 * culprits.
 */
size_t hang_chain_proxies(const struct hang_facts *facts, struct hang_verdict *verdict,
			  bool *ret_fabric);
