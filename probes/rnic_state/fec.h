/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bits corrected by the receiver, and symbols that remained wrong. A PAM4 link always needs
 * corrections; only what remains wrong is loss.
 */
#pragma once

#include "lib/base/macro.h"

struct nic_stats;
struct port;
struct rnic_state;

/* Emit rnic.fec if the network device counts bits and enough arrived since the last run. */
int rnic_fec(struct rnic_state *state, const struct port *port, const struct nic_stats *stats);
