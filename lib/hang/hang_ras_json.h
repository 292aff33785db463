/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON format of RAS (2.28.7 and later): {nccl_version, communicators: [{hash, secondary_hash,
 * size, ranks: [{rank, host, pid, nvml_dev, status, collective_counts}], missing_ranks: [{rank,
 * host, pid, nvml_dev, status}]}], ras: {timeouts_count}}. Pure.
 *
 * 2.28.7 to 2.28.9 omit the comma between "nvml_dev" and "status" of a missing rank
 * (client_support.cc of v2.28.9-1, line 1963; fixed in 2.29.2). For answers of those versions that
 * comma is inserted; nothing else is repaired.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct err;
struct hang_ras_answer;

/* Reads into `a`, which must be empty. -EINVAL with the place, -E2BIG; `a` is then half-filled. */
int hang_ras_json_read(const char *text, size_t size, struct hang_ras_answer *a, struct err *err);
