/* SPDX-License-Identifier: Apache-2.0 */
/* What hosts are compared by. */
#pragma once

#include "probes/gpu_state/gpu_state.h"

/* An area, as those of gpu_state.h. */
int gpu_settings(struct gpu_state *state);
