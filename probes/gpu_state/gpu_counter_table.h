/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NVML counts of a GPU and when its growth is a finding: the table of
 * docs/gpu-state.md, as data. Another counter is another row.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"
#include "probes/harness/finding.h"

struct gpu_counter_row {
	const char *check; /* "gpu.pcie_errors" */
	const char *name;  /* "replay" */
	unsigned field;	   /* NVML_FI_DEV_... */
	bool per_link;	   /* of each NVLink, by the scope of the field */
	bool is_time;	   /* nanoseconds; else events */
	unsigned ever_of; /* of what it counts since the GPU was made: the field since it started */
	bool of_boot;	  /* 0 when the driver was loaded: the first look tells too */
	enum finding finding; /* of a growth beyond the limit; what is not beyond is a note */
	double limit;	      /* events more than this in an hour, or this share of the time */
	double times;	    /* and so many times the most of the others of its model here; 0: any */
	const char *words;  /* what its growth means, for the end of a sentence */
	const char *source; /* of the rule */
};

extern const struct gpu_counter_row gpu_counter_rows[]; /* rows of one check together */
extern const size_t n_gpu_counter_rows;

/* Fields that something is done with beside counting; most have a call of their own too. */
enum {
	GPU_FIELD_ECC_CORRECTED = 3,
	GPU_FIELD_ECC_UNCORRECTED = 4,
	GPU_FIELD_ECC_UNCORRECTED_EVER = 6,
	GPU_FIELD_REPLAY = 94,
	GPU_FIELD_LINK_REPLAY = 161,
	GPU_FIELD_LINK_RECOVERY = 162,
	GPU_FIELD_LINK_CRC = 163,
};
