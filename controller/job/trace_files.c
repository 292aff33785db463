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
#include "lib/json/json.h"
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
	files = (struct trace_files){ .n_kept = 0 };
	return 0;
}

void trace_files_release(struct trace_files *files)
{
	free(files->traces);
	free(files->analyses);
	free(files->kept);
	*files = (struct trace_files){ .n_kept = 0 };
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

	/* A killed controller may have left one for a window that was never queued. */
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

/* Index of the first one of the job, or of any (0); `n_kept`: none. */
static size_t first_of(const struct trace_files *files, int64_t job)
{
	size_t i = 0;

	while (i < files->n_kept && job && files->kept[i].job != job)
		i++;
	return i;
}

static size_t count_of(const struct trace_files *files, int64_t job)
{
	size_t n = 0, i;

	for (i = 0; i < files->n_kept; i++)
		n += files->kept[i].job == job;
	return n;
}

static void forget(struct trace_files *files, size_t i)
{
	files->n_kept--;
	memmove(&files->kept[i], &files->kept[i + 1], (files->n_kept - i) * sizeof(files->kept[0]));
}

static void drop(struct trace_files *files, size_t i)
{
	CLEANUP(freep) char *path = analysis_path(files, files->kept[i].window);

	(void)unlink(path);
	forget(files, i);
}

/* Make room for one more of the job. */
static void make_room(struct trace_files *files, int64_t job)
{
	while (count_of(files, job) >= ANALYSES_JOB_MAX)
		drop(files, first_of(files, job));
	while (files->n_kept >= ANALYSES_MAX)
		drop(files, first_of(files, 0));
}

static void note(struct trace_files *files, int64_t window, int64_t job)
{
	make_room(files, job);
	files->kept = xrealloc(files->kept, files->n_kept + 1, sizeof(files->kept[0]));
	files->kept[files->n_kept++] = (struct trace_files_kept){ window, job };
}

int trace_files_keep(struct trace_files *files, int64_t window, int64_t job, const char *text,
		     struct err *err)
{
	CLEANUP(freep) char *path = analysis_path(files, window);
	int r = file_replace(AT_FDCWD, path, text, strlen(text), err);
	size_t i;

	if (r < 0)
		return r;
	/* Written again after its end was rolled back: keep a single entry. */
	for (i = files->n_kept; i-- > 0;) {
		if (files->kept[i].window == window)
			forget(files, i);
	}
	note(files, window, job);
	return 0;
}

int trace_files_analysis(const struct trace_files *files, int64_t window, char **ret_text,
			 struct err *err)
{
	CLEANUP(freep) char *path = analysis_path(files, window);

	return file_read(AT_FDCWD, path, ANALYSIS_MAX, ret_text, NULL, err);
}

void trace_files_show(const struct trace_files *files, int64_t window, json_t *job)
{
	static const char *const keys[] = { "heat", "lateness" };
	CLEANUP(json_freep) json_t *analysis = NULL;
	CLEANUP(freep) char *text = NULL;
	size_t i;

	if (window >= 0 && trace_files_analysis(files, window, &text, NULL) == 0)
		analysis = json_loads(text, 0, NULL);
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		json_t *value = json_object_get(analysis, keys[i]);

		(void)json_object_set(job, keys[i], value ? value : json_null());
	}
}

/* --- leftovers --- */

/* Window of a file: "12.3", or "12" plus `suffix`; -1: not one of ours. */
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

struct sweep {
	int64_t (*wanted_by)(void *context, int64_t window, bool analysis);
	void *context;
	bool analysis;
	struct trace_files_kept *kept; /* analyses to keep */
	size_t n;
};

static void sweep_one(struct sweep *sweep, int dir_fd, const char *name)
{
	const int64_t window = window_of(name, sweep->analysis ? ".json" : ".yaml");
	const int64_t job = window < 0 ? 0
				       : sweep->wanted_by(sweep->context, window, sweep->analysis);

	if (job == 0) {
		(void)unlinkat(dir_fd, name, 0);
	} else if (sweep->analysis) {
		sweep->kept = xrealloc(sweep->kept, sweep->n + 1, sizeof(sweep->kept[0]));
		sweep->kept[sweep->n++] = (struct trace_files_kept){ window, job };
	}
}

/* Returns false if it cannot be read. */
static bool sweep_all(struct sweep *sweep, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir) {
		log_warning("%s cannot be read: %s", path, strerror(errno));
		return false;
	}
	while ((entry = readdir(dir))) {
		if (!streq(entry->d_name, ".") && !streq(entry->d_name, ".."))
			sweep_one(sweep, dirfd(dir), entry->d_name);
	}
	(void)closedir(dir);
	return true;
}

static int compare_kept(const void *a, const void *b)
{
	const struct trace_files_kept *x = a, *y = b;

	return (x->window > y->window) - (x->window < y->window);
}

void trace_files_sweep(struct trace_files *files,
		       int64_t (*wanted_by)(void *context, int64_t window, bool analysis),
		       void *context)
{
	struct sweep traces = { wanted_by, context, false, NULL, 0 };
	struct sweep analyses = { wanted_by, context, true, NULL, 0 };
	size_t i;

	(void)sweep_all(&traces, files->traces);
	if (sweep_all(&analyses, files->analyses)) {
		if (analyses.n > 0)
			qsort(analyses.kept, analyses.n, sizeof(analyses.kept[0]), compare_kept);
		files->n_kept = 0;
		for (i = 0; i < analyses.n; i++)
			note(files, analyses.kept[i].window, analyses.kept[i].job);
	}
	free(analyses.kept);
}
