/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipelines of hosts after some hosts are lost: the reconfiguration of Oobleck (Jang et
 * al., SOSP 2023, section 4.3; SymbioticLab/Oobleck 3b7a0c2).
 *
 * Lost hosts leave their pipelines. One that has fewer than n0 hosts left borrows the last
 * host of the longest pipeline that has more than n0 (the later one of equals), until it
 * has n0. When nobody can lend, all short ones are merged, in their order, until they have
 * n0; what is left of them joins the first pipeline that is whole. Then hosts ascend within
 * a pipeline, and pipelines by their length, then by their first host.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;

enum { RECONFIGURE_HOSTS_MAX = 65536 }; /* in all pipelines together */

/* Pipelines one behind the other: that of number p has the hosts before end[p]. */
struct reconfigure_pipelines {
	uint32_t *hosts; /* owned, n_hosts */
	size_t *ends;	 /* owned, n */
	size_t n_hosts, n;
};

enum reconfigure_way {
	RECONFIGURE_KEPT, /* each had enough left */
	RECONFIGURE_BORROWED,
	RECONFIGURE_MERGED,
};

extern const char *const reconfigure_way_names[]; /* "kept", "borrowed", "merged" */

/*
 * `lost` are hosts, in any order; those of no pipeline are nobody's. `least` is n0, 1 or
 * more. -ERANGE when fewer than n0 are left in all; -EINVAL for a host in two pipelines or too
 * many.
 */
int reconfigure_pipelines(const struct reconfigure_pipelines *old, const uint32_t *lost,
			  size_t n_lost, size_t least, struct reconfigure_pipelines *ret_new,
			  enum reconfigure_way *ret_way, struct err *err);
void reconfigure_pipelines_release(struct reconfigure_pipelines *pipelines);
