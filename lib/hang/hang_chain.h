/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who waits for whom over all groups, if no rank's own counters prove anything. The chain of waits
 * ends in a group whose members all wait and of which nobody is known to be behind: somebody there
 * is unknown (a dump is missing), or all have launched the same (equal count), or the network does
 * not move it. The order follows NVRx's analysis of chains (earliest group of the dependence graph)
 * and MegaScale (arXiv 2402.15627, 5.2). Pure.
 */
#pragma once

#include "lib/hang/hang_facts.h"
#include "lib/hang/hang_verdict.h"

/* Suspects members without data, in groups where nobody known is behind. Returns how many. */
size_t hang_chain_unknown(const struct hang_facts *facts, struct hang_verdict *verdict);

/*
 * For groups where only launches are known (RAS). A member that is behind is a culprit if nobody
 * can hold it up in another group; else a suspect. It can be held up wherever others have launched
 * as much or less, and in groups whose collectives nobody has counted, which may only have sends
 * and receives. There is a culprit only if most of the group have launched more; otherwise those
 * that have may have made a call that the others rightly do not make, and all are suspects. Returns
 * the number of culprits.
 */
size_t hang_chain_counts(const struct hang_facts *facts, struct hang_verdict *verdict);

/* A group whose members all wait first at the operation that all have launched; -1 if none. */
int64_t hang_chain_equal(const struct hang_facts *facts);

/*
 * What proxies wait for in a group whose members have all started an operation and none has ended
 * it. `*ret_fabric` is set if they wait for the network; else a GPU that does not take arrived data
 * is a culprit. Returns the number of culprits.
 */
size_t hang_chain_proxies(const struct hang_facts *facts, struct hang_verdict *verdict,
			  bool *ret_fabric);
