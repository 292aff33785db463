/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the shape of a job: the first line of optrace/1, or the YAML for a CSV. */
#pragma once

#include "lib/base/macro.h"

struct err;
struct trace_job;

enum { TRACE_META_MAX = 32 * 1024 * 1024 }; /* line in bytes: the ranks of 10^5 workers fit */

/* Messages begin with `place`. On success `ret_job` is new. -EINVAL. */
int trace_meta_line(const char *text, size_t length, const char *place, struct trace_job *ret_job,
		    struct err *err);
int trace_meta_file(const char *path, struct trace_job *ret_job, struct err *err);
