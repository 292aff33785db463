/* SPDX-License-Identifier: Apache-2.0 */
/* CPU idle states and NUMA balancing. An area of the probe, like those in host_state.h. */
#pragma once

#include "probes/host_state/host_state.h"

int cpu_idle(struct host *h, struct err *err);
