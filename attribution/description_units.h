/* SPDX-License-Identifier: Apache-2.0 */
/* The units of a description of a job, and the most that a number in it may be. */
#pragma once

#define GIB (1024.0 * 1024 * 1024)
#define MS 1e-3
#define GBPS (1e9 / 8)

/* Far beyond any job, and no infinity. */
#define GIB_MAX 1e6
#define GBPS_MAX 1e6
#define MS_MAX 1e9
