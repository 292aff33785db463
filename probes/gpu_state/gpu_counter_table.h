/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NVML counters of a GPU and when their growth is a finding: the table of docs/gpu-state.md as
 * data. A new counter is a new row.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"
#include "probes/harness/finding.h"

struct gpu_counter_row {
	const char *check; /* "gpu.pcie_errors" */
	const char *name;  /* "replay" */
	unsigned field;	   /* NVML_FI_DEV_... */
	bool per_link;	   /* one per NVLink, selected by the scope of the field */
	bool is_time;	   /* nanoseconds; otherwise events */
	unsigned ever_of;  /* lifetime counter: the field with the count since driver load */
	bool of_boot;	   /* 0 at driver load, so that even the first reading tells its growth */
	enum finding finding; /* if growth exceeds the limit; otherwise it is a note */
	double limit;	      /* more events per hour, or a larger share of the time, than this */
	double times;	      /* and more than this times the highest of its model here; 0: any */
	const char *words;    /* what its growth means, to end a sentence with */
	const char *source;   /* of the rule */
};

extern const struct gpu_counter_row gpu_counter_rows[]; /* grouped by check */
extern const size_t n_gpu_counter_rows;

/* Fields used for more than counting; most also have a call of their own. */
enum {
	GPU_FIELD_ECC_CORRECTED = 3,
	GPU_FIELD_ECC_UNCORRECTED = 4,
	GPU_FIELD_ECC_UNCORRECTED_EVER = 6,
	GPU_FIELD_REPLAY = 94,
	GPU_FIELD_LINK_REPLAY = 161,
	GPU_FIELD_LINK_RECOVERY = 162,
	GPU_FIELD_LINK_CRC = 163,
};
