/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many bits the receiver had to correct, and how many symbols stayed wrong
 * after it. A PAM4 link always corrects; what stays wrong is loss.
 */
#pragma once

#include "lib/base/macro.h"

struct nic_stats;
struct port;
struct rnic_state;

/* One sample of rnic.fec, when the network device counts bits, and enough came since the last run. */
int rnic_fec(struct rnic_state *state, const struct port *port, const struct nic_stats *stats);
