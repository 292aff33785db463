/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "controller/store/store_sql.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

enum {
	STEP_PAGES = 16,	       /* between two checks of the clock */
	FLUSH_BYTES = 4 * 1024 * 1024, /* written back early, so that the final sync is short */
};

struct backup {
	struct store_backup now;
	char *path, *part; /* final path, and path while it is written */
	char *error;	   /* owned */
	sqlite3 *to;
	sqlite3_backup *run;
	int fd; /* of `part`, to start writing back */
	uint64_t flushed;
};

/* Close everything; delete an unfinished copy. */
static void stop(struct backup *b)
{
	if (b->run)
		(void)sqlite3_backup_finish(TAKE(b->run));
	if (b->to)
		(void)sqlite3_close(TAKE(b->to));
	if (b->fd >= 0)
		(void)close(b->fd);
	b->fd = -1;
	if (b->part)
		(void)unlink(b->part);
	free(TAKE(b->part));
	free(TAKE(b->path));
}

/* `why` NULL: ask SQLite. */
static int fail(struct store *s, const char *what, const char *why, struct err *err)
{
	struct backup *b = s->backup;
	int r;

	if (!why)
		why = b->to ? sqlite3_errmsg(b->to) : "out of memory";
	r = err_set(err, EIO, "%s: %s: %s", b->part, what, why);

	stop(b);
	b->now.state = BACKUP_FAILED;
	free(b->error);
	b->error = xstrdup(err ? err->msg : what);
	b->now.error = b->error;
	return r;
}

int store_backup_begin(struct store *s, const char *path, struct err *err)
{
	static const char pragmas[] = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;";
	struct backup *b = s->backup;

	if (b && b->now.state == BACKUP_RUNNING)
		return err_set(err, EBUSY, "a backup is running");
	if (!b) {
		b = s->backup = xcalloc(1, sizeof(*b));
		b->fd = -1;
	}
	b->path = xstrdup(path);
	b->part = xasprintf("%s.part", path);
	b->flushed = 0;
	(void)unlink(b->part);
	if (sqlite3_open_v2(b->part, &b->to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
		    SQLITE_OK ||
	    sqlite3_exec(b->to, pragmas, NULL, NULL, NULL) != SQLITE_OK)
		return fail(s, "open", NULL, err);
	b->run = sqlite3_backup_init(b->to, "main", s->file, "main");
	if (!b->run)
		return fail(s, "begin", NULL, err);
	b->now.state = BACKUP_RUNNING;
	b->now.error = NULL;
	b->now.pages = b->now.left = 0;
	return 0;
}

/* Start writing back what was written. */
static void flush(struct backup *b)
{
	uint64_t done = (b->now.pages - b->now.left) * 4096;

	if (b->fd < 0)
		b->fd = open(b->part, O_RDONLY | O_CLOEXEC);
	if (b->fd < 0 || done < b->flushed + FLUSH_BYTES)
		return;
	(void)sync_file_range(b->fd, (off64_t)b->flushed, (off64_t)(done - b->flushed),
			      SYNC_FILE_RANGE_WRITE);
	b->flushed = done;
}

static int finish(struct store *s, struct err *err)
{
	struct backup *b = s->backup;
	int code = sqlite3_backup_finish(TAKE(b->run));

	/* A single file that can be read even where nothing can be created beside it. */
	if (code == SQLITE_OK)
		code = sqlite3_exec(b->to, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_close(b->to);
	if (code != SQLITE_OK)
		return fail(s, "end", NULL, err);
	b->to = NULL;
	if (b->fd < 0 || fsync(b->fd) < 0 || rename(b->part, b->path) < 0)
		return fail(s, "end", strerror(errno), err);
	file_sync_above(b->path);
	free(TAKE(b->part));
	b->now.made++;
	b->now.state = BACKUP_DONE;
	stop(b);
	return 0;
}

int store_backup_step(struct store *s, uint64_t deadline_us, struct err *err)
{
	struct backup *b = s->backup;
	int code = SQLITE_OK;

	if (!b || b->now.state != BACKUP_RUNNING)
		return 0;
	/* Not in the middle of a transaction: it continues after the commit. */
	while (code == SQLITE_OK && !s->open_transaction && clock_mono_us() < deadline_us) {
		code = sqlite3_backup_step(b->run, STEP_PAGES);
		b->now.pages = (uint64_t)sqlite3_backup_pagecount(b->run);
		b->now.left = (uint64_t)sqlite3_backup_remaining(b->run);
		flush(b);
	}
	if (code == SQLITE_DONE)
		return finish(s, err);
	if (code != SQLITE_OK && code != SQLITE_BUSY && code != SQLITE_LOCKED)
		return fail(s, "copy", NULL, err);
	return 1;
}

struct store_backup store_backup_state(const struct store *s)
{
	return s->backup ? s->backup->now : (struct store_backup){ 0 };
}

void store_backup_end(struct store *s)
{
	if (!s->backup)
		return;
	stop(s->backup);
	free(s->backup->error);
	free(TAKE(s->backup));
}

/* --- before a migration --- */

enum { VERSION_AT = 60 }; /* offset of PRAGMA user_version, 4 bytes: sqlite.org/fileformat2.html */

/* Version of a copy, or -1 if there is no readable one. */
static int version_of(const char *path)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	unsigned char at[4];

	if (fd < 0 || pread(fd, at, sizeof(at), VERSION_AT) != (ssize_t)sizeof(at))
		return -1;
	return (int)((unsigned)at[0] << 24 | (unsigned)at[1] << 16 | (unsigned)at[2] << 8 | at[3]);
}

int store_backup_before(struct store *s, int version, int next, struct err *err)
{
	CLEANUP(freep)
	char *path = xasprintf("%s.before-%d", sqlite3_db_filename(s->file, "main"), next);
	const int kept = version_of(path);
	int r;

	/* Made by an upgrade that was interrupted half way, with the version it started from. */
	if (kept > 0 && kept < version)
		return 0;
	r = store_backup_begin(s, path, err);
	while (r == 0 && store_backup_state(s).state == BACKUP_RUNNING)
		r = MIN(store_backup_step(s, UINT64_MAX, err), 0);
	store_backup_end(s);
	return r < 0 ? err_wrap(err, r, "the copy before the upgrade") : 0;
}
