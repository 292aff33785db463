/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"
#include "lib/sys/file.h"
#include "lib/sys/lock.h"
#include "lib/sys/paths.h"

#define SPOOL_LOCK_WAIT_US (5 * USEC_PER_SEC)

/* Bytes dropped at a time when the disk is full. */
enum { ROOM_BYTES = 64 * 1024 };

/*
 * A report with a failure has an empty file <seq>.keep beside its <seq>.json, so that what to
 * drop last is known without opening reports.
 */
struct entry {
	uint64_t seq;
	uint64_t bytes;
	bool keep;
};

struct spool {
	char *path;
	int dir_fd;
	int lock_fd;
	struct entry *entries; /* ascending by seq */
	size_t n;
	uint64_t bytes;
	uint64_t dropped; /* since opening */
};

static char *spool_path(const char *name)
{
	CLEANUP(freep) char *state = paths_state();

	return xasprintf("%s/spool/%s", state, name);
}

uint64_t spool_lost(void)
{
	CLEANUP(freep) char *path = spool_path(".lost");
	long long lost = 0;

	return file_read_i64(AT_FDCWD, path, &lost) == 0 && lost > 0 ? (uint64_t)lost : 0;
}

/* Needs the lock. There is room for it: something was just dropped. */
static void note_lost(struct spool *s)
{
	CLEANUP(freep) char *text = NULL;

	if (!s->dropped)
		return;
	text = xasprintf("%" PRIu64 "\n", spool_lost() + s->dropped);
	(void)file_replace(s->dir_fd, ".lost", text, strlen(text), NULL);
	s->dropped = 0;
}

static void spool_close(struct spool *s)
{
	free(s->path);
	free(s->entries);
	closep(&s->dir_fd);
	closep(&s->lock_fd);
}

static void file_name(uint64_t seq, const char *suffix, char ret_name[static 40])
{
	(void)snprintf(ret_name, 40, "%" PRIu64 ".%s", seq, suffix);
}

uint64_t spool_written_s(uint64_t seq)
{
	CLEANUP(freep) char *path = NULL;
	char name[40];
	struct stat st;

	file_name(seq, "json", name);
	path = spool_path(name);
	return stat(path, &st) == 0 && st.st_mtime > 0 ? (uint64_t)st.st_mtime : 0;
}

/* Parse "<seq>.json"; false for any other name. */
static bool parse_name(const char *name, uint64_t *ret_seq)
{
	char *end = NULL;

	if (name[0] < '1' || name[0] > '9')
		return false;
	errno = 0;
	*ret_seq = strtoull(name, &end, 10);
	return errno == 0 && streq(end, ".json");
}

/*
 * A file left by a killed writer: "<seq>.json.*.tmp" (lib/sys/file.h). The holder of the lock is
 * the only writer, so it is not in use.
 */
static bool is_left_over(const char *name)
{
	size_t len = strlen(name);

	return ((name[0] >= '1' && name[0] <= '9') || starts_with(name, ".lost.")) && len > 4 &&
	       streq(name + len - 4, ".tmp");
}

static int by_seq(const void *a, const void *b)
{
	uint64_t x = ((const struct entry *)a)->seq, y = ((const struct entry *)b)->seq;

	return (x > y) - (x < y);
}

static int add_entry(struct spool *s, uint64_t seq, const char *name)
{
	struct stat st;
	char keep[40];

	if (fstatat(s->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* it is gone */
	if (!S_ISREG(st.st_mode))
		return 0;
	if ((s->n & (s->n - 1)) == 0) {
		struct entry *more = reallocarray(s->entries, s->n ? 2 * s->n : 1, sizeof(*more));

		if (!more)
			return -ENOMEM;
		s->entries = more;
	}
	file_name(seq, "keep", keep);
	s->entries[s->n++] = (struct entry){
		.seq = seq,
		.bytes = (uint64_t)st.st_size,
		.keep = faccessat(s->dir_fd, keep, F_OK, 0) == 0,
	};
	s->bytes += (uint64_t)st.st_size;
	return 0;
}

static int scan(struct spool *s)
{
	int fd = openat(s->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	uint64_t seq;
	int r = 0;

	if (!dir) {
		r = -errno;
		closep(&fd);
		return r;
	}
	while (r == 0 && (entry = readdir(dir))) {
		if (parse_name(entry->d_name, &seq))
			r = add_entry(s, seq, entry->d_name);
		else if (is_left_over(entry->d_name))
			(void)unlinkat(s->dir_fd, entry->d_name, 0);
	}
	(void)closedir(dir);
	if (s->n)
		qsort(s->entries, s->n, sizeof(*s->entries), by_seq);
	return r;
}

static int spool_open(struct spool *ret, struct err *err)
{
	CLEANUP(freep) char *state = paths_state();
	CLEANUP(freep) char *lock = NULL;
	CLEANUP(spool_close)
	struct spool s = { .path = xasprintf("%s/spool", state), .dir_fd = -1, .lock_fd = -1 };
	int r = file_mkdirs(s.path, err);

	if (r < 0)
		return r;
	s.dir_fd = open(s.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s.dir_fd < 0)
		return err_errno(err, errno, "cannot open %s", s.path);
	lock = xasprintf("%s/.lock", s.path);
	r = lock_take(lock, clock_mono_us() + SPOOL_LOCK_WAIT_US, &s.lock_fd, err);
	if (r < 0)
		return r;
	r = scan(&s);
	if (r < 0)
		return err_errno(err, -r, "cannot read %s", s.path);
	*ret = s;
	s = (struct spool){ .dir_fd = -1, .lock_fd = -1 };
	return 0;
}

static void drop(struct spool *s, size_t i)
{
	char name[40];

	file_name(s->entries[i].seq, "json", name);
	(void)unlinkat(s->dir_fd, name, 0);
	file_name(s->entries[i].seq, "keep", name);
	(void)unlinkat(s->dir_fd, name, 0);
	s->bytes -= s->entries[i].bytes;
	memmove(&s->entries[i], &s->entries[i + 1], (s->n - i - 1) * sizeof(*s->entries));
	s->n--;
	s->dropped++;
}

/*
 * Drop the least important report: the oldest that passed; a failure only to make room for
 * another failure. False if there is nothing left to drop.
 */
static bool drop_one(struct spool *s, bool for_failure)
{
	size_t i;

	for (i = 0; i < s->n && s->entries[i].keep; i++)
		;
	if (i == s->n) {
		if (!for_failure || s->n == 0)
			return false;
		i = 0;
	}
	drop(s, i);
	return true;
}

/* Make room for `len` more bytes in one more file. True on success. */
static bool make_room(struct spool *s, size_t len, bool failure)
{
	while (s->n >= SPOOL_FILES_MAX || s->bytes + len > SPOOL_BYTES_MAX) {
		if (!drop_one(s, failure))
			return false;
	}
	return true;
}

/* Errors that dropping reports can fix: not a limit on the size of a single file. */
static bool disk_full(int r)
{
	return r == -ENOSPC || r == -EDQUOT;
}

/* Write, dropping older reports while the disk is full. */
static int write_report(struct spool *s, uint64_t seq, const char *text, size_t len, bool failure)
{
	char name[40];
	int r = 0;

	if (failure) {
		file_name(seq, "keep", name);
		r = file_replace(s->dir_fd, name, "", 0, NULL);
		if (r < 0 && !disk_full(r))
			return r;
	}
	file_name(seq, "json", name);
	do {
		r = file_replace(s->dir_fd, name, text, len, NULL);
	} while (disk_full(r) && drop_one(s, failure));
	if (r < 0) {
		file_name(seq, "keep", name);
		(void)unlinkat(s->dir_fd, name, 0);
	}
	return disk_full(r) ? -ENOSPC : r;
}

int spool_put(const struct report *report, const struct verdict *verdict, struct err *err)
{
	CLEANUP(spool_close) struct spool s = { .dir_fd = -1, .lock_fd = -1 };
	CLEANUP(json_freep) json_t *object = NULL;
	CLEANUP(freep) char *line = NULL;
	bool failure = verdict->level == VERDICT_FAIL;
	int r;

	if (report->seq == 0)
		return err_set(err, EINVAL, "a report without a number cannot be sent");
	object = report_encode(report);
	line = json_line(object);
	if (strlen(line) > REPORT_MAX)
		return err_set(err, E2BIG, "the report has %zu bytes, more than %d", strlen(line),
			       REPORT_MAX);
	r = spool_open(&s, err);
	if (r < 0)
		return r;
	if (!make_room(&s, strlen(line), failure))
		return err_set(err, ENOSPC,
			       "spool %s is full of failures: is the controller reachable?", s.path);
	r = write_report(&s, report->seq, line, strlen(line), failure);
	note_lost(&s);
	return r < 0 ? err_errno(err, -r, "cannot store report %" PRIu64 " in %s", report->seq,
				 s.path)
		     : 0;
}

bool spool_give_up(uint64_t bytes)
{
	CLEANUP(spool_close) struct spool s = { .dir_fd = -1, .lock_fd = -1 };
	uint64_t had;
	bool gave = false;

	if (spool_open(&s, NULL) < 0)
		return false;
	had = s.bytes;
	while (had - s.bytes < bytes && drop_one(&s, false))
		gave = true;
	note_lost(&s);
	return gave;
}

bool spool_made_room(int r)
{
	return disk_full(r) && spool_give_up(ROOM_BYTES);
}

int spool_list(uint64_t **ret_seqs, size_t *ret_n, struct err *err)
{
	CLEANUP(spool_close) struct spool s = { .dir_fd = -1, .lock_fd = -1 };
	size_t i;
	int r = spool_open(&s, err);

	if (r < 0)
		return r;
	*ret_seqs = xcalloc(s.n, sizeof(**ret_seqs));
	for (i = 0; i < s.n; i++)
		(*ret_seqs)[i] = s.entries[i].seq;
	*ret_n = s.n;
	return 0;
}

/* --- set aside --- */

/* Remove a report and its reason: "7.json" and "7.why". */
static void remove_aside(const char *dir, const char *name)
{
	CLEANUP(freep) char *report = xasprintf("%s/%s", dir, name);
	CLEANUP(freep) char *why = xasprintf("%s/%.*swhy", dir, (int)(strlen(name) - 4), name);

	(void)unlink(report);
	(void)unlink(why);
}

static int is_aside(const struct dirent *entry)
{
	uint64_t seq;

	return parse_name(entry->d_name, &seq);
}

static uint64_t bytes_of(const char *dir, const char *name)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", dir, name);
	struct stat st;

	return lstat(path, &st) < 0 ? 0 : (uint64_t)st.st_size;
}

/* The reason for a report that a person has moved back. */
static int is_orphan(const struct dirent *entry)
{
	const size_t len = strlen(entry->d_name);

	return len > 4 && streq(entry->d_name + len - 4, ".why");
}

static void forget_orphans(const char *dir)
{
	struct dirent **names = NULL;
	int n = scandir(dir, &names, is_orphan, NULL), i;

	for (i = 0; i < n; i++) {
		CLEANUP(freep)
		char *report = xasprintf("%s/%.*s.json", dir, (int)(strlen(names[i]->d_name) - 4),
					 names[i]->d_name);
		CLEANUP(freep) char *why = xasprintf("%s/%s", dir, names[i]->d_name);

		if (access(report, F_OK) < 0)
			(void)unlink(why);
		free(names[i]);
	}
	free(names);
}

/* Remove the lowest numbers until one more fits. */
static void bound_bad(const char *dir)
{
	struct dirent **names = NULL;
	int n = scandir(dir, &names, is_aside, versionsort), i;
	uint64_t bytes = REPORT_MAX, files = 1;

	for (i = n; i-- > 0;) {
		bytes += bytes_of(dir, names[i]->d_name);
		if (++files > SPOOL_BAD_MAX || bytes > SPOOL_BAD_BYTES_MAX)
			remove_aside(dir, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	forget_orphans(dir);
}

size_t spool_aside(void)
{
	CLEANUP(freep) char *dir = spool_path("bad");
	struct dirent **names = NULL;
	int n = scandir(dir, &names, is_aside, NULL), i;

	for (i = 0; i < n; i++)
		free(names[i]);
	free(names);
	return n > 0 ? (size_t)n : 0;
}

/* Move it away, but keep it: somebody may want to find its author, or send it after all. */
static int set_aside(const char *path, uint64_t seq, const char *why)
{
	CLEANUP(freep) char *dir = spool_path("bad");
	CLEANUP(freep) char *line = xasprintf("%s\n", why);
	CLEANUP(freep) char *aside = NULL;
	CLEANUP(freep) char *reason = NULL;
	char name[40];

	file_name(seq, "json", name);
	aside = xasprintf("%s/%s", dir, name);
	file_name(seq, "why", name);
	reason = xasprintf("%s/%s", dir, name);
	if (file_mkdirs(dir, NULL) == 0) {
		bound_bad(dir);
		(void)file_replace(AT_FDCWD, reason, line, strlen(line), NULL);
		if (rename(path, aside) == 0)
			return 0;
		(void)unlink(reason);
	}
	return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
}

static int check_report(const char *text, size_t len, uint64_t seq, const char *path,
			struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct report report = { 0 };
	struct jval root;
	int r = json_parse(text, len, path, &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, path);
	r = report_decode(&root, &report, err);
	if (r == 0 && report.seq != seq)
		r = err_set(err, EINVAL, "%s: holds report %" PRIu64, path, report.seq);
	report_release(&report);
	return r;
}

int spool_read(uint64_t seq, char **ret_text, size_t *ret_len, struct err *err)
{
	CLEANUP(freep) char *text = NULL;
	CLEANUP(freep) char *path = NULL;
	char name[40];
	size_t len;
	int r;

	file_name(seq, "json", name);
	path = spool_path(name);
	r = file_read(AT_FDCWD, path, REPORT_MAX, &text, &len, err);
	if (r == 0)
		r = check_report(text, len, seq, path, err);
	if (r == -EINVAL || r == -EFBIG)
		(void)set_aside(path, seq, err ? err->msg : "it is not a report");
	if (r < 0)
		return r;
	*ret_text = TAKE(text);
	*ret_len = len;
	return 0;
}

int spool_set_aside(uint64_t seq, const char *why, struct err *err)
{
	CLEANUP(freep) char *path = NULL;
	CLEANUP(freep) char *keep = NULL;
	char name[40];
	int r;

	file_name(seq, "keep", name);
	keep = spool_path(name);
	(void)unlink(keep);
	file_name(seq, "json", name);
	path = spool_path(name);
	r = set_aside(path, seq, why);
	return r < 0 ? err_errno(err, -r, "cannot set %s aside", path) : 0;
}

int spool_done(uint64_t seq, struct err *err)
{
	CLEANUP(freep) char *path = NULL;
	CLEANUP(freep) char *keep = NULL;
	char name[40];

	file_name(seq, "json", name);
	path = spool_path(name);
	file_name(seq, "keep", name);
	keep = spool_path(name);
	if (unlink(path) < 0 && errno != ENOENT)
		return err_errno(err, errno, "cannot remove %s", path);
	(void)unlink(keep);
	return 0;
}
