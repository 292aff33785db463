/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening the store. Everything that can be wrong with a file is checked before anything is written
 * to it; each migration is one transaction, so that a crash leaves either the old version or the
 * new one.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/store/db_sqlite.h"
#include "controller/store/sql/schema.h"
#include "controller/store/store_backup.h"
#include "controller/store/store_fleet.h"
#include "controller/store/store_sql.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

enum { BUSY_MS = 2000 };

static int run_sql(struct store *s, const char *sql, struct err *err)
{
	return sqlite3_exec(s->file, sql, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : db_sqlite_fail(s->file, "set up", err);
}

/* Reads the columns of the first row, `n` integers. Returns 1, or 0 if there is no row. */
static int read_numbers(struct store *s, const char *sql, int64_t *ret_values, int n,
			struct err *err)
{
	sqlite3_stmt *st = NULL;
	int code, r, i;

	if (sqlite3_prepare_v2(s->file, sql, -1, &st, NULL) != SQLITE_OK)
		return db_sqlite_fail(s->file, "read", err);
	code = sqlite3_step(st);
	r = code == SQLITE_ROW || code == SQLITE_DONE ? code == SQLITE_ROW
						      : db_sqlite_fail(s->file, "read", err);
	for (i = 0; r == 1 && i < n; i++)
		ret_values[i] = sqlite3_column_int64(st, i);
	(void)sqlite3_finalize(st);
	return r;
}

/* Version of the file; a new one has 0. */
static int read_version(struct store *s, int *ret_version, struct err *err)
{
	int64_t version = 0, tables = 0;
	int r = read_numbers(s, "PRAGMA user_version", &version, 1, err);

	if (r >= 0)
		r = read_numbers(s, "SELECT count(*) FROM sqlite_schema", &tables, 1, err);
	if (r < 0)
		return r;
	if (version > STORE_VERSION)
		return err_set(err, EINVAL,
			       "is version %d, and this program reads up to %d: use a newer one",
			       (int)version, STORE_VERSION);
	if (version < 0 || (version == 0) != (tables == 0))
		return err_set(err, EINVAL, "is another program's database: name another file");
	*ret_version = (int)version;
	return 0;
}

static int migrate_one(struct store *s, int from, struct err *err)
{
	CLEANUP(freep)
	char *sql = xasprintf("BEGIN EXCLUSIVE;\n%s\nPRAGMA user_version = %d;\nCOMMIT;",
			      schema_steps[from], from + 1);
	int r = run_sql(s, sql, err);

	if (r < 0)
		(void)sqlite3_exec(s->file, "ROLLBACK", NULL, NULL, NULL);
	return r < 0 ? err_wrap(err, r, "to version %d", from + 1) : 0;
}

/* Is there anything worth going back to? A file whose creation was interrupted has nothing. */
static bool has_reports(struct store *s, int version)
{
	int64_t has = 0;

	return version > 0 &&
	       read_numbers(s, "SELECT EXISTS (SELECT 1 FROM reports)", &has, 1, NULL) == 1 && has;
}

/* Log the migration, and rows that the step to version 12 could only partly convert. */
static void tell_migrated(struct store *s, int from)
{
	static const char sql[] = "SELECT count(*) FROM actions WHERE evidence IS NOT NULL AND"
				  " sticky IS NULL AND decision IS NULL";
	int64_t n = 0;

	if (from < STORE_VERSION && has_reports(s, from))
		log_info("the store was upgraded from version %d to %d; the old one is kept as "
			 "%s.before-%d",
			 from, STORE_VERSION, sqlite3_db_filename(s->file, "main"), STORE_VERSION);
	if (from > 0 && from < 12 && read_numbers(s, sql, &n, 1, NULL) == 1 && n > 0)
		log_warning("the store: %lld earlier actions do not say which finding or decision "
			    "they belong to: their evidence is kept as text",
			    (long long)n);
}

/* --- integrity --- */

enum { LOOK_FIRST = (64 << 20) / 4096 }; /* pages checked before anything else */

/* Read the ID of the store, and its own counts. */
static int read_seal(struct store *s, struct sums_note *ret, struct err *err)
{
	static const char sql[] =
		"SELECT store, commits, (SELECT coalesce(max(id), 0) FROM reports)"
		" FROM seal";
	int64_t numbers[3];
	int r = read_numbers(s, sql, numbers, ARRAY_SIZE(numbers), err);

	if (r == 1)
		*ret = (struct sums_note){ (uint64_t)numbers[0], (uint64_t)numbers[1],
					   (uint64_t)numbers[2] };
	return r == 0 ? err_set(err, EINVAL, "is broken: it has no seal") : MIN(r, 0);
}

static enum store_sums compare(const struct store *s)
{
	const struct sums_note last = sums_last(s->sums);

	/* Sums are created before the store gets its ID: after a crash in between it is not another
	 * store. */
	if (s->note.store == 0)
		return sums_there(s->sums) && last.commits > 0 ? SUMS_OTHER : SUMS_NEW;
	if (!sums_there(s->sums))
		return SUMS_MISSING;
	if (last.store == 0)
		return SUMS_UNREADABLE;
	return last.store == s->note.store ? SUMS_KEPT : SUMS_OTHER;
}

static int name_store(struct store *s, struct err *err)
{
	CLEANUP(freep) char *sql = NULL;

	sql = xasprintf("UPDATE seal SET store = %" PRIu64, s->note.store);
	return run_sql(s, sql, err);
}

static int begin_sums(struct store *s, struct err *err)
{
	const struct sums_note last = sums_last(s->sums);
	bool fresh;
	int r = read_seal(s, &s->note, err);

	if (r < 0)
		return r;
	s->last_report = s->note.reports;
	s->health.sums = compare(s);
	/* The log left by a crash may be partly in the file. */
	if (sqlite3_wal_checkpoint_v2(s->file, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) !=
		    SQLITE_OK ||
	    s->health.sums != SUMS_KEPT)
		sums_forget(s->sums);
	if (s->health.sums == SUMS_KEPT && last.commits > s->note.commits) {
		s->health.lost_commits = last.commits - s->note.commits;
		s->health.lost_reports = last.reports - MIN(last.reports, s->note.reports);
	}
	fresh = s->note.store == 0;
	if (fresh) {
		sqlite3_randomness(sizeof(s->note.store), &s->note.store);
		s->note.store = (s->note.store & INT64_MAX) | 1;
	}
	/* Without sums the store works, but damage cannot be detected. */
	if (sums_begin(s->sums, &s->note, NULL) < 0)
		return 0;
	if (fresh)
		r = name_store(s, err);
	(void)sums_look(s->sums, LOOK_FIRST, UINT64_MAX);
	return r;
}

struct store_health store_health(const struct store *s)
{
	const struct sums_counts counts = sums_counts(s->sums);
	struct store_health health = s->health;

	health.damaged = counts.damaged;
	health.first_byte = counts.first_byte;
	health.rounds = counts.rounds;
	return health;
}

int store_look(struct store *s, uint64_t deadline_us)
{
	return sums_look(s->sums, UINT64_MAX, deadline_us);
}

static int set_up(struct store *s, struct err *err)
{
	/* We are the only writer: nobody else may open it while we run. */
	static const char pragmas[] = "PRAGMA journal_mode = WAL;"
				      "PRAGMA synchronous = FULL;"
				      "PRAGMA foreign_keys = OFF;"
				      "PRAGMA wal_autocheckpoint = 4000;"
				      "PRAGMA temp_store = MEMORY;";
	int version = 0, from, r;

	_Static_assert(ARRAY_SIZE(schema_steps) == STORE_VERSION, "a step a version");
	(void)sqlite3_busy_timeout(s->file, BUSY_MS);
	(void)sqlite3_extended_result_codes(s->file, 1);
	/* Until everything is checked, the log left by a crash must not be applied. */
	(void)sqlite3_db_config(s->file, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	if (sqlite3_db_readonly(s->file, "main") == 1)
		return err_set(err, EROFS,
			       "cannot be written: check its owner, its mode, and how its file "
			       "system is mounted");
	r = run_sql(s, "PRAGMA locking_mode = EXCLUSIVE", err);
	if (r == 0)
		r = read_version(s, &version, err);
	if (r == 0)
		r = run_sql(s, pragmas, err);
	from = version;
	if (r == 0 && from < STORE_VERSION && has_reports(s, from))
		r = store_backup_before(s, from, STORE_VERSION, err);
	for (; r == 0 && version < STORE_VERSION; version++)
		r = migrate_one(s, version, err);
	if (r == 0) {
		tell_migrated(s, from);
		r = db_sqlite_new(s->file, &s->db, err);
	}
	if (r == 0)
		r = begin_sums(s, err);
	if (r == 0)
		(void)sqlite3_db_config(s->file, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
	return r;
}

/* Errno of creating a file beside this one; 0 if possible. */
static int directory_errno(const char *path)
{
	CLEANUP(freep) char *dir = xstrdup(path);
	char *slash = strrchr(dir, '/');

	if (slash)
		*(slash == dir ? slash + 1 : slash) = '\0';
	return access(slash ? dir : ".", W_OK | X_OK) == 0 ? 0 : errno;
}

/* For a file that cannot even be opened: the system's message, not SQLite's. */
static int fail_open(struct store *s, const char *path, struct err *err)
{
	int code = s->file ? directory_errno(path) : ENOMEM;

	if (code == 0)
		code = sqlite3_system_errno(s->file);
	return code ? err_errno(err, code, "open the store") : db_sqlite_fail(s->file, "open", err);
}

/* Translate what SQLite found into what to do about it. */
static int advise(struct store *s, int r, struct err *err)
{
	static const struct {
		int code;
		const char *advice;
	} rows[] = {
		{ SQLITE_NOTADB, "is not a store: name another file, or move it away" },
		{ SQLITE_CORRUPT, "is corrupt: restore a copy, or move it away to start over" },
		{ SQLITE_BUSY, "another program has it open" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if ((sqlite3_extended_errcode(s->file) & 0xff) == rows[i].code)
			return err_set(err, -r, "%s", rows[i].advice);
	}
	return r;
}

int store_open_on(const char *path, const char *vfs, struct store **ret_store, struct err *err)
{
	CLEANUP(store_closep) struct store *s = xcalloc(1, sizeof(*s));
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
	int r = sums_open(path, vfs, &s->sums, err);

	if (r < 0)
		return r;
	if (sqlite3_open_v2(path, &s->file, flags, sums_vfs(s->sums)) != SQLITE_OK)
		r = fail_open(s, path, err);
	else
		r = set_up(s, err);
	if (r < 0 && s->file)
		r = advise(s, r, err);
	if (r < 0)
		return err_wrap(err, r, "%s", path);
	*ret_store = TAKE(s);
	return 0;
}

/*
 * Regardless of the umask: other users of this machine must not read what hosts run. SQLite gives
 * the files beside the store the same mode. Errors here are reported when the file is opened.
 */
static void keep_from_others(const char *path)
{
	CLEANUP(closep)
	int fd = open(path, O_RDWR | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0640);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & S_IRWXO)
		(void)fchmod(fd, st.st_mode & (S_IRWXU | S_IRWXG));
}

int store_open(const char *path, struct store **ret_store, struct err *err)
{
	keep_from_others(path);
	return store_open_on(path, NULL, ret_store, err);
}

void store_close(struct store *s)
{
	if (!s)
		return;
	store_backup_end(s);
	store_fleet_watch(s, false);
	db_sqlite_free(s->db);
	(void)sqlite3_close(s->file);
	sums_close(s->sums);
	free(s);
}
