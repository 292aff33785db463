/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a simulated job into a trace without going through a file. */
#pragma once

#include "attribution/trace.h"
#include "tests/attribution/job.h"

/* Returns its trace, with the nodes of job_node(). Aborts if it cannot be built. */
struct trace *job_as_trace(const struct job *job);
