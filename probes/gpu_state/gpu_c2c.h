/* SPDX-License-Identifier: Apache-2.0 */
/* NVLink-C2C, which joins a GPU to its processor on one board: GH200, GB200. */
#pragma once

struct gpu_state;

/* Of each GPU that has some, whether its links are active and as fast as others. */
int gpu_c2c(struct gpu_state *state);
