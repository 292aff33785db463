/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which versions of NCCL can have their RAS queried, and what is known of each. Versions that are
 * not listed are never queried. Pure.
 *
 * From NVIDIA/nccl: issues 1669 and 1718 (crash if queried while communicators are created; fixed
 * in 2.27.3), 1762 (with a missing rank the report reads and writes out of bounds; versions 2.26.2
 * to 2.28.9, fixed in 2.29.2), 2346 (2.29.7, text: crash while communicators are created), and
 * src/ras/client_support.cc of each version. Read there, not tried on jobs of many hosts.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct hang_ras_version {
	unsigned first, last; /* in NCCL's numbering: 22809 */
	bool ask;
	bool json;	   /* else only text */
	const char *words; /* why not, or what to be aware of; NULL: nothing */
};

/* The number of "2.28.9" or "2.28.9+cuda13.0"; 0 if it is not a version. */
unsigned hang_ras_version_number(const char *text);

/* The row of the version; NULL if it is not listed. */
const struct hang_ras_version *hang_ras_version_find(unsigned version);
