/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of RAS (2.24 and later), as VERBOSE STATUS prints it. Pure.
 *
 *	NCCL version 2.25.1 compiled with CUDA 12.8
 *	...
 *	Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
 *	    #  in group  per comm  per node  per comm  in group
 *	    0         1         2         8        16        16   RUNNING  MISMATCH
 *	...
 *	#0-0 (27a079b828ff1a75) INCOMPLETE
 *	  Missing communicator data from 1 rank
 *	  Rank 3 -- GPU 3 managed by process 123 on node 10.0.0.1
 *	#0-0 (27a079b828ff1a75) MISMATCH
 *	  Communicator ranks have different AllReduce operation counts
 *	  15 ranks have launched up to operation 411
 *	  Rank 9 has launched up to operation 410 -- GPU 1 (NVML 3) managed by process 77 on
 *node 10.0.0.2
 *
 * A communicator without errors has no name in it, so nothing is said of it. Counts are there only
 * where ranks differ, and ranks by name only where they are fewer than half: where one count is
 * left that no rank was named for, all the others have it. 2.24 and 2.25 count all functions as
 * one ("different collective operation counts").
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct err;
struct hang_ras_answer;

/*
 * Reads into `a`, which must be empty. -EINVAL: not such a text, -E2BIG; then `a` is half-filled.
 */
int hang_ras_text_read(const char *text, size_t size, struct hang_ras_answer *a, struct err *err);
