/* SPDX-License-Identifier: Apache-2.0 */
/* A job that never ran as attribution reads it, without a file between. */
#pragma once

#include "attribution/trace.h"
#include "tests/attribution/job.h"

/* Its trace, whose nodes are those of job_node(). Aborts when it cannot be built. */
struct trace *job_as_trace(const struct job *job);
