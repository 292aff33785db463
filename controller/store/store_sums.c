/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_sums.h"

#include <endian.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

enum {
	PAGE = 4096,	     /* ours; a store with other page sizes has a sum for each 4096 bytes */
	SECTOR = 512,	     /* of a note */
	HEAD = 4096,	     /* before the sums */
	GROUP = 1024,	     /* sums written together: 4096 bytes */
	PAGES_MAX = 1 << 28, /* 1 TiB: beyond it there are no sums */
};

static const char magic[8] = "assaysum";

/* A note as stored in the file, little-endian. */
struct slot {
	char magic[8];
	uint64_t generation, store, commits, reports;
	uint64_t pages; /* sums in the file, at least */
	uint64_t sum;	/* of the members above */
};

struct sums {
	sqlite3_vfs vfs; /* the VFS that SQLite opens the store with */
	sqlite3_vfs *base;
	char *name, *path;     /* of the VFS; of the file */
	sqlite3_file *file;    /* FILE-sums; NULL: it does not exist */
	sqlite3_file *store;   /* the store's file while it is open */
	uint32_t *pages;       /* their sums */
	unsigned char *flags;  /* per page: known to be damaged */
	bool *changed;	       /* per group: to be written */
	size_t n, room;	       /* pages */
	size_t kept;	       /* in the file */
	struct sums_note note; /* as last read */
	uint64_t generation;
	bool begun;
	struct sums_counts counts;
	size_t at; /* next page to check */
	unsigned char page[PAGE];
};

/* Four lanes, each bijective: any change of a single word is detected. */
static uint64_t mix(const void *bytes, size_t length)
{
	static const uint64_t k = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t lanes[4] = { 1, 2, 3, 4 }, words[4];
	const char *p = bytes;
	size_t at, i;

	for (at = 0; at + sizeof(words) <= length; at += sizeof(words)) {
		memcpy(words, p + at, sizeof(words));
		for (i = 0; i < 4; i++) {
			lanes[i] = (lanes[i] ^ le64toh(words[i])) * k;
			lanes[i] ^= lanes[i] >> 32;
		}
	}
	for (i = 1; i < 4; i++)
		lanes[0] = (lanes[0] ^ lanes[i] ^ lanes[0] >> 29) * k;
	return lanes[0] ^ lanes[0] >> 32;
}

/* Never returns 0. */
static uint32_t sum_of(const void *page)
{
	uint32_t sum = (uint32_t)mix(page, PAGE);

	return sum ? sum : 1;
}

static void grow(struct sums *s, size_t n)
{
	size_t room = MAX(s->room * 2, (size_t)GROUP);

	if (n <= s->room)
		return;
	while (room < n)
		room *= 2;
	s->pages = xrealloc(s->pages, room, sizeof(*s->pages));
	s->flags = xrealloc(s->flags, room, sizeof(*s->flags));
	s->changed = xrealloc(s->changed, room / GROUP, sizeof(*s->changed));
	memset(s->pages + s->room, 0, (room - s->room) * sizeof(*s->pages));
	memset(s->flags + s->room, 0, room - s->room);
	memset(s->changed + s->room / GROUP, 0, (room - s->room) / GROUP * sizeof(*s->changed));
	s->room = room;
}

static void set_page(struct sums *s, size_t at, uint32_t sum)
{
	if (at >= PAGES_MAX)
		return;
	grow(s, at + 1);
	s->n = MAX(s->n, at + 1);
	s->flags[at] = 0;
	if (s->pages[at] == sum)
		return;
	s->pages[at] = sum;
	s->changed[at / GROUP] = true;
}

static void found_damaged(struct sums *s, size_t at)
{
	if (s->flags[at])
		return;
	s->flags[at] = 1;
	if (s->counts.damaged++ == 0)
		s->counts.first_byte = (uint64_t)at * PAGE;
}

static void check_page(struct sums *s, size_t at, const void *page)
{
	if (at < s->n && s->pages[at] && s->pages[at] != sum_of(page))
		found_damaged(s, at);
}

/* --- FILE-sums --- */

static int put(struct sums *s, const void *bytes, int length, sqlite3_int64 at)
{
	return s->file->pMethods->xWrite(s->file, bytes, length, at);
}

static int sync_file(struct sums *s)
{
	return s->file->pMethods->xSync(s->file, SQLITE_SYNC_NORMAL);
}

static int open_file(struct sums *s, int flags)
{
	sqlite3_file *file = xcalloc(1, (size_t)s->base->szOsFile);
	int out = 0;
	int code = s->base->xOpen(s->base, s->path, file,
				  SQLITE_OPEN_READWRITE | SQLITE_OPEN_MAIN_JOURNAL | flags, &out);

	if (code != SQLITE_OK || (out & SQLITE_OPEN_READONLY)) {
		if (file->pMethods)
			(void)file->pMethods->xClose(file);
		free(file);
		return code != SQLITE_OK ? code : SQLITE_READONLY;
	}
	s->file = file;
	return SQLITE_OK;
}

static uint64_t slot_sum(const struct slot *slot)
{
	char bytes[64] = { 0 };

	_Static_assert(offsetof(struct slot, sum) <= sizeof(bytes), "all of it is summed");
	memcpy(bytes, slot, offsetof(struct slot, sum));
	return mix(bytes, sizeof(bytes));
}

static int put_note(struct sums *s, const struct sums_note *note)
{
	char bytes[SECTOR] = { 0 };
	struct slot slot = { .generation = htole64(++s->generation),
			     .store = htole64(note->store),
			     .commits = htole64(note->commits),
			     .reports = htole64(note->reports),
			     .pages = htole64(s->kept) };

	memcpy(slot.magic, magic, sizeof(slot.magic));
	slot.sum = htole64(slot_sum(&slot));
	memcpy(bytes, &slot, sizeof(slot));
	return put(s, bytes, SECTOR, (sqlite3_int64)(s->generation % 2 * SECTOR));
}

static void take_note(struct sums *s, const char *bytes)
{
	struct slot slot;

	memcpy(&slot, bytes, sizeof(slot));
	if (memcmp(slot.magic, magic, sizeof(slot.magic)) != 0 ||
	    le64toh(slot.sum) != slot_sum(&slot) || le64toh(slot.generation) <= s->generation)
		return;
	s->generation = le64toh(slot.generation);
	s->note = (struct sums_note){ le64toh(slot.store), le64toh(slot.commits),
				      le64toh(slot.reports) };
	s->kept = (size_t)le64toh(slot.pages);
}

/* What cannot be read remains unknown. */
static void read_file(struct sums *s)
{
	char bytes[HEAD] = { 0 };
	sqlite3_int64 size = 0;
	uint32_t group[GROUP];
	size_t n, at, i;

	if (s->file->pMethods->xFileSize(s->file, &size) != SQLITE_OK)
		return;
	(void)s->file->pMethods->xRead(s->file, bytes, HEAD, 0);
	take_note(s, bytes);
	take_note(s, bytes + SECTOR);
	n = size > HEAD ? MIN((size_t)(size - HEAD) / sizeof(*group), (size_t)PAGES_MAX) : 0;
	grow(s, n);
	for (at = 0; at < n; at += GROUP) {
		memset(group, 0, sizeof(group));
		(void)s->file->pMethods->xRead(s->file, group, sizeof(group),
					       (sqlite3_int64)(HEAD + at * sizeof(*group)));
		for (i = 0; i < MIN((size_t)GROUP, n - at); i++)
			s->pages[at + i] = le32toh(group[i]);
	}
	s->n = n;
	if (n < s->kept) /* truncated: trust none of it */
		s->note.store = 0;
	s->kept = MIN(s->kept, n);
}

static int put_group(struct sums *s, size_t group)
{
	uint32_t sums[GROUP];
	size_t n = MIN((size_t)GROUP, s->n - group * GROUP), i;

	for (i = 0; i < n; i++)
		sums[i] = htole32(s->pages[group * GROUP + i]);
	return put(s, sums, (int)(n * sizeof(*sums)), (sqlite3_int64)(HEAD + group * sizeof(sums)));
}

/* Call it before the pages themselves are synced. */
static int put_changed(struct sums *s)
{
	bool any = false;
	size_t group;
	int code = SQLITE_OK;

	for (group = 0; code == SQLITE_OK && group * GROUP < s->n; group++) {
		if (!s->changed[group])
			continue;
		code = put_group(s, group);
		s->changed[group] = code != SQLITE_OK;
		any = true;
	}
	if (code == SQLITE_OK && any)
		code = sync_file(s);
	if (code == SQLITE_OK)
		s->kept = s->n;
	return code;
}

/* --- the store's file, as SQLite sees it --- */

struct handle {
	sqlite3_file base;
	struct sums *sums;
	sqlite3_file *real; /* follows in memory */
};

static struct handle *handle_of(sqlite3_file *file)
{
	return (struct handle *)(void *)file;
}

static int do_close(sqlite3_file *file)
{
	struct handle *h = handle_of(file);

	h->sums->store = NULL;
	return h->real->pMethods->xClose(h->real);
}

static bool whole(int length, sqlite3_int64 at)
{
	return length % PAGE == 0 && at % PAGE == 0;
}

static int do_read(sqlite3_file *file, void *to, int length, sqlite3_int64 at)
{
	struct handle *h = handle_of(file);
	int code = h->real->pMethods->xRead(h->real, to, length, at), i;

	/* Until the log was copied, the file may be partly updated. */
	if (!h->sums->begun || code != SQLITE_OK || !whole(length, at))
		return code;
	for (i = 0; i < length; i += PAGE)
		check_page(h->sums, (size_t)(at + i) / PAGE, (const char *)to + i);
	return code;
}

static int do_write(sqlite3_file *file, const void *from, int length, sqlite3_int64 at)
{
	struct handle *h = handle_of(file);
	int code = h->real->pMethods->xWrite(h->real, from, length, at), i;

	for (i = 0; i < length; i += PAGE) {
		const bool known = code == SQLITE_OK && whole(length, at);

		set_page(h->sums, (size_t)(at + i) / PAGE,
			 known ? sum_of((const char *)from + i) : 0);
	}
	return code;
}

static int do_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	struct handle *h = handle_of(file);
	struct sums *s = h->sums;
	size_t n = (size_t)size / PAGE, at;

	for (at = n; at < s->n; at++)
		set_page(s, at, 0);
	return h->real->pMethods->xTruncate(h->real, size);
}

static int do_sync(sqlite3_file *file, int flags)
{
	struct handle *h = handle_of(file);
	int code = h->sums->file ? put_changed(h->sums) : SQLITE_OK;

	return code == SQLITE_OK ? h->real->pMethods->xSync(h->real, flags) : code;
}

static int do_size(sqlite3_file *file, sqlite3_int64 *ret_size)
{
	struct handle *h = handle_of(file);

	return h->real->pMethods->xFileSize(h->real, ret_size);
}

static int do_lock(sqlite3_file *file, int level)
{
	struct handle *h = handle_of(file);

	return h->real->pMethods->xLock(h->real, level);
}

static int do_unlock(sqlite3_file *file, int level)
{
	struct handle *h = handle_of(file);

	return h->real->pMethods->xUnlock(h->real, level);
}

static int do_check_lock(sqlite3_file *file, int *ret_locked)
{
	struct handle *h = handle_of(file);

	return h->real->pMethods->xCheckReservedLock(h->real, ret_locked);
}

static int do_control(sqlite3_file *file, int what, void *value)
{
	struct handle *h = handle_of(file);

	return h->real->pMethods->xFileControl(h->real, what, value);
}

static int do_sector(sqlite3_file *file)
{
	struct handle *h = handle_of(file);

	return h->real->pMethods->xSectorSize(h->real);
}

static int do_device(sqlite3_file *file)
{
	struct handle *h = handle_of(file);

	return h->real->pMethods->xDeviceCharacteristics(h->real);
}

/* Version 1: a store with an exclusive lock needs no shared memory. */
static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = do_close,
	.xRead = do_read,
	.xWrite = do_write,
	.xTruncate = do_truncate,
	.xSync = do_sync,
	.xFileSize = do_size,
	.xLock = do_lock,
	.xUnlock = do_unlock,
	.xCheckReservedLock = do_check_lock,
	.xFileControl = do_control,
	.xSectorSize = do_sector,
	.xDeviceCharacteristics = do_device,
};

static int do_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
	struct sums *s = vfs->pAppData;
	struct handle *h = handle_of(file);
	int code;

	if (!(flags & SQLITE_OPEN_MAIN_DB) || s->store)
		return s->base->xOpen(s->base, name, file, flags, ret_flags);
	*h = (struct handle){ .sums = s, .real = (sqlite3_file *)(void *)(h + 1) };
	code = s->base->xOpen(s->base, name, h->real, flags, ret_flags);
	if (code != SQLITE_OK)
		return code;
	h->base.pMethods = &methods;
	s->store = h->real;
	return SQLITE_OK;
}

static int do_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	struct sums *s = vfs->pAppData;

	return s->base->xDelete(s->base, name, sync);
}

static int do_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret_yes)
{
	struct sums *s = vfs->pAppData;

	return s->base->xAccess(s->base, name, flags, ret_yes);
}

static int do_full_name(sqlite3_vfs *vfs, const char *name, int size, char *ret_name)
{
	struct sums *s = vfs->pAppData;

	return s->base->xFullPathname(s->base, name, size, ret_name);
}

/* --- interface --- */

int sums_open(const char *path, const char *vfs, struct sums **ret, struct err *err)
{
	CLEANUP(sums_closep) struct sums *s = xcalloc(1, sizeof(*s));
	int there = 0;

	s->base = sqlite3_vfs_find(vfs);
	if (!s->base)
		return err_set(err, EINVAL, "store: there is no VFS '%s'", vfs ? vfs : "");
	s->path = xasprintf("%s-sums", path);
	s->vfs = *s->base;
	s->vfs.pNext = NULL;
	s->vfs.szOsFile = (int)sizeof(struct handle) + s->base->szOsFile;
	s->vfs.zName = s->name = xasprintf("assay-%p", (void *)s);
	s->vfs.pAppData = s;
	s->vfs.xOpen = do_open;
	s->vfs.xDelete = do_delete;
	s->vfs.xAccess = do_access;
	s->vfs.xFullPathname = do_full_name;
	if (sqlite3_vfs_register(&s->vfs, 0) != SQLITE_OK)
		return err_set(err, ENOMEM, "store: no VFS can be registered");
	if (s->base->xAccess(s->base, s->path, SQLITE_ACCESS_EXISTS, &there) == SQLITE_OK &&
	    there && open_file(s, 0) == SQLITE_OK)
		read_file(s);
	*ret = TAKE(s);
	return 0;
}

const char *sums_vfs(const struct sums *s)
{
	return s->name;
}

bool sums_there(const struct sums *s)
{
	return s->file != NULL;
}

struct sums_note sums_last(const struct sums *s)
{
	return s->note;
}

void sums_forget(struct sums *s)
{
	size_t at;

	for (at = 0; at < s->n; at++)
		set_page(s, at, 0);
	s->counts = (struct sums_counts){ 0 };
}

int sums_begin(struct sums *s, const struct sums_note *note, struct err *err)
{
	int code = s->file ? SQLITE_OK : open_file(s, SQLITE_OPEN_CREATE);

	if (code == SQLITE_OK)
		code = put_changed(s);
	if (code == SQLITE_OK)
		code = put_note(s, note);
	if (code == SQLITE_OK)
		code = sync_file(s);
	s->begun = code == SQLITE_OK;
	return s->begun ? 0 : err_set(err, EIO, "%s: %s", s->path, sqlite3_errstr(code));
}

void sums_commit(struct sums *s, const struct sums_note *note)
{
	/* If it cannot be written the previous note remains, which is valid but older. */
	if (s->begun)
		(void)put_note(s, note);
}

static void look_at(struct sums *s, size_t at)
{
	int code;

	memset(s->page, 0, sizeof(s->page));
	code = s->store->pMethods->xRead(s->store, s->page, PAGE, (sqlite3_int64)at * PAGE);
	if (s->pages[at] && (code != SQLITE_OK || s->pages[at] != sum_of(s->page)))
		found_damaged(s, at);
	else if (!s->pages[at] && code == SQLITE_OK)
		set_page(s, at, sum_of(s->page));
}

int sums_look(struct sums *s, uint64_t max, uint64_t deadline_us)
{
	sqlite3_int64 size = 0;
	size_t n;

	if (!s->begun || !s->store || s->store->pMethods->xFileSize(s->store, &size) != SQLITE_OK)
		return 0;
	n = MIN((size_t)size / PAGE, (size_t)PAGES_MAX);
	grow(s, n);
	n = s->n = MAX(s->n, n);
	for (; s->at < n && max > 0; max--, s->at++) {
		if (s->at % 16 == 0 && clock_mono_us() >= deadline_us)
			return 1;
		look_at(s, s->at);
	}
	if (s->at < n)
		return 1;
	s->at = 0;
	s->counts.rounds++;
	return 0;
}

struct sums_counts sums_counts(const struct sums *s)
{
	return s->counts;
}

void sums_close(struct sums *s)
{
	if (!s)
		return;
	if (s->file && s->begun)
		(void)put_changed(s);
	if (s->file)
		(void)s->file->pMethods->xClose(s->file);
	free(s->file);
	(void)sqlite3_vfs_unregister(&s->vfs);
	free(s->name);
	free(s->path);
	free(s->pages);
	free(s->flags);
	free(s->changed);
	free(s);
}
