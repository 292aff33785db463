/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which port of one host is measured with which of the other: those of the same name, for
 * hosts alike name their devices alike. A port that is down on one of them then leaves its
 * own rail out and moves no other. Hosts without a name in common are matched by place.
 */
#pragma once

#include "probes/rnic_pair/pair_message.h"
#include "probes/rnic_pair/pair_side.h"

/*
 * Put the ports that are measured with each other first, in both lists in the order of the
 * leader's; returns how many. Both hosts come to the same. `ret_rails` has the number of each
 * rail: of two places the later one, as a port that is down has no place.
 */
size_t pair_rails_match(struct pair_side *own, size_t n_own, struct pair_rail *theirs,
			size_t n_theirs, bool leads, unsigned ret_rails[static PAIR_PORTS_MAX]);
