/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

enum { PIECE = 64 * 1024, LOOK = 4096 }; /* bytes: read at once; examined */

static bool begins(const char *bytes, size_t len, const char *with, size_t n)
{
	return len >= n && memcmp(bytes, with, n) == 0;
}

static bool is_text(const char *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		unsigned char c = (unsigned char)bytes[i];

		if (c < ' ' && c != '\n' && c != '\r' && c != '\t')
			return false;
	}
	return true;
}

static bool has(const char *bytes, size_t len, const char *word)
{
	return memmem(bytes, len, word, strlen(word)) != NULL;
}

const char *trace_file_doubt(const char *bytes, size_t len)
{
	size_t n = MIN(len, (size_t)LOOK), blank = 0;

	if (begins(bytes, n, "\x1f\x8b", 2) || begins(bytes, n, "\x28\xb5\x2f\xfd", 4))
		return NULL;
	if (begins(bytes, n, "PAR1", 4))
		return "Parquet is not supported: write it as CSV (docs/optrace.md)";
	if (!is_text(bytes, n))
		return "not a trace: neither text, gzip nor zstd";
	while (blank < n && strchr(" \t\r\n", bytes[blank]))
		blank++;
	if (blank == n)
		return "not a trace: nothing but blanks";
	if (bytes[blank] == '[' || has(bytes, n, "\"traceEvents\"") ||
	    has(bytes, n, "\"schemaVersion\""))
		return "a profile, not yet a trace: `assay-optrace pytorch` converts it "
		       "(docs/optrace.md)";
	return NULL;
}

static int open_trace(const char *path, int *ret_fd, struct err *err)
{
	if (!streq(path, "-")) {
		*ret_fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (*ret_fd < 0)
			return err_set(err, EINVAL, "%s: %s", path, strerror(errno));
		return 0;
	}
	if (isatty(STDIN_FILENO))
		return err_set(err, EINVAL,
			       "standard input is a terminal: name a file, or pipe a trace in");
	*ret_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	return *ret_fd < 0 ? err_set(err, EINVAL, "standard input: %s", strerror(errno)) : 0;
}

static int read_all(int fd, const char *name, struct strbuf *bytes, struct err *err)
{
	CLEANUP(freep) char *piece = xcalloc(1, PIECE);
	ssize_t n;

	do {
		n = read(fd, piece, PIECE);
		if (n < 0 && errno != EINTR)
			return err_set(err, EINVAL, "%s: %s", name, strerror(errno));
		if (n > 0 && strbuf_add(bytes, piece, (size_t)n) < 0)
			return err_set(
				err, EINVAL,
				"%s: larger than %d MiB, the most that is sent at once: "
				"compress it (gzip, zstd), or split it by ranks and send each "
				"with --part K/N",
				name, TRACE_FILE_MAX / (1024 * 1024));
	} while (n != 0);
	return 0;
}

int trace_file_read(const char *path, char **ret_bytes, size_t *ret_len, struct err *err)
{
	const char *name = streq(path, "-") ? "standard input" : path, *doubt;
	CLEANUP(strbuf_release) struct strbuf bytes = STRBUF_INIT(TRACE_FILE_MAX);
	CLEANUP(closep) int fd = -1;
	int r = open_trace(path, &fd, err);

	if (r == 0)
		r = read_all(fd, name, &bytes, err);
	if (r < 0)
		return r;
	if (bytes.len == 0)
		return err_set(err, EINVAL, "%s: empty", name);
	doubt = trace_file_doubt(bytes.data, bytes.len);
	if (doubt)
		return err_set(err, EINVAL, "%s: %s", name, doubt);
	*ret_len = bytes.len;
	*ret_bytes = TAKE(bytes.data);
	return 0;
}
