/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fakes/gpu_fake_hosts.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RANKS_MAX = 8, ROOM = 4 << 20 /* bytes per rank, as software devices use */ };

/* The shared file. Each rank writes only its own entries. */
struct hall {
	_Atomic int here[RANKS_MAX];
	_Atomic unsigned long put[RANKS_MAX];	/* operations whose data is in the file */
	_Atomic unsigned long taken[RANKS_MAX]; /* operations whose sums it has computed */
	float data[RANKS_MAX][ROOM / sizeof(float)];
};

struct fake_hosts {
	struct hall *hall;
	int n, rank;
	unsigned long operations; /* started by this rank, including the current one */
	const float *from;	  /* of the current one; NULL: its data is in the file already */
	float *to;		  /* NULL: no operation is in progress */
	size_t bytes;
};

bool fake_hosts_begin(char *ret_path, size_t size)
{
	const char *directory = getenv("ASSAY_FAKE_NCCL_HOSTS");
	bool made;
	int fd;

	if (!directory)
		return false;
	(void)snprintf(ret_path, size, "%s/group-XXXXXX", directory);
	fd = mkostemp(ret_path, O_CLOEXEC);
	made = fd >= 0 && ftruncate(fd, sizeof(struct hall)) == 0;
	if (fd >= 0)
		(void)close(fd);
	return made;
}

struct fake_hosts *fake_hosts_join(const char *path, int n, int rank)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct fake_hosts *h = calloc(1, sizeof(*h));

	h->n = n;
	h->rank = rank;
	h->hall = fd < 0 ? MAP_FAILED
			 : mmap(NULL, sizeof(*h->hall), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		(void)close(fd);
	if (h->hall == MAP_FAILED || n > RANKS_MAX) {
		free(h);
		return NULL;
	}
	h->hall->here[rank] = 1;
	return h;
}

void fake_hosts_leave(struct fake_hosts *h)
{
	(void)munmap(h->hall, sizeof(*h->hall));
	free(h);
}

bool fake_hosts_all_here(const struct fake_hosts *h)
{
	int i, here = 0;

	for (i = 0; i < h->n; i++)
		here += h->hall->here[i];
	return here == h->n;
}

void fake_hosts_put(struct fake_hosts *h, const void *from, void *to, size_t bytes)
{
	h->operations++;
	h->from = from;
	h->to = to;
	h->bytes = bytes < ROOM ? bytes : ROOM;
}

static bool have_all(const struct fake_hosts *h, const _Atomic unsigned long *counts,
		     unsigned long operations)
{
	int i, n = 0;

	for (i = 0; i < h->n; i++)
		n += counts[i] >= operations;
	return n == h->n;
}

static void add_up(const struct fake_hosts *h)
{
	const size_t elements = h->bytes / sizeof(float);
	size_t i;
	int rank;

	memcpy(h->to, h->hall->data[0], h->bytes);
	for (rank = 1; rank < h->n; rank++) {
		for (i = 0; i < elements; i++)
			h->to[i] += h->hall->data[rank][i];
	}
}

/* Counts in units of four bytes, as the kernel does; headers add a percent. */
static void count_on(const struct fake_hosts *h, const char *name)
{
	const char *directory = getenv("ASSAY_FAKE_NCCL_COUNTERS");
	const double words = 1.01 * 2 * (double)h->bytes / 4 * (h->n - 1) / h->n;
	char path[PATH_MAX], line[32] = "0";
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", directory ? directory : "", name);
	file = directory ? fopen(path, "r+e") : NULL;
	if (!file)
		return;
	(void)fgets(line, sizeof(line), file);
	rewind(file);
	(void)fprintf(file, "%llu\n", strtoull(line, NULL, 10) + (unsigned long long)words);
	(void)fclose(file);
}

bool fake_hosts_turn(struct fake_hosts *h, bool damage)
{
	if (!h->to)
		return true;
	/* All ranks have the sums of the previous operation: overwrite its data. */
	if (h->from && have_all(h, h->hall->taken, h->operations - 1)) {
		memcpy(h->hall->data[h->rank], h->from, h->bytes);
		h->from = NULL;
		h->hall->put[h->rank] = h->operations;
	}
	if (h->from || !have_all(h, h->hall->put, h->operations))
		return false;
	add_up(h);
	if (damage)
		h->to[1] += 1;
	count_on(h, "port_xmit_data");
	count_on(h, "port_rcv_data");
	h->to = NULL;
	h->hall->taken[h->rank] = h->operations;
	return true;
}
