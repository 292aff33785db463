/* SPDX-License-Identifier: Apache-2.0 */
/* What a port is called, and where its card is plugged in. */
#pragma once

#include <jansson.h>

struct port;
struct rnic_state;

/*
 * What a port is called: a list as lib/report/host_parts.h has it. Its rail is its place among
 * the active ones with a device. New reference.
 */
json_t *rnic_parts(const struct rnic_state *state, const struct port *port);
