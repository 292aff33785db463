/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/kmsg.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/utf8.h"

/* After this many overwritten records in a row, the log is faster than we can read. */
enum { OVERRUNS_IN_A_ROW_MAX = 64 };

/* Bytes read in one run: more than any log buffer, so that it ends. */
#define KMSG_BYTES_MAX (UINT64_C(256) << 20)

static ssize_t read_fd(void *context, void *bytes, size_t n)
{
	const int *fd = context;

	return read(*fd, bytes, n);
}

void kmsg_init(struct kmsg *k, int *fd)
{
	*k = (struct kmsg){ .read = read_fd, .context = fd };
}

static bool number(const char **at, char end, uint64_t *ret)
{
	char *stop = NULL;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*ret = strtoull(*at, &stop, 10);
	if (errno || *stop != end)
		return false;
	*at = stop + 1;
	return true;
}

bool kmsg_parse(char *line, struct kmsg_record *ret_record)
{
	char *text = strchr(line, ';');
	const char *at = line;
	uint64_t priority = 0, sequence = 0, time_us = 0;

	if (!text || !number(&at, ',', &priority) || !number(&at, ',', &sequence) ||
	    !number(&at, ',', &time_us) || at > text || priority > 0xffff)
		return false;
	*ret_record = (struct kmsg_record){
		.facility = (unsigned)priority >> 3,
		.level = (unsigned)priority & 7,
		.sequence = sequence,
		.time_us = time_us,
		.text = ascii_clean(text + 1),
	};
	return true;
}

/*
 * Makes room and reads more. >0 if bytes came, 0 at the current end. EPIPE means that the next
 * record was overwritten: the next read returns the oldest one left.
 */
static int fill(struct kmsg *k)
{
	unsigned tries;

	memmove(k->data, k->data + k->used, k->len - k->used);
	k->len -= k->used;
	k->used = 0;
	for (tries = 0; tries < OVERRUNS_IN_A_ROW_MAX && k->n_bytes < KMSG_BYTES_MAX; tries++) {
		ssize_t n = k->read(k->context, k->data + k->len, KMSG_RECORD_MAX - k->len);

		if (n >= 0) {
			k->len += (size_t)n;
			k->n_bytes += (uint64_t)n;
			return n > 0;
		}
		if (errno == EAGAIN)
			return 0;
		if (errno == EPIPE)
			k->overruns++;
		else if (errno != EINTR)
			return -errno;
	}
	return 0;
}

/*
 * The next whole line in `data`, or NULL if more must be read. A line that does not fit is
 * truncated, and its rest skipped.
 */
static char *take_line(struct kmsg *k)
{
	for (;;) {
		char *line = k->data + k->used;
		char *end = memchr(line, '\n', k->len - k->used);
		bool whole = !k->cutting;

		if (!end && k->len - k->used < KMSG_RECORD_MAX)
			return NULL;
		k->cutting = !end;
		if (!end)
			end = k->data + k->len;
		*end = '\0';
		k->used = MIN((size_t)(end - k->data) + 1, k->len);
		if (whole)
			return line;
	}
}

/* A last line without a newline, as at the end of a file. */
static char *take_rest(struct kmsg *k)
{
	char *line = k->data + k->used;
	bool whole = !k->cutting && k->used < k->len;

	k->data[k->len] = '\0';
	k->used = k->len;
	k->cutting = false;
	return whole ? line : NULL;
}

int kmsg_next(struct kmsg *k, struct kmsg_record *ret_record)
{
	for (;;) {
		char *line = take_line(k);
		int r = 1;

		if (!line) {
			r = fill(k);
			if (r < 0)
				return r;
			line = r == 0 ? take_rest(k) : NULL;
		}
		if (line && kmsg_parse(line, ret_record))
			return 1;
		if (r == 0)
			return 0;
	}
}
