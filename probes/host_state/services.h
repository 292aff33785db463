/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of the fabric of GPUs. An area of the probe, as those of host_state.h. */
#pragma once

#include "probes/host_state/host_state.h"

int services(struct host *h, struct err *err);
