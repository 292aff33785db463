/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the fleet share among themselves. */
#pragma once

#include "lib/policy/fleet.h"

void fleet_drop_finding(struct fleet_node *node, struct finding *finding);
void fleet_drop_findings(struct fleet_node *node);
void fleet_release_parts(struct fleet *f);

/* Nothing is bad in it now; how often it was exonerated is remembered. */
void fleet_quieten(struct finding *finding);
