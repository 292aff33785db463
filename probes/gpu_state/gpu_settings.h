/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that are compared between hosts. */
#pragma once

#include "probes/gpu_state/gpu_state.h"

/* An area, like those in gpu_state.h. */
int gpu_settings(struct gpu_state *state);
