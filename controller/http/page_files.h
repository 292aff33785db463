/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The web page as served: all files of its folder that are for browsers, read once into memory,
 * also compressed. Requests are looked up by name among them and never reach the file system.
 *
 * The version is derived from the names and bytes of all files: content under a version never
 * changes. Only index.html has no version in its address; it refers to the others (page_index.h).
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct err;

enum {
	PAGE_FILES_MAX = 256,
	PAGE_NAME_MAX = 128,		  /* bytes of "vendor/preact/preact.mjs" */
	PAGE_DEPTH_MAX = 6,		  /* nested folders */
	PAGE_FILE_MAX = 512 * 1024,	  /* bytes */
	PAGE_BYTES_MAX = 2 * 1024 * 1024, /* in total, including compressed ones */
	PAGE_VERSION_SIZE = 17,
};

struct page_file {
	char *name;	  /* relative to the folder; owned */
	const char *type; /* static */
	char *bytes;	  /* owned */
	size_t length;
	char *gzip; /* owned; NULL: not smaller, or not built in */
	size_t gzip_length;
};

struct page_files {
	struct page_file *files; /* sorted by name */
	size_t n;
	size_t bytes;			 /* in total, including compressed ones */
	char version[PAGE_VERSION_SIZE]; /* hexadecimal */
	char *policy;			 /* Content-Security-Policy; owned */
};

/*
 * Read the folder. -ENOENT without an index.html, -EFBIG beyond the limits above, -EINVAL for a bad
 * index (page_index.h), and others; each with a sentence that begins with the path. Files with
 * other characters than letters, digits, '.', '-', '_' in their name, or of types not served to
 * browsers, such as licences, are skipped.
 */
int page_files_read(const char *folder, struct page_files *ret, struct err *err);
void page_files_release(struct page_files *files);

/* Returns NULL if there is none of that name. */
const struct page_file *page_files_find(const struct page_files *files, const char *name);
