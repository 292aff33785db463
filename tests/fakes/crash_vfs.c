/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fakes/crash_vfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <sqlite3.h>

#include "lib/base/macro.h"
#include "lib/base/xalloc.h"
#include "tests/fakes/crash_file.h"
#include "tests/unit/random.h"

enum {
	FILES_MAX = 16,
	FORCED_MAX = 4,
	SECTOR_SAID = 4096, /* what the unix VFS reports */
};

/* SQLite's handle. */
struct handle {
	sqlite3_file base;
	struct disk_file *file;
	bool sync_directory; /* at the next sync, because it is a new journal */
};

static struct {
	struct disk_file files[FILES_MAX];
	struct random random;
	uint64_t changes, fail_at;
	bool dead, in_file;
	struct {
		const char *pragma, *value;
	} forced[FORCED_MAX];
} disk;

static void sync_directory(void)
{
	size_t i;

	for (i = 0; i < FILES_MAX; i++)
		disk.files[i].there_after = disk.files[i].there;
}

static struct disk_file *find(const char *name)
{
	size_t i;

	for (i = 0; i < FILES_MAX; i++) {
		if (disk.files[i].name[0] && streq(disk.files[i].name, name))
			return &disk.files[i];
	}
	return NULL;
}

static bool in_use(const struct disk_file *f)
{
	return f->there || f->there_after || f->now.bytes;
}

/* Creates a file. It is empty, even if the platter still holds contents under this name. */
static struct disk_file *make(const char *name)
{
	struct disk_file *f = name ? find(name) : NULL;
	size_t i;

	for (i = 0; !f && i < FILES_MAX; i++) {
		if (!in_use(&disk.files[i]))
			f = &disk.files[i];
	}
	if (!f)
		abort();
	(void)snprintf(f->name, sizeof(f->name), "%s", name ? name : "");
	file_change(f, 0, NULL, 0);
	f->there = true;
	return f;
}

/* Is this change the one where the power fails? */
static bool fails(const struct disk_file *f)
{
	disk.changes++;
	if (disk.fail_at && disk.changes >= disk.fail_at) {
		disk.dead = true;
		disk.in_file = !strchr(f->name, '-');
	}
	return disk.dead;
}

/* --- sqlite3_io_methods --- */

static struct handle *handle_of(sqlite3_file *file)
{
	void *p = file;

	return p;
}

static int do_close(sqlite3_file *file)
{
	struct handle *h = handle_of(file);

	if (h->file && !h->file->name[0])
		file_release(h->file);
	h->file = NULL;
	return SQLITE_OK;
}

static int do_read(sqlite3_file *file, void *to, int length, sqlite3_int64 at)
{
	const struct image *image = &handle_of(file)->file->now;
	size_t want = (size_t)length, from = (size_t)at;
	size_t have = from < image->size ? MIN(want, image->size - from) : 0;

	if (disk.dead)
		return SQLITE_IOERR_READ;
	memset(to, 0, want);
	if (have > 0)
		memcpy(to, image->bytes + from, have);
	return have < want ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int do_write(sqlite3_file *file, const void *from, int length, sqlite3_int64 at)
{
	if (disk.dead)
		return SQLITE_IOERR_WRITE;
	file_change(handle_of(file)->file, (size_t)at, from, (size_t)length);
	return fails(handle_of(file)->file) ? SQLITE_IOERR_WRITE : SQLITE_OK;
}

static int do_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	if (disk.dead)
		return SQLITE_IOERR_TRUNCATE;
	file_change(handle_of(file)->file, (size_t)size, NULL, 0);
	return fails(handle_of(file)->file) ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
}

static int do_sync(sqlite3_file *file, int flags UNUSED)
{
	struct handle *h = handle_of(file);

	if (disk.dead || fails(h->file))
		return SQLITE_IOERR_FSYNC;
	file_sync(h->file);
	if (h->sync_directory)
		sync_directory();
	h->sync_directory = false;
	return SQLITE_OK;
}

static int do_size(sqlite3_file *file, sqlite3_int64 *ret_size)
{
	*ret_size = (sqlite3_int64)handle_of(file)->file->now.size;
	return SQLITE_OK;
}

static int do_lock(sqlite3_file *file UNUSED, int level UNUSED)
{
	return SQLITE_OK;
}

static int do_check_lock(sqlite3_file *file UNUSED, int *ret_locked)
{
	*ret_locked = 0;
	return SQLITE_OK;
}

/* SQLite passes the arguments of a PRAGMA here before it parses them, in memory of its own. */
static int do_control(sqlite3_file *file UNUSED, int what, void *value)
{
	char **words = value;
	size_t i;

	for (i = 0; what == SQLITE_FCNTL_PRAGMA && words[2] && i < FORCED_MAX; i++) {
		const char *forced = disk.forced[i].value;

		if (!forced || strcasecmp(words[1], disk.forced[i].pragma) != 0)
			continue;
		if (strlen(forced) > strlen(words[2]))
			abort();
		memcpy(words[2], forced, strlen(forced) + 1);
	}
	return SQLITE_NOTFOUND;
}

static int do_sector(sqlite3_file *file UNUSED)
{
	return SECTOR_SAID;
}

static int do_device(sqlite3_file *file UNUSED)
{
	return SQLITE_IOCAP_POWERSAFE_OVERWRITE; /* what the unix VFS reports */
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = do_close,
	.xRead = do_read,
	.xWrite = do_write,
	.xTruncate = do_truncate,
	.xSync = do_sync,
	.xFileSize = do_size,
	.xLock = do_lock,
	.xUnlock = do_lock,
	.xCheckReservedLock = do_check_lock,
	.xFileControl = do_control,
	.xSectorSize = do_sector,
	.xDeviceCharacteristics = do_device,
};

/* --- sqlite3_vfs --- */

static int do_open(sqlite3_vfs *vfs UNUSED, const char *name, sqlite3_file *file, int flags,
		   int *ret_flags)
{
	static const int journals = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL |
				    SQLITE_OPEN_WAL;
	struct handle *h = handle_of(file);
	struct disk_file *f = name ? find(name) : NULL;
	bool there = f && f->there;

	file->pMethods = NULL;
	if (disk.dead || (!there && !(flags & SQLITE_OPEN_CREATE)))
		return SQLITE_CANTOPEN;
	*h = (struct handle){ .file = there ? f : make(name),
			      .sync_directory = !there && (flags & journals) };
	file->pMethods = &methods;
	if (ret_flags)
		*ret_flags = flags;
	return SQLITE_OK;
}

static int do_delete(sqlite3_vfs *vfs UNUSED, const char *name, int sync)
{
	struct disk_file *f = find(name);

	if (disk.dead)
		return SQLITE_IOERR_DELETE;
	if (!f || !f->there)
		return SQLITE_IOERR_DELETE_NOENT;
	f->there = false;
	if (fails(f))
		return SQLITE_IOERR_DELETE;
	if (sync)
		sync_directory();
	return SQLITE_OK;
}

static int do_access(sqlite3_vfs *vfs UNUSED, const char *name, int flags, int *ret_yes)
{
	const struct disk_file *f = find(name);

	*ret_yes = f && f->there && (flags != SQLITE_ACCESS_EXISTS || f->now.size > 0);
	return disk.dead ? SQLITE_IOERR_ACCESS : SQLITE_OK;
}

static int do_full_name(sqlite3_vfs *vfs UNUSED, const char *name, int size, char *ret_name)
{
	int n = snprintf(ret_name, (size_t)size, "%s", name);

	return n < 0 || n >= size || n >= CRASH_NAME_SIZE ? SQLITE_CANTOPEN : SQLITE_OK;
}

/* Methods that do not concern files are those of the default VFS. */
static void install(void)
{
	static sqlite3_vfs vfs;

	if (vfs.zName)
		return;
	vfs = *sqlite3_vfs_find(NULL);
	vfs.iVersion = 1;
	vfs.szOsFile = sizeof(struct handle);
	vfs.mxPathname = CRASH_NAME_SIZE;
	vfs.zName = "crash";
	vfs.xOpen = do_open;
	vfs.xDelete = do_delete;
	vfs.xAccess = do_access;
	vfs.xFullPathname = do_full_name;
	(void)sqlite3_vfs_register(&vfs, 1);
}

/* --- called by tests --- */

void crash_vfs_begin(uint64_t seed)
{
	install();
	crash_vfs_end();
	disk.random = random_seeded(seed);
}

void crash_vfs_end(void)
{
	size_t i;

	for (i = 0; i < FILES_MAX; i++)
		file_release(&disk.files[i]);
	disk.dead = false;
	disk.changes = disk.fail_at = 0;
}

void crash_vfs_fail_at(uint64_t n)
{
	disk.fail_at = n ? disk.changes + n : 0;
}

void crash_vfs_remove(const char *path)
{
	static const char *const ends[] = { "", "-wal", "-journal", "-sums" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		CLEANUP(freep) char *name = xasprintf("%s%s", path, ends[i]);
		struct disk_file *f = find(name);

		if (f)
			file_release(f);
	}
}

bool crash_vfs_dead(void)
{
	return disk.dead;
}

bool crash_vfs_in_file(void)
{
	return disk.in_file;
}

void crash_vfs_restart(enum crash_loss loss)
{
	static const double chances[] = { 0.1, 0.5, 0.9, 1 };
	double chance = chances[random_below(&disk.random, ARRAY_SIZE(chances))];
	size_t i;

	for (i = 0; i < FILES_MAX; i++) {
		struct disk_file *f = &disk.files[i];

		if (loss == CRASH_SOME_SURVIVE)
			file_survive(f, &disk.random, chance);
		file_forget_changes(f);
		if (!f->there_after || !f->name[0]) {
			file_release(f);
			continue;
		}
		f->there = true;
		image_resize(&f->now, 0);
		if (f->platter.size > 0)
			image_put(&f->now, 0, f->platter.bytes, f->platter.size);
	}
	disk.dead = false;
	disk.fail_at = 0;
}

void crash_vfs_force(const char *pragma, const char *value)
{
	size_t i = 0;

	while (i < FORCED_MAX - 1 && disk.forced[i].pragma && !streq(disk.forced[i].pragma, pragma))
		i++;
	disk.forced[i].pragma = pragma;
	disk.forced[i].value = value;
}
