/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matches the ports of two hosts by name, because similar hosts name their devices alike. So a port
 * that is down on one host only removes its own rail and does not shift the others. Hosts with no
 * name in common are matched by index.
 */
#pragma once

#include "probes/rnic_pair/pair_message.h"
#include "probes/rnic_pair/pair_side.h"

/*
 * Move the matched ports to the front of both lists, in the leader's order, and return their
 * number. Both hosts get the same result. `ret_rails` is the number of each rail: the higher of its
 * two indices, since ports that are down have none.
 */
size_t pair_rails_match(struct pair_side *own, size_t n_own, struct pair_rail *theirs,
			size_t n_theirs, bool leads, unsigned ret_rails[static PAIR_PORTS_MAX]);
