/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/trace_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

int trace_files_open(const char *db, struct trace_files *ret, struct err *err)
{
	const char *slash = strrchr(db, '/');
	const int length = slash ? (int)(slash - db) + 1 : 0;
	CLEANUP(trace_files_release)
	struct trace_files files = { .traces = xasprintf("%.*straces", length, db),
				     .analyses = xasprintf("%.*sanalyses", length, db) };
	int r = file_mkdirs(files.traces, err);

	if (r == 0)
		r = file_mkdirs(files.analyses, err);
	if (r < 0)
		return r;
	*ret = files;
	files = (struct trace_files){ NULL, NULL };
	return 0;
}

void trace_files_release(struct trace_files *files)
{
	free(files->traces);
	free(files->analyses);
	*files = (struct trace_files){ NULL, NULL };
}

/* --- traces --- */

char *trace_files_trace(const struct trace_files *files, int64_t window, int64_t part)
{
	return xasprintf("%s/%" PRId64 ".%" PRId64, files->traces, window, part);
}

static char *meta_path(const struct trace_files *files, int64_t window)
{
	return xasprintf("%s/%" PRId64 ".yaml", files->traces, window);
}

char *trace_files_meta(const struct trace_files *files, int64_t window)
{
	CLEANUP(freep) char *path = meta_path(files, window);

	return access(path, F_OK) == 0 ? TAKE(path) : NULL;
}

int trace_files_put(const struct trace_files *files, int64_t window, int64_t part,
		    const void *bytes, size_t length, const char *meta, struct err *err)
{
	CLEANUP(freep) char *trace = trace_files_trace(files, window, part);
	CLEANUP(freep) char *shape = meta_path(files, window);
	int r = 0;

	/* One of a window that was never queued may be left of a kill. */
	if (!meta && part == 1)
		(void)unlink(shape);
	if (meta)
		r = file_replace(AT_FDCWD, shape, meta, strlen(meta), err);
	return r < 0 ? r : file_replace(AT_FDCWD, trace, bytes, length, err);
}

void trace_files_drop(const struct trace_files *files, int64_t window, int64_t parts)
{
	CLEANUP(freep) char *shape = meta_path(files, window);
	int64_t part;

	for (part = 1; part <= parts; part++) {
		CLEANUP(freep) char *trace = trace_files_trace(files, window, part);

		(void)unlink(trace);
	}
	(void)unlink(shape);
}

/* --- analyses --- */

static char *analysis_path(const struct trace_files *files, int64_t window)
{
	return xasprintf("%s/%" PRId64 ".json", files->analyses, window);
}

int trace_files_keep(const struct trace_files *files, int64_t window, const char *text,
		     struct err *err)
{
	CLEANUP(freep) char *path = analysis_path(files, window);
	CLEANUP(freep) char *oldest = analysis_path(files, window - ANALYSES_MAX);

	(void)unlink(oldest);
	return file_replace(AT_FDCWD, path, text, strlen(text), err);
}

int trace_files_analysis(const struct trace_files *files, int64_t window, char **ret_text,
			 struct err *err)
{
	CLEANUP(freep) char *path = analysis_path(files, window);

	return file_read(AT_FDCWD, path, ANALYSIS_MAX, ret_text, NULL, err);
}

/* --- what is left over --- */

/* The window that a file is of: "12.3", or "12" and `suffix`; -1: it is none of ours. */
static int64_t window_of(const char *name, const char *suffix)
{
	char *end = NULL;
	long long window;

	errno = 0;
	window = strtoll(name, &end, 10);
	if (errno || end == name || window < 0 || *end != '.')
		return -1;
	if (streq(end, suffix) || (end[1] && !end[1 + strspn(end + 1, "0123456789")]))
		return window;
	return -1;
}

static void sweep(const char *path, const char *suffix, bool analysis,
		  bool (*is_wanted)(void *context, int64_t window, bool analysis), void *context)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir) {
		log_warning("%s cannot be read: %s", path, strerror(errno));
		return;
	}
	while ((entry = readdir(dir))) {
		const int64_t window = window_of(entry->d_name, suffix);

		if (entry->d_name[0] == '.' && (!entry->d_name[1] || streq(entry->d_name, "..")))
			continue;
		if (window < 0 || !is_wanted(context, window, analysis))
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
	}
	(void)closedir(dir);
}

void trace_files_sweep(const struct trace_files *files,
		       bool (*is_wanted)(void *context, int64_t window, bool analysis),
		       void *context)
{
	sweep(files->traces, ".yaml", false, is_wanted, context);
	sweep(files->analyses, ".json", true, is_wanted, context);
}
