/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_restore.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "controller/store/store_sql.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

/*
 * What must not be as old as the copy. For the embedded cluster, the nodes and the ledger are the
 * truth about cordons; numbers of actions, incidents and investigations are in orders and in
 * people's notes.
 */
static const char *const carried[] = {
	"DELETE FROM cluster_nodes; INSERT INTO cluster_nodes SELECT * FROM old.cluster_nodes",
	"DELETE FROM cluster_ledger; INSERT INTO cluster_ledger SELECT * FROM old.cluster_ledger",
	"DELETE FROM lives; INSERT INTO lives SELECT * FROM old.lives",
	"DELETE FROM parts; INSERT INTO parts SELECT * FROM old.parts",
	"INSERT OR REPLACE INTO actions SELECT * FROM old.actions",
	"INSERT OR REPLACE INTO transitions SELECT * FROM old.transitions",
	"INSERT OR REPLACE INTO incidents SELECT * FROM old.incidents",
	"DELETE FROM alerts; INSERT INTO alerts SELECT * FROM old.alerts",
	"INSERT OR REPLACE INTO campaigns SELECT * FROM old.campaigns",
	"INSERT OR REPLACE INTO investigations SELECT * FROM old.investigations",
};

static void number_of(struct store *s, const char *sql, uint64_t *ret)
{
	sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(s->file, sql, -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		*ret = (uint64_t)sqlite3_column_int64(st, 0);
	(void)sqlite3_finalize(st);
}

static bool run(struct store *s, const char *sql)
{
	return sqlite3_exec(s->file, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* All or nothing. */
static bool carry(struct store *s, const char *path)
{
	CLEANUP(freep) char *attach = NULL;
	char *quoted = sqlite3_mprintf("ATTACH %Q AS old", path);
	bool good;
	size_t i;

	attach = xstrdup(quoted ? quoted : "");
	sqlite3_free(quoted);
	good = run(s, attach) && run(s, "BEGIN");
	for (i = 0; good && i < ARRAY_SIZE(carried); i++)
		good = run(s, carried[i]);
	if (good && run(s, "COMMIT"))
		return true;
	(void)run(s, "ROLLBACK");
	return false;
}

/* The working copy, with the files SQLite creates beside it. */
static void drop_work(const char *work)
{
	static const char *const ends[] = { "", "-wal", "-sums" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		CLEANUP(freep) char *name = xasprintf("%s%s", work, ends[i]);

		(void)unlink(name);
	}
}

/* Not a copy of bytes: a file in use, or left by a crash, has to be read through SQLite. */
static int copy(const char *from, const char *work, struct err *err)
{
	sqlite3 *in = NULL, *out = NULL;
	sqlite3_backup *run_of = NULL;
	int r = 0;

	if (sqlite3_open_v2(from, &in, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		r = err_set(err, EINVAL, "%s: missing, or cannot be read", from);
	else if (sqlite3_open_v2(work, &out, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
		 SQLITE_OK)
		r = err_set(err, EIO, "%s: %s", work, sqlite3_errmsg(out));
	else
		run_of = sqlite3_backup_init(out, "main", in, "main");
	if (r == 0 && (!run_of || sqlite3_backup_step(run_of, -1) != SQLITE_DONE))
		r = err_set(err, EINVAL, "%s: not a readable store: %s", from, sqlite3_errmsg(out));
	if (run_of)
		(void)sqlite3_backup_finish(run_of);
	(void)sqlite3_close(out);
	(void)sqlite3_close(in);
	return r;
}

/* Does SQLite find every page intact? */
static int check(struct store *s, const char *from, struct err *err)
{
	sqlite3_stmt *st = NULL;
	int r = -EINVAL;

	if (sqlite3_prepare_v2(s->file, "PRAGMA integrity_check(1)", -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW && streq((const char *)sqlite3_column_text(st, 0), "ok"))
		r = 0;
	(void)sqlite3_finalize(st);
	return r < 0 ? err_set(err, EINVAL, "%s: is corrupt: use another copy", from) : 0;
}

/* Close the existing store cleanly. Returns 1 if it can be read. */
static int settle_old(const char *path, struct err *err)
{
	CLEANUP(store_closep) struct store *old = NULL;
	int r;

	if (access(path, F_OK) < 0)
		return 0;
	r = store_open(path, &old, err);
	if (r == -EBUSY)
		return r;
	if (r < 0 && err)
		*err = (struct err)ERR_INIT;
	return r == 0;
}

/* The old one remains under another name until the next restore. */
static int put_in_place(const char *path, const char *work, struct err *err)
{
	CLEANUP(freep) char *before = xasprintf("%s-before", path);
	CLEANUP(freep) char *before_log = xasprintf("%s-before-wal", path);
	CLEANUP(freep) char *log = xasprintf("%s-wal", path);
	CLEANUP(freep) char *sums = xasprintf("%s-sums", path);

	(void)unlink(before);
	(void)unlink(before_log);
	if (link(path, before) < 0 && errno != ENOENT)
		return err_errno(err, errno, "%s", before);
	/* A log that could not be applied must not be taken for the copy's. */
	if (rename(log, before_log) < 0 && errno != ENOENT)
		return err_errno(err, errno, "%s", log);
	(void)unlink(sums);
	if (rename(work, path) < 0)
		return err_errno(err, errno, "%s", path);
	file_sync_above(path);
	return 0;
}

static int work_on(const char *path, const char *from, const char *work, bool readable,
		   struct store_restored *ret, struct err *err)
{
	CLEANUP(store_closep) struct store *s = NULL;
	uint64_t last = 0, before = 0;
	int r = copy(from, work, err);

	if (r == 0)
		r = store_open(work, &s, err);
	if (r == 0)
		r = check(s, from, err);
	if (r < 0)
		return r;
	number_of(s, "SELECT count(*) FROM reports", &ret->reports);
	number_of(s, "SELECT coalesce(max(id), 0) FROM reports", &last);
	ret->carried = readable && carry(s, path);
	if (ret->carried)
		number_of(s, "SELECT coalesce(max(id), 0) FROM old.reports", &before);
	ret->lost = before > last ? before - last : 0;
	/*
	 * From here on it is a store of its own: sums and notes about another do not apply.
	 * Sessions ended since the copy was made must not be revived.
	 */
	return run(s, "UPDATE seal SET store = 0, commits = 0; DELETE FROM sessions")
		       ? 0
		       : err_set(err, EIO, "%s: %s", work, sqlite3_errmsg(s->file));
}

int store_restore(const char *path, const char *from, struct store_restored *ret, struct err *err)
{
	CLEANUP(freep) char *work = xasprintf("%s-restored", path);
	struct store_restored done = { 0 };
	int r, readable;

	if (access(from, R_OK) < 0)
		return err_errno(err, errno == ENOENT ? EINVAL : errno, "%s: missing", from);
	readable = settle_old(path, err);
	if (readable < 0)
		return readable;
	drop_work(work);
	r = work_on(path, from, work, readable, &done, err);
	if (r == 0)
		r = put_in_place(path, work, err);
	drop_work(work);
	if (r == 0)
		*ret = done;
	return r;
}
