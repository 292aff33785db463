/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

static char dir[64];

void fuzz_failed(const char *what, const char *file, int line)
{
	(void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
	abort();
}

char *fuzz_json(const json_t *value)
{
	/* 15 digits, as lib/json/json.c writes them; more may differ after a second reading. */
	char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(15));

	FUZZ_CHECK(text);
	return text;
}

char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = xcalloc(size + 1, 1);

	if (size)
		memcpy(text, data, size);
	return text;
}

void *fuzz_bytes(const uint8_t *data, size_t size)
{
	void *bytes = malloc(size);

	FUZZ_CHECK(bytes || size == 0);
	if (size)
		memcpy(bytes, data, size);
	return bytes;
}

const char *fuzz_file(const uint8_t *data, size_t size)
{
	static char path[64];
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	FUZZ_CHECK(fd >= 0 && ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	FUZZ_CHECK(file_write_all(fd, data, size) == 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return path;
}

static int remove_one(const char *path, const struct stat *st UNUSED, int flag UNUSED,
		      struct FTW *ftw UNUSED)
{
	return remove(path);
}

static void remove_dir(void)
{
	(void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *fuzz_dir(void)
{
	if (dir[0])
		return dir;
	/* On tmpfs if available, because every input is a file of its own. */
	(void)snprintf(dir, sizeof(dir), "%s/assay-fuzz-XXXXXX",
		       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	FUZZ_CHECK(mkdtemp(dir));
	(void)atexit(remove_dir);
	return dir;
}

void fuzz_write(const char *name, const uint8_t *data, size_t size)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", fuzz_dir(), name);
	CLEANUP(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	FUZZ_CHECK(fd >= 0 && file_write_all(fd, data, size) == 0);
}

void fuzz_refused(int r, const struct err *err)
{
	json_t *text;

	FUZZ_CHECK(r < 0);
	FUZZ_CHECK(err->msg[0] && !strpbrk(err->msg, "\n\r"));
	text = json_string(err->msg);
	FUZZ_CHECK(text); /* jansson accepts only UTF-8 */
	json_decref(text);
}
