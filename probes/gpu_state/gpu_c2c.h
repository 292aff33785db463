/* SPDX-License-Identifier: Apache-2.0 */
/* NVLink-C2C, which connects a GPU to its processor on one board (GH200, GB200). */
#pragma once

struct gpu_state;

/* Check, for each GPU with such links, that they are active and as fast as expected. */
int gpu_c2c(struct gpu_state *state);
