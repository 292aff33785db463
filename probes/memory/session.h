/* SPDX-License-Identifier: Apache-2.0 */
/* One run of the host part: executes the plan within the budget. */
#pragma once

struct err;
struct probe;

/* run() of struct probe_desc, for the host part. */
int session_run(struct probe *probe, struct err *err);
