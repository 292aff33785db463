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
	ANSWER_BYTES = 256 * 1024, /* per read; the kernel sends at most 32 KiB at once */
	ANSWERS_MAX = 4096,
	ANSWER_S = 1, /* the kernel answers at once or not at all */
};

struct request {
	struct nlmsghdr head;
	struct nlattr attribute; /* RDMA_NLDEV_ATTR_DEV_INDEX, if used */
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

/* Receive the next part of the answer. */
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

/* enum ib_qp_type and ib_qp_state (include/rdma/ib_verbs.h; IBTA 10.3.1). */
enum { TYPE_RC = 2, TYPE_UC = 3, TYPE_UD = 4, STATE_RTR = 2, STATE_SQD = 4 };
enum { TYPE_RAW_PACKET = 8, TYPE_XRC_INITIATOR = 9, TYPE_XRC_TARGET = 10, TYPE_DRIVER = 255 };

/* The part of the attributes or messages not parsed yet. */
struct span {
	const char *at;
	size_t left;
};

/* Returns the next attribute: type and value; false at the end or if malformed. */
static bool next_attribute(struct span *s, unsigned *ret_type, struct span *ret)
{
	struct nlattr head;
	size_t step;

	if (s->left < sizeof(head))
		return false;
	memcpy(&head, s->at, sizeof(head));
	if (head.nla_len < sizeof(head) || head.nla_len > s->left)
		return false;
	*ret_type = head.nla_type & (unsigned)NLA_TYPE_MASK;
	*ret = (struct span){ s->at + sizeof(head), head.nla_len - sizeof(head) };
	step = MIN((size_t)NLA_ALIGN(head.nla_len), s->left);
	s->at += step;
	s->left -= step;
	return true;
}

static uint32_t as_u32(struct span s)
{
	uint32_t value = 0;

	memcpy(&value, s.at, MIN(s.left, sizeof(value)));
	return value;
}

/* Call `take` for each message; see users.h for the return value. */
static int each_message(const void *data, size_t size, void (*take)(void *context, struct span s),
			void *context)
{
	struct span s = { data, size };

	while (s.left >= sizeof(struct nlmsghdr)) {
		struct nlmsghdr head;
		struct span body;
		size_t step;
		int code = 0;

		memcpy(&head, s.at, sizeof(head));
		if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > s.left)
			return -EBADMSG;
		body = (struct span){ s.at + sizeof(head), head.nlmsg_len - sizeof(head) };
		if (head.nlmsg_type == NLMSG_DONE)
			return 1;
		if (head.nlmsg_type == NLMSG_ERROR) {
			memcpy(&code, body.at, MIN(body.left, sizeof(code)));
			return code < 0 ? code : 1;
		}
		take(context, body);
		step = MIN((size_t)NLMSG_ALIGN(head.nlmsg_len), s.left);
		s.at += step;
		s.left -= step;
	}
	return s.left ? -EBADMSG : 0;
}

struct device_search {
	const char *name;
	uint32_t *index;
	bool *found;
};

static void take_device(void *context, struct span body)
{
	struct device_search *search = context;
	uint32_t index = 0;
	bool same = false;
	struct span value;
	unsigned type;

	while (next_attribute(&body, &type, &value)) {
		if (type == RDMA_NLDEV_ATTR_DEV_INDEX)
			index = as_u32(value);
		if (type == RDMA_NLDEV_ATTR_DEV_NAME)
			same = value.left == strlen(search->name) + 1 &&
			       memcmp(value.at, search->name, value.left) == 0;
	}
	if (same) {
		*search->index = index;
		*search->found = true;
	}
}

int users_parse_devices(const void *data, size_t size, const char *device, uint32_t *ret_index,
			bool *ret_found)
{
	struct device_search search = { device, ret_index, ret_found };

	return each_message(data, size, take_device, &search);
}

struct queue_count {
	long own_pid;
	struct rdma_users *users;
};

static bool is_connected(unsigned type, unsigned state)
{
	return (type == TYPE_RC || type == TYPE_UC || type == TYPE_RAW_PACKET ||
		type == TYPE_XRC_INITIATOR || type == TYPE_XRC_TARGET || type == TYPE_DRIVER) &&
	       state >= STATE_RTR && state <= STATE_SQD;
}

/*
 * A kernel queue pair has a name instead of a process. One with neither belongs to a process that
 * we cannot see, for example from inside a container (nldev.c, fill_res_name_pid()).
 */
static void take_queue(struct queue_count *count, struct span entry)
{
	unsigned kind = TYPE_UD, state = 0, type;
	bool of_kernel = false;
	struct span value;
	long pid = 0;

	while (next_attribute(&entry, &type, &value)) {
		if (type == RDMA_NLDEV_ATTR_RES_TYPE)
			kind = as_u32(value);
		if (type == RDMA_NLDEV_ATTR_RES_STATE)
			state = as_u32(value);
		if (type == RDMA_NLDEV_ATTR_RES_PID)
			pid = (long)as_u32(value);
		of_kernel = of_kernel || type == RDMA_NLDEV_ATTR_RES_KERN_NAME;
	}
	if (of_kernel || pid == count->own_pid || !is_connected(kind, state))
		return;
	count->users->queues++;
	if (pid)
		count->users->pid = pid;
}

static void take_queues(void *context, struct span body)
{
	struct span table, entry;
	unsigned type;

	while (next_attribute(&body, &type, &table)) {
		if (type != RDMA_NLDEV_ATTR_RES_QP)
			continue;
		while (next_attribute(&table, &type, &entry)) {
			if (type == RDMA_NLDEV_ATTR_RES_QP_ENTRY)
				take_queue(context, entry);
		}
	}
}

int users_parse_queues(const void *data, size_t size, long own_pid, struct rdma_users *ret)
{
	struct queue_count count = { own_pid, ret };

	return each_message(data, size, take_queues, &count);
}
