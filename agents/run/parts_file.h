/* SPDX-License-Identifier: Apache-2.0 */
/*
 * $STATE/parts.json: the names of this host's GPUs and RDMA ports, from the newest run that read
 * them, for the messages of all other runs. A file from another machine is ignored.
 */
#pragma once

#include "lib/base/macro.h"

struct err;
struct host_parts;
struct report;

/* Read the file. Empty if there is none or it is unusable. */
void parts_file_read(struct host_parts *ret);

/* Add the names in a report, and write the file if any are new. */
int parts_file_learn(struct host_parts *parts, const struct report *report, struct err *err);
