/* SPDX-License-Identifier: Apache-2.0 */
/* One run of the probe: what is planned, in order, against the clock. */
#pragma once

struct err;
struct probe;

/* probe_desc.run of the host part. */
int session_run(struct probe *probe, struct err *err);
