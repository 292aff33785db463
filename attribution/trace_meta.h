/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a job: from the first line of optrace/1, or from the YAML beside a CSV. */
#pragma once

#include "lib/base/macro.h"

struct err;
struct trace_job;

enum { TRACE_META_MAX = 32 * 1024 * 1024 }; /* bytes of the line: the ranks of 10^5 workers fit */

/* `place` is what sentences begin with. On success `ret_job` is new. -EINVAL. */
int trace_meta_line(const char *text, size_t length, const char *place, struct trace_job *ret_job,
		    struct err *err);
int trace_meta_file(const char *path, struct trace_job *ret_job, struct err *err);
