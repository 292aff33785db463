/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/process_env.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/sys/file.h"

#define DIGITS "0123456789"
#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" DIGITS "_.:-"

enum { PIECE = 4096, NUMBER_MAX = 10 /* digits */ };

const char *const process_env_keys[PROCESS_ENV_KEYS] = {
	"RANK",		"LOCAL_RANK",	      "WORLD_SIZE",	      "SLURM_PROCID",
	"SLURM_JOB_ID", "SLURM_CLUSTER_NAME", "SLURM_RESTART_COUNT",  "ASSAY_JOB",
	"ASSAY_RUN",	"ASSAY_SHAPE",	      "NCCL_PROFILER_PLUGIN",
};

/* Characters and length allowed in each value. A job's name begins with its team. */
static const struct {
	const char *bytes;
	size_t most;
} forms[PROCESS_ENV_KEYS] = {
	{ DIGITS, NUMBER_MAX },
	{ DIGITS, NUMBER_MAX },
	{ DIGITS, NUMBER_MAX },
	{ DIGITS, NUMBER_MAX },
	{ PLAIN, PROCESS_ENV_VALUE_SIZE - 1 },
	{ PLAIN, PROCESS_ENV_VALUE_SIZE - 1 },
	{ DIGITS, NUMBER_MAX },
	{ PLAIN "/", PROCESS_ENV_VALUE_SIZE - 1 },
	{ DIGITS, NUMBER_MAX },
	{ PLAIN, PROCESS_ENV_VALUE_SIZE - 1 },
	{ PLAIN, PROCESS_ENV_VALUE_SIZE - 1 },
};

void process_env_begin(struct process_env_reader *reader, struct process_env *out)
{
	*out = (struct process_env){ .values = { "" } };
	*reader = (struct process_env_reader){ .out = out };
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Process a complete, NUL-terminated entry. */
static void take(struct process_env_reader *reader)
{
	const char *entry = reader->entry;
	size_t i;

	for (i = 0; i < PROCESS_ENV_KEYS; i++) {
		const size_t key = strlen(process_env_keys[i]);
		const char *value = entry + key + 1;
		char *out = reader->out->values[i];
		size_t length;

		if (strncmp(entry, process_env_keys[i], key) != 0 || entry[key] != '=')
			continue;
		if (i == PROCESS_ENV_PROFILER)
			value = last_part(value);
		length = strlen(value);
		if (!out[0] && length <= forms[i].most && strspn(value, forms[i].bytes) == length)
			memcpy(out, value, length + 1);
		return;
	}
}

void process_env_add(struct process_env_reader *reader, const char *bytes, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (reader->n == sizeof(reader->entry))
			reader->too_long = true;
		else
			reader->entry[reader->n++] = bytes[i];
		if (bytes[i])
			continue;
		if (!reader->too_long)
			take(reader);
		explicit_bzero(reader->entry, sizeof(reader->entry));
		reader->n = 0;
		reader->too_long = false;
	}
}

void process_env_end(struct process_env_reader *reader)
{
	explicit_bzero(reader, sizeof(*reader));
}

int process_env_read(int proc_fd, struct process_env *ret)
{
	CLEANUP(closep) int fd = openat(proc_fd, "environ", O_RDONLY | O_CLOEXEC);
	struct process_env_reader reader;
	struct process_env found;
	char piece[PIECE];
	size_t total = 0;
	ssize_t n;
	int r;

	if (fd < 0)
		return -errno;
	process_env_begin(&reader, &found);
	do {
		n = read(fd, piece, sizeof(piece));
		r = n < 0 ? -errno : 0;
		if (n > 0) {
			process_env_add(&reader, piece, (size_t)n);
			total += (size_t)n;
		}
		explicit_bzero(piece, sizeof(piece));
	} while (r == -EINTR || (n > 0 && total < PROCESS_ENV_MAX));
	process_env_end(&reader);
	if (r == 0)
		*ret = found;
	explicit_bzero(&found, sizeof(found));
	return r;
}
