/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/membind.h"
#include "probes/memory/numa.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { HUGE_SHIFT = 26, ROLLUP_MAX = 64 * 1024 };

#define HUGE_2M (UINT64_C(2) << 20)
#define HUGE_1G (UINT64_C(1) << 30)

/* If the kernel was to use huge pages, at least this part of the touched bytes is in them. */
#define THP_SHARE 0.9

static uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

/* Bytes of this process in transparent huge pages, from the real /proc. */
static uint64_t thp_bytes(void)
{
	static const char key[] = "AnonHugePages:";
	CLEANUP(freep) char *text = NULL;
	const char *at;

	if (file_read(AT_FDCWD, "/proc/self/smaps_rollup", ROLLUP_MAX, &text, NULL, NULL) < 0)
		return 0;
	at = strstr(text, key);
	return at ? strtoull(at + strlen(key), NULL, 10) * 1024 : 0;
}

static int map(uint64_t bytes, unsigned huge_flags, struct buffer *b)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (int)huge_flags;
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);

	if (at == MAP_FAILED)
		return -errno;
	b->mapped = at;
	b->mapped_bytes = bytes;
	return 0;
}

static int bind_to(const struct buffer *b, bool only_node)
{
	int r = membind(b->mapped, b->mapped_bytes, b->node);

	return only_node && (r == -EPERM || r == -ENOSYS) ? 0 : r;
}

/*
 * Reserved huge pages, only if the node has enough free ones. They are populated here by a call
 * that can fail; touching a page that somebody else took meanwhile would kill us (SIGBUS).
 */
static int map_huge(uint64_t page_bytes, uint64_t free_bytes, bool only_node, struct buffer *b)
{
	const unsigned shift = page_bytes == HUGE_1G ? 30 : 21;
	uint64_t bytes = round_up(BUFFER_ARRAYS * (b->array_bytes + BUFFER_PAD), page_bytes);
	int r;

	if (free_bytes < bytes)
		return -ENOMEM;
	r = map(bytes, MAP_HUGETLB | (shift << HUGE_SHIFT), b);
	if (r < 0)
		return r;
	r = bind_to(b, only_node);
	if (r == 0 && madvise(b->mapped, b->mapped_bytes, MADV_POPULATE_WRITE) < 0)
		r = -errno;
	if (r < 0) {
		(void)munmap(b->mapped, b->mapped_bytes);
		b->mapped = NULL;
		return r;
	}
	b->huge_bytes = page_bytes;
	return 0;
}

/* Normal pages, or huge ones if the kernel provides them transparently. */
static int map_plain(bool only_node, struct buffer *b, struct err *err)
{
	uint64_t bytes = round_up(BUFFER_ARRAYS * (b->array_bytes + BUFFER_PAD), HUGE_2M) + HUGE_2M;
	int r = map(bytes, 0, b);

	if (r < 0)
		return err_errno(err, -r, "cannot map %llu MiB", (unsigned long long)(bytes >> 20));
	r = bind_to(b, only_node);
	if (r < 0) {
		(void)munmap(b->mapped, b->mapped_bytes);
		return err_errno(err, -r, "memory of numa:%u cannot be bound", b->node);
	}
	(void)madvise(b->mapped, b->mapped_bytes, MADV_HUGEPAGE);
	return 0;
}

int buffer_open(const struct numa_node *node, bool only_node, uint64_t array_bytes,
		struct buffer *ret, struct err *err)
{
	struct buffer b = {
		.node = node->id,
		.array_bytes = array_bytes,
		.thp_before = thp_bytes(),
	};
	uintptr_t first;
	size_t i;
	int r;

	r = map_huge(HUGE_1G, node->free_huge_1g, only_node, &b);
	if (r < 0)
		r = map_huge(HUGE_2M, node->free_huge_2m, only_node, &b);
	if (r < 0)
		r = map_plain(only_node, &b, err);
	if (r < 0)
		return r;
	first = round_up((uintptr_t)b.mapped, HUGE_2M) - (uintptr_t)b.mapped;
	for (i = 0; i < BUFFER_ARRAYS; i++) {
		void *at = b.mapped + first + i * (array_bytes + BUFFER_PAD);

		b.arrays[i] = at;
	}
	*ret = b;
	return 0;
}

void buffer_close(struct buffer *buffer)
{
	if (buffer->mapped)
		(void)munmap(buffer->mapped, buffer->mapped_bytes);
	*buffer = (struct buffer){ 0 };
}

/* `n` addresses spread evenly over the touched parts of the arrays. */
static void spread(const struct buffer *b, uint64_t array_bytes, void **pages, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		char *array = (char *)b->arrays[i % BUFFER_ARRAYS];

		pages[i] = array + array_bytes / n * i / sizeof(double) * sizeof(double);
	}
}

int buffer_verify(const struct buffer *buffer, uint64_t array_bytes, bool only_node, struct err *err)
{
	CLEANUP(freep) void **pages = xcalloc(BUFFER_CHECKED_PAGES, sizeof(*pages));
	CLEANUP(freep) int *status = xcalloc(BUFFER_CHECKED_PAGES, sizeof(*status));
	size_t i;

	spread(buffer, array_bytes, pages, BUFFER_CHECKED_PAGES);
	if (syscall(SYS_move_pages, 0, (unsigned long)BUFFER_CHECKED_PAGES, pages, NULL, status,
		    0) < 0) {
		if (only_node && (errno == EPERM || errno == ENOSYS))
			return 0;
		return err_errno(err, errno, "cannot tell where the memory for numa:%u is",
				 buffer->node);
	}
	for (i = 0; i < BUFFER_CHECKED_PAGES; i++)
		if (status[i] >= 0 && (unsigned)status[i] != buffer->node)
			return err_set(err, EXDEV, "memory bound to numa:%u lies on numa:%d",
				       buffer->node, status[i]);
	if (status[0] < 0)
		return err_errno(err, -status[0], "memory bound to numa:%u is missing",
				 buffer->node);
	return 0;
}

const char *buffer_pages(const struct buffer *buffer, uint64_t array_bytes)
{
	uint64_t now;

	if (buffer->huge_bytes)
		return buffer->huge_bytes == HUGE_1G ? "1G" : "2M";
	now = thp_bytes();
	if (now < buffer->thp_before)
		return "4k";
	return (double)(now - buffer->thp_before) >= THP_SHARE * BUFFER_ARRAYS * (double)array_bytes
		       ? "2M"
		       : "4k";
}
