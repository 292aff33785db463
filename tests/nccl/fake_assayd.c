/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/nccl/fake_assayd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/macro.h"

enum {
	RINGS_MAX = 4096,
	POLL_MS = 20,
	READ_TRIES = 100,
	QUEUE = 128,
	SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL
};

#define HOUR_NS (UINT64_C(3600) * 1000000000U)

static struct {
	const struct ring_head *head;
	struct ring_control *page, *wants; /* wants: in the ring's head, mapped separately */
	ino_t inode;
} rings[RINGS_MAX];
static _Atomic int n_rings, n_agains, manner;
static _Atomic uint32_t first_mask;
static _Atomic bool stopping;
static pthread_t thread;
static char folder[64], path[96];
static int listener = -1;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static void fail(const char *what)
{
	fprintf(stderr, "fake assayd: %s: %s\n", what, strerror(errno));
	abort();
}

/* Creates a control page and maps it. The caller closes the descriptor. */
static int make_page(struct ring_control **ret)
{
	const enum fake_manner m = (enum fake_manner)atomic_load(&manner);
	const int fd = memfd_create("control", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct ring_control page = { .magic = RING_MAGIC,
				     .version = RING_VERSION,
				     .mask = atomic_load(&first_mask) };
	void *memory;

	if (fd < 0 ||
	    ftruncate(fd, m == FAKE_SHORT_PAGE ? (off_t)sizeof(page) : RING_CONTROL_SIZE) < 0)
		fail("memfd");
	memory = mmap(NULL, RING_CONTROL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		fail("mmap");
	if (m == FAKE_OTHER_PAGE)
		page.magic++;
	memcpy(memory, &page, sizeof(page));
	if (m != FAKE_UNSEALED && fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		fail("seals");
	*ret = memory;
	return fd;
}

static int receive_ring(int fd, bool *ret_again)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} passed;
	struct ring_hello hello = { 0 };
	struct iovec data = { &hello, sizeof(hello) };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = passed.bytes,
				  .msg_controllen = sizeof(passed.bytes) };
	struct cmsghdr *c;
	int ring = -1;

	if (recvmsg(fd, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(hello))
		return -1;
	c = CMSG_FIRSTHDR(&message);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(&ring, CMSG_DATA(c), sizeof(ring));
	if (hello.magic != RING_MAGIC || hello.version != RING_VERSION)
		fail("hello");
	*ret_again = hello.again;
	return ring;
}

static void send_welcome(int fd, int page)
{
	const enum fake_manner m = (enum fake_manner)atomic_load(&manner);
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} passed = { .bytes = "" };
	struct ring_welcome welcome = { m == FAKE_BABBLES ? 1 : RING_MAGIC, RING_VERSION,
					m != FAKE_REFUSES };
	struct iovec data = { &welcome, sizeof(welcome) };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (m != FAKE_NO_PAGE) {
		message.msg_control = passed.bytes;
		message.msg_controllen = sizeof(passed.bytes);
		c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &page, sizeof(page));
	}
	sendmsg(fd, &message, MSG_NOSIGNAL);
}

/* Checks seals and size before it maps the ring, like assayd. */
static void keep(int ring, struct ring_control *page)
{
	const int seals = fcntl(ring, F_GET_SEALS), i = atomic_load(&n_rings);
	struct stat st;
	void *memory;

	if (seals < 0 || (seals & SEALS) != SEALS)
		fail("a ring is not sealed");
	if (fstat(ring, &st) < 0 || st.st_size != RING_SIZE)
		fail("a ring of another size");
	memory = mmap(NULL, RING_SIZE, PROT_READ, MAP_SHARED, ring, 0);
	if (memory == MAP_FAILED || i >= RINGS_MAX)
		fail("mmap of a ring");
	rings[i].head = memory;
	rings[i].page = page;
	rings[i].wants = NULL;
	rings[i].inode = st.st_ino;
	atomic_store(&n_rings, i + 1);
}

/* A ring handed over again is controlled through its head from now on. */
static void keep_again(int ring)
{
	struct ring_head *head;
	struct stat st;
	int i = 0;

	if (atomic_load(&manner) != FAKE_TAKES) {
		close(ring);
		return;
	}
	if (fstat(ring, &st) < 0 || st.st_size != RING_SIZE)
		fail("what came again is no ring");
	while (i < atomic_load(&n_rings) && rings[i].inode != st.st_ino)
		i++;
	if (i == atomic_load(&n_rings))
		fail("a ring came again that never came");
	if (!rings[i].wants) {
		head = mmap(NULL, RING_HEAD_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, ring, 0);
		if (head == MAP_FAILED)
			fail("mmap of a head");
		rings[i].wants = &head->wants;
	}
	atomic_store(&rings[i].wants->mask, atomic_load(&first_mask));
	atomic_store(&rings[i].wants->until_ns, now_ns() + HOUR_NS);
	close(ring); /* first, so a search for descriptors finds only the plug-in's */
	atomic_fetch_add(&n_agains, 1);
}

static void meet(int fd)
{
	struct ring_control *page;
	int ring, page_fd;
	bool again = false;

	ring = receive_ring(fd, &again);
	if (ring < 0)
		return;
	if (again) {
		keep_again(ring);
		return;
	}
	page_fd = make_page(&page);
	if (atomic_load(&manner) == FAKE_TAKES)
		keep(ring, page);
	else
		munmap(page, RING_CONTROL_SIZE);
	close(ring);
	send_welcome(fd, page_fd);
	close(page_fd);
}

static void *serve(void *unused)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };

	(void)unused;
	while (!atomic_load(&stopping)) {
		int fd;

		if (poll(&p, 1, POLL_MS) <= 0)
			continue;
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		if (atomic_load(&manner) != FAKE_SILENT)
			meet(fd);
		else
			poll(NULL, 0, 10 * POLL_MS);
		close(fd);
	}
	return NULL;
}

/* Creates the socket at its path and starts the thread. */
static void begin(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	memcpy(address.sun_path, path, sizeof(path));
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(listener, QUEUE) < 0)
		fail("socket");
	atomic_store(&stopping, false);
	if (pthread_create(&thread, NULL, serve, NULL) != 0)
		fail("thread");
}

void fake_assayd_leave(void)
{
	atomic_store(&stopping, true);
	pthread_join(thread, NULL);
	close(listener);
	unlink(path);
}

void fake_assayd_return(void)
{
	begin();
}

void fake_assayd_start(void)
{
	memcpy(folder, "/tmp/assay-ring-XXXXXX", sizeof("/tmp/assay-ring-XXXXXX"));
	if (!mkdtemp(folder))
		fail("mkdtemp");
	snprintf(path, sizeof(path), "%s/ring.sock", folder);
	atomic_store(&n_rings, 0);
	atomic_store(&n_agains, 0);
	fake_assayd_manner(FAKE_TAKES, 0);
	setenv("ASSAY_RING_SOCKET", path, 1);
	begin();
}

void fake_assayd_forget(void)
{
	int i;

	for (i = 0; i < atomic_load(&n_rings); i++) {
		if (!rings[i].head)
			continue;
		munmap((void *)(uintptr_t)rings[i].head, RING_SIZE);
		munmap(rings[i].page, RING_CONTROL_SIZE);
		if (rings[i].wants)
			munmap((char *)rings[i].wants - offsetof(struct ring_head, wants),
			       RING_HEAD_SIZE);
		rings[i].head = NULL;
	}
}

void fake_assayd_stop(void)
{
	fake_assayd_leave();
	fake_assayd_forget();
	rmdir(folder);
}

void fake_assayd_manner(enum fake_manner m, uint32_t mask)
{
	atomic_store(&first_mask, mask);
	atomic_store(&manner, (int)m);
}

int fake_assayd_rings(void)
{
	return atomic_load(&n_rings);
}

const struct ring_head *fake_assayd_ring(int i)
{
	return rings[i].head;
}

struct ring_control *fake_assayd_page(int i)
{
	return rings[i].page;
}

int fake_assayd_agains(void)
{
	return atomic_load(&n_agains);
}

struct ring_control *fake_assayd_wants(int i)
{
	return rings[i].wants;
}

void fake_assayd_scribble(int i, uint64_t number)
{
	char *ring = (char *)(uintptr_t)rings[i].head;

	if (mprotect(ring, RING_SIZE, PROT_READ | PROT_WRITE) < 0)
		fail("mprotect");
	memset(ring + RING_HEAD_SIZE + number % RING_SLOTS * RING_SLOT_SIZE, 0, sizeof(uint64_t));
	mprotect(ring, RING_SIZE, PROT_READ);
}

static struct fake_slot plain(const struct ring_slot *slot)
{
	struct fake_slot copy = {
		.seq = slot->seq,
		.count = slot->count,
		.enqueued_ns = slot->enqueued_ns,
		.gpu_start_ns = slot->gpu_start_ns,
		.gpu_stop_ns = slot->gpu_stop_ns,
		.host_start_ns = slot->host_start_ns,
		.host_stop_ns = slot->host_stop_ns,
		.wait_ns = slot->wait_ns,
		.peer = slot->peer,
		.channels = slot->channels,
		.started = slot->started,
		.stopped = slot->stopped,
		.wait = slot->wait,
		.func = slot->func,
		.flags = slot->flags,
		.algo = slot->algo,
		.proto = slot->proto,
		.element_size = slot->element_size,
	};

	memcpy(copy.func_name, slot->func_name, sizeof(copy.func_name));
	return copy;
}

bool fake_assayd_read(const struct ring_head *head, uint64_t number, struct fake_slot *ret)
{
	const char *at = (const char *)head + RING_HEAD_SIZE + number % RING_SLOTS * RING_SLOT_SIZE;
	const struct ring_slot *slot = (const struct ring_slot *)(const void *)at;
	int i;

	for (i = 0; i < READ_TRIES; i++) {
		const uint64_t before = atomic_load_explicit(&slot->stamp, memory_order_acquire);

		*ret = plain(slot);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (before == number + 1 &&
		    atomic_load_explicit(&slot->stamp, memory_order_relaxed) == before)
			return true;
	}
	return false;
}
