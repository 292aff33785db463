/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/nccl/profiler_handover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/macro.h"

#define SOCKET_DEFAULT ASSAY_DEFAULT_RUN_DIR "/" RING_SOCKET_NAME

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, NS_PER_US = 1000, US_PER_S = 1000000 };

#ifndef MFD_NOEXEC_SEAL /* Linux 6.3; linux/memfd.h */
#define MFD_NOEXEC_SEAL 0x0008U
#endif

static _Atomic int times_late;

static void close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static int64_t now_us(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * US_PER_S + t.tv_nsec / NS_PER_US;
}

static int64_t limit_ms(void)
{
	const char *text = getenv("ASSAY_RING_LIMIT_MS");
	const long ms = text ? strtol(text, NULL, 10) : 0;

	return ms > 0 && ms <= HANDOVER_LIMIT_MS_MAX ? ms : HANDOVER_LIMIT_MS;
}

/* Limit the next blocking call on the socket to the time left; -ETIMEDOUT if there is none. */
static int limit(int fd, int option, int64_t deadline_us)
{
	const int64_t left = deadline_us - now_us();
	const struct timeval time = { .tv_sec = left / US_PER_S, .tv_usec = left % US_PER_S };

	if (left <= 0)
		return -ETIMEDOUT;
	return setsockopt(fd, SOL_SOCKET, option, &time, sizeof(time)) < 0 ? -errno : 0;
}

/* EAGAIN means that the time limit has passed (for connect(2), EINPROGRESS). */
static int failed(int error)
{
	return error == EAGAIN || error == EINPROGRESS ? -ETIMEDOUT : -error;
}

int profiler_handover_where(struct sockaddr_un *ret)
{
	const char *where = getenv("ASSAY_RING_SOCKET");

	if (!where || !*where)
		where = SOCKET_DEFAULT;
	if (strlen(where) >= sizeof(ret->sun_path))
		return -ENAMETOOLONG;
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(ret->sun_path, where, strlen(where) + 1);
	return 0;
}

static int dial(const struct sockaddr_un *where, int64_t deadline_us, int *ret_fd)
{
	CLEANUP(close_fd) int fd = -1;
	int r;

	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	do {
		r = limit(fd, SO_SNDTIMEO, deadline_us);
		if (r == 0 && connect(fd, (const struct sockaddr *)where, sizeof(*where)) < 0)
			r = failed(errno);
	} while (r == -EINTR);
	if (r == 0)
		*ret_fd = TAKE_FD(fd);
	return r;
}

/*
 * Old kernels do not know the flag; newer ones may require it, if executable memfds are forbidden.
 */
static int memory(void)
{
	const int fd = memfd_create("assay-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	return fd >= 0 || errno != EINVAL
		       ? fd
		       : memfd_create("assay-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

static int make_ring(const struct ring_head *head, int *ret_fd)
{
	CLEANUP(close_fd) int fd = memory();

	if (fd < 0 || ftruncate(fd, RING_SIZE) < 0)
		return -errno;
	if (pwrite(fd, head, sizeof(*head), 0) != (ssize_t)sizeof(*head))
		return -EIO;
	if (fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* One descriptor as ancillary data, as in cmsg(3). */
union passed {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

static int send_ring(int fd, int ring, bool again)
{
	struct ring_hello hello = { .magic = RING_MAGIC, .version = RING_VERSION, .again = again };
	struct iovec data = { .iov_base = &hello, .iov_len = sizeof(hello) };
	union passed passed = { .bytes = "" };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = passed.bytes,
				  .msg_controllen = sizeof(passed.bytes) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &ring, sizeof(ring));
	return sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(hello) ? 0 : failed(errno);
}

/* Receive the welcome. The caller owns the descriptor that came with it, if any, even on errors. */
static int receive(int fd, struct ring_welcome *ret, int *ret_control)
{
	struct iovec data = { .iov_base = ret, .iov_len = sizeof(*ret) };
	union passed passed = { .bytes = "" };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = passed.bytes,
				  .msg_controllen = sizeof(passed.bytes) };
	const ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c;

	if (n < 0)
		return failed(errno);
	c = CMSG_FIRSTHDR(&message);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_control, CMSG_DATA(c), sizeof(*ret_control));
	if (n != (ssize_t)sizeof(*ret) || ret->magic != RING_MAGIC || ret->version != RING_VERSION)
		return -EPROTO;
	return ret->taken ? 0 : -EPERM;
}

/* Verify it before mapping it over the previous page, which may still be read by others. */
static int map_control(int fd, const struct ring_control **control)
{
	const int seals = fd < 0 ? -1 : fcntl(fd, F_GET_SEALS);
	void *old = (void *)(uintptr_t)*control;
	struct ring_control first;
	struct stat st;
	void *memory;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) < 0 ||
	    st.st_size < RING_CONTROL_SIZE)
		return -EPROTO;
	if (pread(fd, &first, sizeof(first), 0) != (ssize_t)sizeof(first) ||
	    first.magic != RING_MAGIC || first.version != RING_VERSION)
		return -EPROTO;
	memory = mmap(old, RING_CONTROL_SIZE, PROT_READ, MAP_SHARED | (old ? MAP_FIXED : 0), fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	*control = memory;
	return 0;
}

/*
 * Send the ring and receive the answer. The caller owns the page that came with it, even on errors.
 */
static int talk(int fd, int ring, int64_t deadline_us, int *ret_page)
{
	struct ring_welcome welcome = { 0 };
	int r;

	do {
		r = limit(fd, SO_SNDTIMEO, deadline_us);
		if (r == 0)
			r = send_ring(fd, ring, false);
	} while (r == -EINTR);
	if (r < 0)
		return r;
	do {
		r = limit(fd, SO_RCVTIMEO, deadline_us);
		if (r == 0)
			r = receive(fd, &welcome, ret_page);
	} while (r == -EINTR);
	return r;
}

static int exchange(const struct sockaddr_un *where, const struct ring_head *head, int *ret_ring,
		    const struct ring_control **control)
{
	const int64_t deadline_us = now_us() + limit_ms() * 1000;
	CLEANUP(close_fd) int fd = -1, ring = -1, page = -1;
	int r;

	r = dial(where, deadline_us, &fd);
	if (r == 0)
		r = make_ring(head, &ring);
	if (r == 0)
		r = talk(fd, ring, deadline_us, &page);
	if (r == 0)
		r = map_control(page, control);
	if (r == 0)
		*ret_ring = TAKE_FD(ring);
	return r;
}

int profiler_handover(const struct sockaddr_un *where, const struct ring_head *head, int *ret_ring,
		      const struct ring_control **control)
{
	int r;

	if (atomic_load(&times_late) >= HANDOVER_LATE_MAX)
		return -ECANCELED;
	r = exchange(where, head, ret_ring, control);
	if (r == -ETIMEDOUT)
		atomic_fetch_add(&times_late, 1);
	return r;
}

int profiler_handover_again(const struct sockaddr_un *where, int ring)
{
	CLEANUP(close_fd)
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)where, sizeof(*where)) < 0)
		return -errno;
	return send_ring(fd, ring, true);
}
