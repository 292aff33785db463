/* SPDX-License-Identifier: Apache-2.0 */
/*
 * $STATE/parts.json: what the GPUs and RDMA ports of this host are called, by the newest run that
 * asked them, for the sentences of all others. What another machine left there counts as nothing.
 */
#pragma once

#include "lib/base/macro.h"

struct err;
struct host_parts;
struct report;

/* What is known; none when there is no such file, or nothing of it can be used. */
void parts_file_read(struct host_parts *ret);

/* Take over what a report says, and keep it when it says anything new. */
int parts_file_learn(struct host_parts *parts, const struct report *report, struct err *err);
