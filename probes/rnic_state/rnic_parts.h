/* SPDX-License-Identifier: Apache-2.0 */
/* The names of a port, and the slot of its card. */
#pragma once

#include <jansson.h>

struct port;
struct rnic_state;

/*
 * The names of a port, as a list in the format of lib/report/host_parts.h. Its rail is its index
 * among the active ports with a device. Returns a new reference.
 */
json_t *rnic_parts(const struct rnic_state *state, const struct port *port);
