/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/library.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/paths.h"
#include "lib/sys/writers.h"

int library_load(const char *soname, void **ret, struct err *err)
{
	const char *why;

	*ret = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
	if (*ret)
		return 0;
	why = dlerror();
	/* In "libfoo.so.1: cannot open ...", drop the repeated name. */
	if (starts_with(why, soname) && starts_with(why + strlen(soname), ": "))
		why += strlen(soname) + 2;
	return err_set(err, ENOTSUP, "cannot load %s: %s", soname, why);
}

/* CUDA itself: the toolkit's layout, Arch's location, NVIDIA's HPC SDK. */
static const char *const cuda_trees[] = {
	"/usr/local/cuda/lib64",
	"/usr/local/cuda/targets/*/lib",
	"/usr/local/cuda-*/lib64",
	"/usr/local/cuda-*/targets/*/lib",
	"/opt/cuda/lib64",
	"/opt/cuda/targets/*/lib",
	"/opt/nvidia/hpc_sdk/Linux_*/*/math_libs/lib64",
	"/opt/nvidia/hpc_sdk/Linux_*/*/comm_libs/nccl/lib",
};

/*
 * Possible installation prefixes of Python and conda, and the location of CUDA packages below them.
 */
static const char *const prefixes[] = {
	"/usr", "/usr/local", "/opt/*", "/opt/*/.venv", "/opt/*/venv", "/opt/*/envs/*",
};
static const char *const prefix_variables[] = { "VIRTUAL_ENV", "CONDA_PREFIX" };
static const char *const below_prefix[] = {
	"/lib",
	"/lib/python3*/*-packages/nvidia/*/lib",
	"/lib/python3*/*-packages/torch/lib",
};

/* A search: the names, the result, and why a candidate was not used. */
struct search {
	const char *const *sonames;
	void *library;
	const char *soname;
	struct err refused;
};

static _Thread_local unsigned entries_left;

static void *open_directory(const char *path)
{
	return opendir(path);
}

static void close_directory(void *dir)
{
	(void)closedir(dir);
}

static struct dirent *read_directory(void *dir)
{
	if (!entries_left)
		return NULL;
	entries_left--;
	return readdir(dir);
}

static int look_at(const char *restrict path, struct stat *restrict ret)
{
	return stat(path, ret);
}

static int look_at_link(const char *restrict path, struct stat *restrict ret)
{
	return lstat(path, ret);
}

/* Can nobody else put another file there? From the file up to the root, links resolved. */
static int check_writers(const char *path, struct err *err)
{
	CLEANUP(freep) char *at = xstrdup(path);
	int r = writers_check(at, err);
	char *slash;

	while (r == 0 && (slash = strrchr(at, '/')) && slash != at) {
		*slash = '\0';
		r = writers_check(at, err);
	}
	return r;
}

static void load_from(struct search *s, const char *path, const char *soname)
{
	CLEANUP(freep) char *real = realpath(path, NULL);
	struct err err = ERR_INIT;
	int r;

	if (!real)
		return;
	r = check_writers(real, &err);
	if (r == 0)
		r = library_load(real, &s->library, &err);
	if (r == 0) {
		s->soname = soname;
	} else if (!s->refused.code) {
		(void)err_wrap(&err, r, "%s is not loaded", path);
		s->refused = err;
	}
}

static void search_place(struct search *s, const char *place)
{
	glob_t found = {
		.gl_opendir = open_directory,
		.gl_closedir = close_directory,
		.gl_readdir = read_directory,
		.gl_stat = look_at,
		.gl_lstat = look_at_link,
	};
	size_t i, n;

	for (n = 0; s->sonames[n] && !s->library; n++) {
		CLEANUP(freep) char *pattern = xasprintf("%s/%s", place, s->sonames[n]);

		if (glob(pattern, GLOB_ALTDIRFUNC, NULL, &found) != 0)
			found.gl_pathc = 0;
		for (i = found.gl_pathc; i-- > 0 && !s->library;) /* newest version first */
			load_from(s, found.gl_pathv[i], s->sonames[n]);
		globfree(&found);
	}
}

static void search_prefix(struct search *s, const char *prefix)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(below_prefix) && !s->library; i++) {
		CLEANUP(freep)
		char *place = xasprintf("%s%s%s", paths_sysroot(), prefix, below_prefix[i]);

		search_place(s, place);
	}
}

static void search_trees(struct search *s)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cuda_trees) && !s->library; i++) {
		CLEANUP(freep) char *place = xasprintf("%s%s", paths_sysroot(), cuda_trees[i]);

		search_place(s, place);
	}
	for (i = 0; i < ARRAY_SIZE(prefix_variables) && !s->library; i++) {
		const char *prefix = secure_getenv(prefix_variables[i]);

		if (prefix && *prefix == '/')
			search_prefix(s, prefix);
	}
	for (i = 0; i < ARRAY_SIZE(prefixes) && !s->library; i++)
		search_prefix(s, prefixes[i]);
}

static void search_named(struct search *s)
{
	const char *named = secure_getenv("ASSAY_CUDA_PATH");
	CLEANUP(freep) char *copy = xstrdup(named ? named : "");
	char *rest = copy, *place;

	while (!s->library && (place = strsep(&rest, ":"))) {
		size_t n;

		for (n = 0; *place == '/' && s->sonames[n] && !s->library; n++) {
			CLEANUP(freep) char *path = xasprintf("%s/%s", place, s->sonames[n]);

			load_from(s, path, s->sonames[n]);
		}
	}
}

int library_load_cuda(const char *const *sonames, void **ret, const char **ret_soname,
		      struct err *err)
{
	struct search s = { .sonames = sonames, .refused = ERR_INIT };
	size_t n;

	entries_left = LIBRARY_ENTRIES_MAX;
	search_named(&s);
	for (n = 0; sonames[n] && !s.library; n++) {
		if (library_load(sonames[n], &s.library, NULL) == 0)
			s.soname = sonames[n];
	}
	if (!s.library)
		search_trees(&s);
	if (!s.library && s.refused.code)
		return err_set(err, ENOTSUP, "%s", s.refused.msg);
	if (!s.library)
		return err_set(err, ENOTSUP,
			       "not found on the loader's path, nor in a CUDA, pip or conda tree "
			       "below /usr, /usr/local and /opt%s: install it there, or name its "
			       "directory in ASSAY_CUDA_PATH",
			       entries_left ? "" : ", which are too large to be searched");
	*ret = s.library;
	*ret_soname = s.soname;
	return 0;
}

int library_find(void *library, const char *soname, const struct library_symbol *symbols, size_t n,
		 struct err *err)
{
	size_t i;

	for (i = 0; i < n; i++) {
		void *address = dlsym(library, symbols[i].name);

		if (!address && symbols[i].needed)
			return err_set(err, ENOTSUP, "%s has no %s: it is too old or damaged",
				       soname, symbols[i].name);
		/* POSIX, dlsym(): a function address fits into a data pointer. */
		memcpy(symbols[i].member, &address, sizeof(address));
	}
	return 0;
}
