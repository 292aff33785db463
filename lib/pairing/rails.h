/* SPDX-License-Identifier: Apache-2.0 */
/* The rails of a host, according to its topology. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "lib/pairing/pairing.h"

/*
 * The switches that the RNICs of a topology (may be NULL) learned by LLDP, by rail, borrowed from
 * it. The rail of an RNIC is its index among those that are up, including silent ones
 * (TOPO_NEIGHBOR_SILENT), in the order in which probes count ports (strverscmp(3): mlx5_2 before
 * mlx5_10). Returns false if there are none. Existing entries of `ret_switch` stay.
 */
bool rails_heard(const json_t *topology, const char *ret_switch[PAIRING_RAILS_MAX]);
