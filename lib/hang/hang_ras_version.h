/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which versions of NCCL may have their RAS asked: what is known of each. What is not listed is
 * never asked. Pure.
 *
 * From NVIDIA/nccl: issues 1669 and 1718 (asked while communicators are made: crash; fixed in
 * 2.27.3), 1762 (a rank is missing: the report reads and writes beyond its data; in the versions
 * 2.26.2 to 2.28.9, fixed in 2.29.2), 2346 (2.29.7, text: crash while communicators are made), and
 * src/ras/client_support.cc of each version. Read there, not tried on jobs of many hosts.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct hang_ras_version {
	unsigned first, last; /* as NCCL counts: 22809 */
	bool ask;
	bool json;	   /* else only text */
	const char *words; /* why not, or what to mind; NULL: nothing */
};

/* Of "2.28.9", "2.28.9+cuda13.0"; 0: it is none. */
unsigned hang_ras_version_number(const char *text);

/* The row of the version; NULL: not listed. */
const struct hang_ras_version *hang_ras_version_find(unsigned version);
