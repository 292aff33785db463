/* SPDX-License-Identifier: Apache-2.0 */
/*
 * New pipelines after some hosts are lost: the reconfiguration of Oobleck (Jang et al., SOSP 2023,
 * section 4.3; SymbioticLab/Oobleck 3b7a0c2).
 *
 * Lost hosts leave their pipelines. A pipeline with fewer than n0 hosts borrows the last host of
 * the longest pipeline with more than n0 (the later one of equals) until it has n0. If nobody can
 * lend, all short ones are merged, in order, until they have n0; a remainder joins the first
 * complete pipeline. Then hosts are sorted within each pipeline, and pipelines by length, then by
 * first host.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;

enum { RECONFIGURE_HOSTS_MAX = 65536 }; /* in all pipelines together */

/* Pipelines, concatenated: pipeline p has the hosts before end[p]. */
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
 * `lost` has host numbers, in any order; hosts of no pipeline are ignored. `least` is n0, at least
 * 1. -ERANGE if fewer than n0 are left in all; -EINVAL for a host in two pipelines, or too many.
 */
int reconfigure_pipelines(const struct reconfigure_pipelines *old, const uint32_t *lost,
			  size_t n_lost, size_t least, struct reconfigure_pipelines *ret_new,
			  enum reconfigure_way *ret_way, struct err *err);
void reconfigure_pipelines_release(struct reconfigure_pipelines *pipelines);
