/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The web page as it is served: all files of its folder that a browser takes, read once into
 * memory with what gzip makes of them. What is asked for is looked for among them by its name,
 * so that no request reaches the file system.
 *
 * The version is made of the names and bytes of all of them: what stands under it never changes.
 * index.html alone has no version in its address, and names those of the others (page_index.h).
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct err;

enum {
	PAGE_FILES_MAX = 256,
	PAGE_NAME_MAX = 128,		  /* bytes of "vendor/preact/preact.mjs" */
	PAGE_DEPTH_MAX = 6,		  /* folders within each other */
	PAGE_FILE_MAX = 512 * 1024,	  /* bytes */
	PAGE_BYTES_MAX = 2 * 1024 * 1024, /* of all, with what gzip makes of them */
	PAGE_VERSION_SIZE = 17,
};

struct page_file {
	char *name;	  /* below the folder; owned */
	const char *type; /* static */
	char *bytes;	  /* owned */
	size_t length;
	char *gzip; /* owned; NULL: it would not be smaller, or is not built in */
	size_t gzip_length;
};

struct page_files {
	struct page_file *files; /* sorted by name */
	size_t n;
	size_t bytes;			 /* of all, with what gzip makes of them */
	char version[PAGE_VERSION_SIZE]; /* hexadecimal */
	char *policy;			 /* Content-Security-Policy; owned */
};

/*
 * Read the folder. -ENOENT without an index.html, -EFBIG for more than the limits above, -EINVAL
 * for an index that is none (page_index.h), and others; each with a sentence that begins with the
 * path. What has another name than letters, digits, '.', '-', '_', or is of no type that browsers
 * take from us, as a licence, is passed over.
 */
int page_files_read(const char *folder, struct page_files *ret, struct err *err);
void page_files_release(struct page_files *files);

/* NULL: there is none of that name. */
const struct page_file *page_files_find(const struct page_files *files, const char *name);
