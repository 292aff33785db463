/* SPDX-License-Identifier: Apache-2.0 */
/* Services of the GPU fabric. An area of the probe, like those in host_state.h. */
#pragma once

#include "probes/host_state/host_state.h"

int services(struct host *h, struct err *err);
