/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attribution/unpack.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

enum { PACKED_SIZE = 256 * 1024, MAGIC_SIZE = 4 };

struct input {
	char *name;
	int fd;
	bool close;
	uint64_t done, size, unpacked;
	struct unpack unpack; /* `step` NULL: not compressed */
	unsigned char *packed;
	size_t at, n; /* unused part of `packed` */
	bool at_end, ended;
};

static const struct {
	unsigned char magic[MAGIC_SIZE];
	size_t n;
	int (*make)(struct unpack *ret_unpack, struct err *err);
	const char *name;
} packings[] = {
	{ { 0x1f, 0x8b }, 2, unpack_gzip, "gzip" },
	{ { 0x28, 0xb5, 0x2f, 0xfd }, 4, unpack_zstd, "zstd" },
};

void input_free(struct input *input)
{
	if (input->unpack.step)
		input->unpack.free(input->unpack.state);
	if (input->close)
		(void)close(input->fd);
	free(input->packed);
	free(input->name);
	free(input);
}

static int read_fd(struct input *input, void *bytes, size_t size, size_t *ret_n, struct err *err)
{
	ssize_t n;

	do
		n = read(input->fd, bytes, size);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_errno(err, errno, "cannot be read");
	input->done += (uint64_t)n;
	*ret_n = (size_t)n;
	return 0;
}

/* Make sure that the first bytes are there, enough to detect the format. */
static int read_magic(struct input *input, struct err *err)
{
	size_t n = 1;
	int r = 0;

	while (r == 0 && n && input->n < MAGIC_SIZE) {
		r = read_fd(input, input->packed + input->n, PACKED_SIZE - input->n, &n, err);
		if (r == 0)
			input->n += n;
	}
	return r;
}

static int choose_packing(struct input *input, struct err *err)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(packings); i++) {
		if (input->n >= packings[i].n &&
		    memcmp(input->packed, packings[i].magic, packings[i].n) == 0)
			return packings[i].make(&input->unpack, err);
	}
	return 0;
}

int input_open(const char *path, struct input **ret_input, struct err *err)
{
	CLEANUP(input_freep) struct input *input = xcalloc(1, sizeof(*input));
	bool standard = streq(path, "-");
	struct stat st;
	int r;

	input->name = xstrdup(standard ? "standard input" : path);
	input->packed = xcalloc(1, PACKED_SIZE);
	input->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (input->fd < 0)
		return err_errno(err, errno, "%s", path);
	input->close = !standard;
	if (fstat(input->fd, &st) == 0 && S_ISREG(st.st_mode))
		input->size = (uint64_t)st.st_size;
	r = read_magic(input, err);
	if (r == 0)
		r = choose_packing(input, err);
	if (r < 0)
		return err_wrap(err, r, "%s", input->name);
	*ret_input = TAKE(input);
	return 0;
}

static int read_plain(struct input *input, void *bytes, size_t size, size_t *ret_n, struct err *err)
{
	size_t n = MIN(size, input->n - input->at);

	if (n == 0)
		return read_fd(input, bytes, size, ret_n, err);
	memcpy(bytes, input->packed + input->at, n);
	input->at += n;
	*ret_n = n;
	return 0;
}

static int refill(struct input *input, struct err *err)
{
	size_t n;
	int r = read_fd(input, input->packed, PACKED_SIZE, &n, err);

	if (r < 0)
		return r;
	input->at = 0;
	input->n = n;
	input->at_end = n == 0;
	return 0;
}

static int unpack_some(struct input *input, unsigned char *bytes, size_t size, size_t *ret_n,
		       struct err *err)
{
	struct unpack_piece piece = { input->packed + input->at, input->n - input->at, bytes, size,
				      input->ended };
	int r = input->unpack.step(input->unpack.state, &piece, err);

	if (r < 0)
		return r;
	input->at = (size_t)(piece.in - input->packed);
	input->ended = piece.ended;
	*ret_n = size - piece.n_out;
	input->unpacked += *ret_n;
	if (input->unpacked > INPUT_FREE && input->unpacked / INPUT_RATIO > input->done)
		return err_set(
			err, E2BIG,
			"it decompresses to more than %d times its size, which no trace does: "
			"decompress it first",
			INPUT_RATIO);
	return 0;
}

static int read_packed(struct input *input, void *bytes, size_t size, size_t *ret_n, struct err *err)
{
	size_t n = 0;
	int r = 0;

	while (r == 0 && n == 0) {
		if (input->at == input->n && !input->at_end)
			r = refill(input, err);
		if (r == 0 && input->at_end && input->ended)
			break;
		if (r == 0)
			r = unpack_some(input, bytes, size, &n, err);
		if (r == 0 && n == 0 && input->at_end && !input->ended)
			return err_set(err, EINVAL,
				       "the compressed file ends too early: part of it is missing");
	}
	if (r == 0)
		*ret_n = n;
	return r;
}

int input_read(struct input *input, void *bytes, size_t size, size_t *ret_n, struct err *err)
{
	return input->unpack.step ? read_packed(input, bytes, size, ret_n, err)
				  : read_plain(input, bytes, size, ret_n, err);
}

const char *input_name(const struct input *input)
{
	return input->name;
}

uint64_t input_done(const struct input *input)
{
	return input->done;
}

uint64_t input_size(const struct input *input)
{
	return input->size;
}
