/* SPDX-License-Identifier: Apache-2.0 */
/* The rails of a host, as its topology shows them. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "lib/pairing/pairing.h"

/*
 * The switches that the RNICs of a topology (NULL: none) heard of by LLDP, by rail, borrowed from
 * it: a rail is a place among the RNICs that are up, those that heard nothing too
 * (TOPO_NEIGHBOR_SILENT), in the order in which the probes count ports (strverscmp(3): mlx5_2 is
 * before mlx5_10). False: there is none. What there is already in `ret_switch` stays.
 */
bool rails_heard(const json_t *topology, const char *ret_switch[PAIRING_RAILS_MAX]);
