/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host says of a job's ranks (assay-hang/1, docs/hangs.md), cut to what it is believed: of
 * ranks that are placed there all; of others of the job only what RAS told it of them, since one
 * rank that is asked answers for its communicators. Pure but for memory.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/job/hang_places.h"
#include "lib/base/macro.h"

/* Less than this a host does not call standing still. */
#define HANG_DOC_STILL_S 60.0
/* More than this goes over the network of a rank: it moves something. */
#define HANG_DOC_TRAFFIC_BYTES_S 1e6

/* What it comes to, of the ranks that are the host's own. */
struct hang_doc_facts {
	int64_t run, world;
	double age_s;
	size_t own, told, refused; /* ranks: placed there; told by RAS; neither */
	double still_s;		   /* the longest that something has stood still; 0: nothing does */
	bool sure;		   /* by something that no pause does (lib/policy/hung.h) */
	bool traffic;
	uint64_t positions, progress; /* how many, and their sum: equal ones that grow have moved */
};

/*
 * Cut `doc`, which is one that hang_json.h takes: "ranks" are the host's own, "told" those of others.
 */
void hang_doc_cut(json_t *doc, const struct hang_places *places, const char *node,
		  struct hang_doc_facts *ret);
