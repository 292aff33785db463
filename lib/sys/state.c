/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"
#include "lib/sys/lock.h"
#include "lib/sys/paths.h"

#define SEQ_LOCK_WAIT_US (2 * USEC_PER_SEC)

static char *state_path(const char *name)
{
	CLEANUP(freep) char *dir = paths_state();

	return xasprintf("%s/%s", dir, name);
}

int state_load(const char *name, json_t **ret_value, struct err *err)
{
	CLEANUP(freep) char *path = state_path(name);

	return json_read_file(path, STATE_FILE_MAX, ret_value, err);
}

static int make_parent(const char *path, struct err *err)
{
	CLEANUP(freep) char *copy = xstrdup(path);

	return file_mkdirs(dirname(copy), err);
}

int state_save(const char *name, const json_t *value, struct err *err)
{
	CLEANUP(freep) char *path = state_path(name);
	CLEANUP(freep) char *line = json_line(value);
	CLEANUP(freep) char *text = xasprintf("%s\n", line);
	int r = make_parent(path, err);

	return r < 0 ? r : file_replace(AT_FDCWD, path, text, strlen(text), err);
}

/*
 * The last number used. A file without a valid number is an error, not a reason to start at 1: that
 * would reuse numbers.
 */
static int read_seq(const char *path, uint64_t *ret_seq, struct err *err)
{
	long long seq = 0;
	int r = file_read_i64(AT_FDCWD, path, &seq);

	if (r == -ENOENT) {
		/* For the first number: the directory may be new, and created by others. */
		file_sync_above(path);
		*ret_seq = 0;
		return 0;
	}
	if (r < 0 && r != -EINVAL)
		return err_errno(err, -r, "%s", path);
	if (r < 0 || seq < 0)
		return err_set(err, EINVAL,
			       "%s does not hold a number: write the last number used into it",
			       path);
	*ret_seq = (uint64_t)seq;
	return 0;
}

int state_next_seq(uint64_t *ret_seq, struct err *err)
{
	CLEANUP(freep) char *path = state_path("seq");
	CLEANUP(freep) char *lock_path = state_path("seq.lock");
	CLEANUP(closep) int lock = -1;
	char text[32];
	uint64_t seq = 0;
	int r = make_parent(path, err);

	if (r == 0)
		r = lock_take(lock_path, clock_mono_us() + SEQ_LOCK_WAIT_US, &lock, err);
	if (r == 0)
		r = read_seq(path, &seq, err);
	if (r < 0)
		return r;
	seq++;
	(void)snprintf(text, sizeof(text), "%" PRIu64 "\n", seq);
	r = file_replace(AT_FDCWD, path, text, strlen(text), err);
	if (r == 0)
		*ret_seq = seq;
	return r;
}
