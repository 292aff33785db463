/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/page_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "controller/http/api_gzip.h"
#include "controller/http/page_index.h"
#include "lib/base/err.h"
#include "lib/base/sha256.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

static const char index_name[] = "index.html";

enum { GZIP_LEVEL = 9 }; /* done once per load */

static const struct {
	const char *suffix, *type;
} types[] = {
	{ ".html", "text/html; charset=utf-8" },
	{ ".css", "text/css; charset=utf-8" },
	{ ".js", "text/javascript; charset=utf-8" },
	{ ".mjs", "text/javascript; charset=utf-8" },
	{ ".svg", "image/svg+xml" },
	{ ".json", "application/json" },
	{ ".png", "image/png" },
	{ ".woff2", "font/woff2" },
};

/* By suffix; NULL: not for browsers. */
static const char *type_of(const char *name)
{
	const char *suffix = strrchr(name, '.');
	size_t i;

	for (i = 0; suffix && i < ARRAY_SIZE(types); i++) {
		if (streq(types[i].suffix, suffix))
			return types[i].type;
	}
	return NULL;
}

static bool is_plain(const char *name)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";

	return *name && *name != '.' && name[strspn(name, plain)] == '\0';
}

static void file_release(struct page_file *file)
{
	free(file->name);
	free(file->bytes);
	free(file->gzip);
}

void page_files_release(struct page_files *files)
{
	size_t i;

	for (i = 0; i < files->n; i++)
		file_release(&files->files[i]);
	free(files->files);
	free(files->policy);
	*files = (struct page_files){ .n = 0 };
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct page_file *)a)->name, ((const struct page_file *)b)->name);
}

static struct page_file *find(const struct page_files *files, const char *name)
{
	size_t i;

	for (i = 0; i < files->n; i++) {
		if (streq(files->files[i].name, name))
			return &files->files[i];
	}
	return NULL;
}

const struct page_file *page_files_find(const struct page_files *files, const char *name)
{
	return find(files, name);
}

/* --- reading --- */

static int read_file(struct page_files *files, const char *folder, const char *name, struct err *err)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", folder, name);
	CLEANUP(freep) char *bytes = NULL;
	size_t length = 0;
	int r;

	if (files->n >= PAGE_FILES_MAX)
		return err_set(err, EFBIG, "%s: more than %d files", folder, PAGE_FILES_MAX);
	r = file_read(AT_FDCWD, path, PAGE_FILE_MAX, &bytes, &length, err);
	if (r < 0)
		return r;
	files->files[files->n++] = (struct page_file){
		.name = xstrdup(name),
		.type = type_of(name),
		.bytes = TAKE(bytes),
		.length = length,
	};
	return 0;
}

static int read_folder(struct page_files *files, const char *folder, const char *below,
		       unsigned depth, struct err *err);

/* Read an entry of a folder; `name` is relative to the top. */
static int read_entry(struct page_files *files, const char *folder, const char *name,
		      unsigned depth, struct err *err)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", folder, name);
	struct stat st;

	if (strlen(name) > PAGE_NAME_MAX)
		return err_set(err, EFBIG, "%s: a name of more than %d bytes", path, PAGE_NAME_MAX);
	if (stat(path, &st) < 0)
		return err_errno(err, errno, "%s", path);
	if (S_ISDIR(st.st_mode))
		return read_folder(files, folder, name, depth + 1, err);
	return S_ISREG(st.st_mode) && type_of(name) ? read_file(files, folder, name, err) : 0;
}

static int read_folder(struct page_files *files, const char *folder, const char *below,
		       unsigned depth, struct err *err)
{
	CLEANUP(freep) char *path = xasprintf("%s%s%s", folder, *below ? "/" : "", below);
	CLEANUP(closedirp) DIR *dir = NULL;
	const struct dirent *entry;
	int r = 0;

	if (depth > PAGE_DEPTH_MAX)
		return err_set(err, EFBIG, "%s: more than %d levels of folders", path,
			       PAGE_DEPTH_MAX);
	dir = opendir(path);
	if (!dir)
		return err_set(err, errno,
			       "%s: %s: the web page should be there: install it, or name its "
			       "folder in ASSAY_PAGE_DIR",
			       path, strerror(errno));
	while (r == 0 && (entry = readdir(dir))) {
		CLEANUP(freep)
		char *name = xasprintf("%s%s%s", below, *below ? "/" : "", entry->d_name);

		if (is_plain(entry->d_name))
			r = read_entry(files, folder, name, depth, err);
	}
	return r;
}

/* --- version and policy --- */

static void name_version(struct page_files *files)
{
	char hex[SHA256_HEX_SIZE];
	struct sha256 sum;
	size_t i;

	sha256_init(&sum);
	for (i = 0; i < files->n; i++) {
		char length[32];

		(void)snprintf(length, sizeof(length), "%zu", files->files[i].length);
		sha256_add_text(&sum, files->files[i].name);
		sha256_add_text(&sum, length);
		sha256_add(&sum, files->files[i].bytes, files->files[i].length);
	}
	sha256_hex(&sum, hex);
	memcpy(files->version, hex, sizeof(files->version) - 1);
	files->version[sizeof(files->version) - 1] = '\0';
}

static int make_index(struct page_files *files, const char *folder, struct err *err)
{
	struct page_file *index = find(files, index_name);
	CLEANUP(freep) char *html = NULL;
	int r;

	if (!index)
		return err_set(err, ENOENT, "%s: has no %s", folder, index_name);
	r = page_index_fill(index->bytes, files->version, &html, err);
	if (r == 0)
		r = page_index_policy(html, &files->policy, err);
	if (r < 0)
		return err_wrap(err, r, "%s/%s", folder, index_name);
	free(index->bytes);
	index->length = strlen(html);
	index->bytes = TAKE(html);
	return 0;
}

static int pack_all(struct page_files *files, const char *folder, struct err *err)
{
	size_t i;

	for (i = 0; i < files->n; i++) {
		struct page_file *file = &files->files[i];

		file->gzip = api_gzip(file->bytes, file->length, GZIP_LEVEL, &file->gzip_length);
		if (!file->gzip)
			file->gzip_length = 0;
		files->bytes += file->length + file->gzip_length;
	}
	if (files->bytes > PAGE_BYTES_MAX)
		return err_set(err, EFBIG, "%s: more than %d bytes in memory", folder,
			       PAGE_BYTES_MAX);
	return 0;
}

int page_files_read(const char *folder, struct page_files *ret, struct err *err)
{
	CLEANUP(page_files_release)
	struct page_files files = { .files = xcalloc(PAGE_FILES_MAX, sizeof(*files.files)) };
	int r = read_folder(&files, folder, "", 0, err);

	if (r < 0)
		return r;
	qsort(files.files, files.n, sizeof(*files.files), compare);
	name_version(&files);
	r = make_index(&files, folder, err);
	if (r == 0)
		r = pack_all(&files, folder, err);
	if (r < 0)
		return r;
	*ret = files;
	files = (struct page_files){ .n = 0 };
	return 0;
}
