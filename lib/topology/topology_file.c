/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/topology/topology_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"

/* Names examined: only ours exist, unless somebody fills the directory. */
enum { NAMES_MAX = 256 };

struct kept {
	char *path;
	struct timespec used;
};

bool topology_digest_ok(const char *digest)
{
	return digest && strlen(digest) == TOPOLOGY_DIGEST_LEN &&
	       strspn(digest, "0123456789abcdef") == TOPOLOGY_DIGEST_LEN;
}

static char *directory(void)
{
	CLEANUP(freep) char *state = paths_state();

	return xasprintf("%s/topology", state);
}

static char *path_of(const char *dir, const char *digest)
{
	return xasprintf("%s/%s.json", dir, digest);
}

static int newest_first(const void *a, const void *b)
{
	const struct timespec *x = &((const struct kept *)a)->used;
	const struct timespec *y = &((const struct kept *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? 1 : -1;
	return (x->tv_nsec < y->tv_nsec) - (x->tv_nsec > y->tv_nsec);
}

static size_t list(const char *dir, struct kept kept[static NAMES_MAX])
{
	DIR *names = opendir(dir);
	const struct dirent *entry;
	size_t n = 0;

	while (names && n < NAMES_MAX && (entry = readdir(names))) {
		struct stat st;
		char *path;

		if (entry->d_name[0] == '.')
			continue;
		path = xasprintf("%s/%s", dir, entry->d_name);
		if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
			kept[n++] = (struct kept){ path, st.st_mtim };
		else
			free(path);
	}
	if (names)
		(void)closedir(names);
	return n;
}

/* Only copies are lost: the next run on that hardware writes it again. */
static void bound(const char *dir)
{
	struct kept kept[NAMES_MAX];
	size_t n = list(dir, kept), i;

	if (n)
		qsort(kept, n, sizeof(kept[0]), newest_first);
	for (i = 0; i < n; i++) {
		if (i >= TOPOLOGY_FILES_MAX)
			(void)unlink(kept[i].path);
		free(kept[i].path);
	}
}

int topology_file_keep(const char *digest, const json_t *value, struct err *err)
{
	CLEANUP(freep) char *dir = directory();
	CLEANUP(freep) char *path = path_of(dir, digest);
	CLEANUP(freep) char *text = NULL;
	int r;

	if (!topology_digest_ok(digest))
		return err_set(err, EINVAL, "not a topology digest");
	/* It exists and is in use, so it should not be the next to go. */
	if (utimensat(AT_FDCWD, path, NULL, 0) == 0)
		return 0;
	text = json_line(value);
	if (strlen(text) > TOPOLOGY_TEXT_MAX)
		return err_set(err, E2BIG, "a topology of %zu bytes, more than %d", strlen(text),
			       TOPOLOGY_TEXT_MAX);
	r = file_mkdirs(dir, err);
	if (r == 0)
		r = file_replace(AT_FDCWD, path, text, strlen(text), err);
	if (r == 0)
		bound(dir);
	return r;
}

int topology_file_read(const char *digest, char **ret_text, size_t *ret_len, struct err *err)
{
	CLEANUP(freep) char *dir = directory();
	CLEANUP(freep) char *path = path_of(dir, digest);

	if (!topology_digest_ok(digest))
		return err_set(err, EINVAL, "not a topology digest");
	return file_read(AT_FDCWD, path, TOPOLOGY_TEXT_MAX, ret_text, ret_len, err);
}
