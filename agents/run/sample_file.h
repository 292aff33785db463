/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples from a file: JSON lines as probes print them, one JSON object that contains them (a
 * report/1, or a run/1 of `assay run -o json`), or a JSON list of any of these, as `jq -s` makes
 * of lines. A leading byte order mark is skipped.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct err;
struct host_parts;
struct sample;

enum { SAMPLE_FILE_MAX = 16 * 1024 * 1024, SAMPLE_FILE_COUNT_MAX = 65536 };

struct sample_file {
	struct sample *v;
	size_t n;
	json_t *object; /* that contained them; NULL: they were lines */
};

/*
 * Read `path`, or stdin for "-". A line that is not a sample is an error with its number: "FILE:
 * line 7: check: missing". -EINVAL, -EFBIG, -ENOENT...
 */
int sample_file_read(const char *path, struct sample_file *ret, struct err *err);

/* The names of the host's parts as the file has them: it may come from another host. */
void sample_file_parts(const struct sample_file *f, struct host_parts *ret);
void sample_file_release(struct sample_file *f);
