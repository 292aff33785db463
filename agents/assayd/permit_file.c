/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/permit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agents/assayd/order_meeting.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"

enum {
	DIR_MODE = 0700,
	FILE_MODE = 0600,
	LINE_MAX_BYTES = ORDER_PEER_MAX + 8, /* "passed ", the peer, its newline */
	TEXT_MAX = ORDER_TOKEN_MAX + 1 + ORDER_PEERS_MAX * LINE_MAX_BYTES,
};

static const char file_name[] = "permit", temporary_name[] = ".permit.tmp";

static char *directory(void)
{
	CLEANUP(freep) char *run = paths_run();

	return xasprintf("%s/order", run);
}

char *permit_file_path(void)
{
	CLEANUP(freep) char *dir = directory();

	return xasprintf("%s/%s", dir, file_name);
}

/* Set the mode regardless of the umask and of whoever created it. */
static int open_directory(const char *dir, int *ret_fd, struct err *err)
{
	CLEANUP(closep) int fd = -1;

	if (mkdir(dir, DIR_MODE) < 0 && errno != EEXIST)
		return err_errno(err, errno, "cannot make directory %s", dir);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchmod(fd, DIR_MODE) < 0)
		return err_errno(err, errno, "cannot use %s", dir);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Useless after a power loss, so no fsync. */
static int write_file(int dir_fd, const struct strbuf *text)
{
	CLEANUP(closep) int fd = -1;
	int r;

	(void)unlinkat(dir_fd, temporary_name, 0);
	fd = openat(dir_fd, temporary_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    FILE_MODE);
	if (fd < 0)
		return -errno;
	r = fchmod(fd, FILE_MODE) < 0 ? -errno : 0;
	if (r == 0)
		r = file_write_all(fd, strbuf_text(text), strlen(strbuf_text(text)));
	if (r == 0 && renameat(dir_fd, temporary_name, dir_fd, file_name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dir_fd, temporary_name, 0);
	return r;
}

int permit_file_write(const struct order_meeting *m, struct err *err)
{
	CLEANUP(freep) char *run = paths_run();
	CLEANUP(freep) char *dir = directory();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	CLEANUP(closep) int dir_fd = -1;
	size_t i;
	int r = file_mkdirs(run, err);

	if (r == 0)
		r = open_directory(dir, &dir_fd, err);
	if (r < 0)
		return r;
	(void)strbuf_printf(&text, "%s\n", m->token);
	for (i = 0; m->passed[i]; i++)
		(void)strbuf_printf(&text, "passed %s\n", m->passed[i]);
	r = strbuf_ok(&text) ? write_file(dir_fd, &text) : -EFBIG;
	return r < 0 ? err_errno(err, -r, "cannot write %s/%s", dir, file_name) : 0;
}

void permit_file_remove(void)
{
	CLEANUP(freep) char *dir = directory();
	CLEANUP(closep) int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir_fd < 0)
		return;
	(void)unlinkat(dir_fd, file_name, 0);
	(void)unlinkat(dir_fd, temporary_name, 0);
}
