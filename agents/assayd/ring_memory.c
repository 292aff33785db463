/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/ring_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/sys/file.h"

enum {
	CLOSING_MAX = 4, /* threads that close descriptors at once */
	STACK_SIZE = 64 * 1024,
	SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL,
	OURS_ALONE = 0400,
};

#ifndef F_SEAL_FUTURE_WRITE /* Linux 5.1 */
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef MADV_POPULATE_READ /* Linux 5.14 */
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

/* --- a ring --- */

enum ring_refusal ring_memory_map(int fd, const void **ret, struct ring_identity *ret_identity)
{
	/* Fails for anything but a memfd, without touching a file system. */
	const int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *memory;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return RING_KIND;
	if (st.st_size != RING_SIZE)
		return RING_LENGTH;
	memory = mmap(NULL, RING_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return errno == EACCES ? RING_KIND : RING_RESOURCES;
	*ret_identity = (struct ring_identity){ st.st_dev, st.st_ino };
	*ret = memory;
	return RING_TAKEN;
}

/* madvise(2) does not modify the contents, but takes no const. */
static void *pages_of(const void *memory)
{
	return (void *)(uintptr_t)memory;
}

/*
 * The writer can still punch holes: reading a missing page allocates it, and raises SIGBUS if
 * there is no memory (vm.overcommit_memory = 2).
 */
bool ring_memory_ready(const void *memory, size_t size)
{
	return madvise(pages_of(memory), size, MADV_POPULATE_READ) == 0 || errno == EINVAL;
}

void ring_memory_rest(const void *memory)
{
	(void)madvise(pages_of(memory), RING_SIZE, MADV_DONTNEED);
}

void ring_memory_unmap(const void *memory)
{
	if (memory)
		(void)munmap(pages_of(memory), RING_SIZE);
}

/* --- control pages --- */

/*
 * We map it first: once sealed, nobody can map it writable or write(2) to it through any
 * descriptor. The mode prevents reopening /proc/PID/fd/N with more rights.
 */
int ring_memory_control(struct ring_control **ret, int *ret_fd)
{
	CLEANUP(closep)
	int fd = memfd_create("assay-ring-control", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct ring_control *control;

	if (fd < 0 || fchmod(fd, OURS_ALONE) < 0 || ftruncate(fd, RING_CONTROL_SIZE) < 0)
		return -errno;
	control = mmap(NULL, RING_CONTROL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (control == MAP_FAILED)
		return -errno;
	if (fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_FUTURE_WRITE) < 0) {
		const int r = -errno;

		ring_memory_unmap_control(control);
		return r;
	}
	control->magic = RING_MAGIC;
	control->version = RING_VERSION;
	*ret = control;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* --- our words in a ring --- */

_Static_assert((int)RING_HEAD_SIZE == (int)RING_CONTROL_SIZE, "both are unmapped as one page");

/* Both start at the beginning of a mapping or within RING_HEAD_SIZE of it. */
static void *mapping_of(struct ring_control *control)
{
	return (void *)((uintptr_t)control & ~(uintptr_t)(RING_CONTROL_SIZE - 1));
}

/*
 * write(2) is not an option: it waits for other writers of the file, and the job can block in its
 * own write for as long as it likes.
 */
int ring_memory_wants(int fd, struct ring_control **ret)
{
	struct ring_head *head =
		mmap(NULL, RING_HEAD_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (head == MAP_FAILED)
		return -errno;
	if (!ring_memory_wants_ready(&head->wants)) {
		(void)munmap(head, RING_HEAD_SIZE);
		return -ENOMEM;
	}
	head->wants.magic = RING_MAGIC;
	head->wants.version = RING_VERSION;
	*ret = &head->wants;
	return 0;
}

bool ring_memory_wants_ready(struct ring_control *wants)
{
	return madvise(mapping_of(wants), RING_HEAD_SIZE, MADV_POPULATE_WRITE) == 0 ||
	       errno == EINVAL;
}

void ring_memory_unmap_control(struct ring_control *control)
{
	if (control)
		(void)munmap(mapping_of(control), RING_CONTROL_SIZE);
}

/* --- descriptors of strangers --- */

static atomic_int closing;

static void *close_it(void *argument)
{
	(void)close((int)(intptr_t)argument);
	atomic_fetch_sub(&closing, 1);
	return NULL;
}

bool ring_memory_may_receive(void)
{
	return atomic_load(&closing) < CLOSING_MAX;
}

void ring_memory_discard(int fd)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int r;

	if (fcntl(fd, F_GET_SEALS) >= 0) {
		(void)close(fd);
		return;
	}
	r = pthread_attr_init(&attributes);
	atomic_fetch_add(&closing, 1);
	if (r == 0)
		r = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	if (r == 0)
		r = pthread_attr_setstacksize(&attributes, STACK_SIZE);
	if (r == 0)
		r = pthread_create(&thread, &attributes, close_it, (void *)(intptr_t)fd);
	(void)pthread_attr_destroy(&attributes);
	if (r != 0) {
		atomic_fetch_sub(&closing, 1);
		(void)close(fd);
	}
}
