/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_state/rnic_parts.h"

#include <stdio.h>

#include "lib/report/host_parts.h"
#include "lib/sys/pci_slots.h"
#include "probes/rnic_state/rnic_state.h"

static int rail_of(const struct ports *ports, const struct port *port)
{
	const struct port *at;
	int rail = 0;

	if (!port->active || port->software)
		return -1;
	for (at = ports->all; at < port; at++)
		rail += at->active && !at->software;
	return rail;
}

json_t *rnic_parts(const struct rnic_state *state, const struct port *port)
{
	struct host_part part = HOST_PART_INIT;

	(void)snprintf(part.id, sizeof(part.id), "%s", port->subject);
	(void)snprintf(part.pci, sizeof(part.pci), "%.40s", port->pci);
	if (state->slots && port->pci[0])
		(void)snprintf(part.slot, sizeof(part.slot), "%.40s",
			       pci_slots_of(state->slots, port->pci));
	part.rail = rail_of(state->ports, port);
	return json_pack("[o]", host_part_encode(&part));
}
