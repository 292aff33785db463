/* SPDX-License-Identifier: Apache-2.0 */
/* MPS, MRRS and ATS of GPUs and NICs. An area of the probe, like those in host_state.h. */
#pragma once

#include "probes/host_state/host_state.h"

int pcie_settings(struct host *h, struct err *err);
