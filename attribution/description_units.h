/* SPDX-License-Identifier: Apache-2.0 */
/* Units of a job description, and the largest values allowed. */
#pragma once

#define GIB (1024.0 * 1024 * 1024)
#define MS 1e-3
#define GBPS (1e9 / 8)

/* Far beyond any job, but finite. */
#define GIB_MAX 1e6
#define GBPS_MAX 1e6
#define MS_MAX 1e9
