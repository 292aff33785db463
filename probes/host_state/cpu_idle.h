/* SPDX-License-Identifier: Apache-2.0 */
/* Idle states of the processors, and NUMA balancing. An area of the probe, as those of host_state.h. */
#pragma once

#include "probes/host_state/host_state.h"

int cpu_idle(struct host *h, struct err *err);
