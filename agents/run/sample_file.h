/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples from a file: JSON lines as probes print them, or one JSON object
 * that carries them (a report/1, or a run/1 of `assay run -o json`), or one JSON list of any, as
 * `jq -s` makes it of lines. A byte order mark before them is passed over.
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
	json_t *object; /* the one that carried them, or NULL when they were lines */
};

/*
 * Read `path`, or standard input for "-". A line that is no sample is refused
 * with its number: "FILE: line 7: check: missing". -EINVAL, -EFBIG, -ENOENT...
 */
int sample_file_read(const char *path, struct sample_file *ret, struct err *err);

/* What the parts of the host are called, by the file itself: it may be another host's. */
void sample_file_parts(const struct sample_file *f, struct host_parts *ret);
void sample_file_release(struct sample_file *f);
