/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/users.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"
#include "lib/sys/sysfs.h"

enum {
	ANSWER_BYTES = 256 * 1024, /* of one read; the kernel sends at most 32 KiB at once */
	ANSWERS_MAX = 4096,
	ANSWER_S = 1, /* the kernel answers at once or not at all */
};

struct request {
	struct nlmsghdr head;
	struct nlattr attribute; /* RDMA_NLDEV_ATTR_DEV_INDEX, when it is asked for */
	uint32_t index;
};

static int open_socket(struct err *err)
{
	const struct timeval timeout = { .tv_sec = ANSWER_S };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);

	if (fd < 0)
		return err_errno(err, errno, "RDMA netlink");
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	return fd;
}

static int ask(int fd, unsigned command, const uint32_t *index, struct err *err)
{
	struct request r = {
		.head = { .nlmsg_len = index ? sizeof(r) : sizeof(r.head),
			  .nlmsg_type = (uint16_t)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.attribute = { .nla_len = sizeof(r.attribute) + sizeof(r.index),
			       .nla_type = RDMA_NLDEV_ATTR_DEV_INDEX },
		.index = index ? *index : 0,
	};

	if (send(fd, &r, r.head.nlmsg_len, 0) < 0)
		return err_errno(err, errno, "RDMA netlink");
	return 0;
}

/* The next part of the answer. */
static ssize_t receive(int fd, void *buffer, struct err *err)
{
	ssize_t n = recv(fd, buffer, ANSWER_BYTES, 0);

	return n < 0 ? err_errno(err, errno, "RDMA netlink") : n;
}

static int find_device(int fd, const char *device, void *buffer, uint32_t *ret_index,
		       struct err *err)
{
	bool found = false;
	int r = ask(fd, RDMA_NLDEV_CMD_GET, NULL, err), i;

	for (i = 0; r == 0 && i < ANSWERS_MAX; i++) {
		ssize_t n = receive(fd, buffer, err);

		r = n < 0 ? (int)n
			  : users_parse_devices(buffer, (size_t)n, device, ret_index, &found);
	}
	if (r < 0)
		return r;
	return found ? 0 : err_set(err, ENODEV, "RDMA netlink knows no %s", device);
}

static void name_process(struct rdma_users *users)
{
	CLEANUP(freep)
	char *path = xasprintf("%s/proc/%ld/comm", paths_sysroot(), users->pid);
	CLEANUP(freep) char *line = NULL;

	if (file_read_line(AT_FDCWD, path, &line) < 0)
		return;
	ascii_clean(line);
	(void)snprintf(users->command, sizeof(users->command), "%s", line);
}

int rdma_users_read(const char *device, struct rdma_users *ret, struct err *err)
{
	CLEANUP(freep) void *buffer = xcalloc(1, ANSWER_BYTES);
	CLEANUP(closep) int fd = open_socket(err);
	struct rdma_users users = { 0 };
	uint32_t index = 0;
	int r = fd < 0 ? fd : find_device(fd, device, buffer, &index, err), i;

	if (r == 0)
		r = ask(fd, RDMA_NLDEV_CMD_RES_QP_GET, &index, err);
	for (i = 0; r == 0 && i < ANSWERS_MAX; i++) {
		ssize_t n = receive(fd, buffer, err);

		r = n < 0 ? (int)n : users_parse_queues(buffer, (size_t)n, getpid(), &users);
	}
	if (r < 0)
		return r;
	if (users.pid)
		name_process(&users);
	*ret = users;
	return 0;
}
