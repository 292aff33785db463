/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gpu_state/gpu_parts.h"

#include <stdio.h>

#include "lib/report/host_parts.h"
#include "lib/sys/pci_slots.h"
#include "probes/gpu_state/gpu_state.h"

static json_t *part_of(const struct gpu_state *state, const struct gpu_reading *gpu)
{
	struct host_part part = { .index = (int)gpu->index, .module = gpu->module, .rail = -1 };

	(void)snprintf(part.id, sizeof(part.id), "%s", gpu->subject);
	(void)snprintf(part.pci, sizeof(part.pci), "%s", gpu->pci);
	(void)snprintf(part.serial, sizeof(part.serial), "%s", gpu->serial);
	(void)snprintf(part.number, sizeof(part.number), "%s", gpu->part_number);
	if (state->slots && gpu->pci[0])
		(void)snprintf(part.slot, sizeof(part.slot), "%.40s",
			       pci_slots_of(state->slots, gpu->pci));
	return host_part_encode(&part);
}

json_t *gpu_parts(const struct gpu_state *state, const char *subject)
{
	size_t i;

	for (i = 0; i < state->gpus->n; i++) {
		if (streq(state->gpus->all[i].subject, subject))
			return json_pack("[o]", part_of(state, &state->gpus->all[i]));
	}
	return NULL;
}
