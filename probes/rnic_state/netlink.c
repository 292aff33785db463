/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_state/netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/sys/file.h"

/* The macros of <linux/netlink.h> mix signed and unsigned. */
#define HEAD sizeof(struct nlattr)
#define ALIGNED(size) (((size_t)(size) + 3) / 4 * 4)

enum { TYPE_BITS = 0x3fff, ERRNO_MAX = 4095, SEQUENCE = 1 };

bool attributes_next(struct attributes *all, unsigned *ret_type, struct attributes *ret_value)
{
	struct nlattr head;
	size_t step;

	if (all->left < HEAD)
		return false;
	memcpy(&head, all->at, sizeof(head));
	if (head.nla_len < HEAD || head.nla_len > all->left)
		return false;
	*ret_type = head.nla_type & TYPE_BITS;
	*ret_value = (struct attributes){ all->at + HEAD, head.nla_len - HEAD };
	step = MIN(ALIGNED(head.nla_len), all->left);
	all->at += step;
	all->left -= step;
	return true;
}

static bool is_one_of(uint16_t type, const uint16_t *types)
{
	for (; *types; types++) {
		if (*types == type)
			return true;
	}
	return false;
}

int answer_open(const void *bytes, size_t len, const uint16_t *types, size_t header,
		struct attributes *ret)
{
	struct nlmsghdr head;
	struct attributes all;
	int error;

	if (len < sizeof(head))
		return -EPROTO;
	memcpy(&head, bytes, sizeof(head));
	if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > len)
		return -EPROTO;
	all.at = (const unsigned char *)bytes + sizeof(head);
	all.left = head.nlmsg_len - sizeof(head);
	if (head.nlmsg_type == NLMSG_ERROR && all.left >= sizeof(error)) {
		memcpy(&error, all.at, sizeof(error));
		return error < 0 && error >= -ERRNO_MAX ? error : -EPROTO;
	}
	if (!is_one_of(head.nlmsg_type, types) || all.left < ALIGNED(header))
		return -EPROTO;
	*ret = (struct attributes){ all.at + ALIGNED(header), all.left - ALIGNED(header) };
	return 0;
}

/* --- asking ------------------------------------------------------------------------------ */

static void add(struct question *q, const void *bytes, size_t len)
{
	if (q->spoilt || ALIGNED(len) > sizeof(q->bytes) - q->len) {
		q->spoilt = true;
		return;
	}
	if (len)
		memcpy(q->bytes + q->len, bytes, len);
	q->len += ALIGNED(len);
}

void question_begin(struct question *q, uint16_t type, uint16_t flags, const void *header,
		    size_t len)
{
	const struct nlmsghdr head = {
		.nlmsg_type = type,
		.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
		.nlmsg_seq = SEQUENCE,
	};

	*q = (struct question){ .len = 0 };
	add(q, &head, sizeof(head));
	add(q, header, len);
}

void question_put(struct question *q, uint16_t type, const void *bytes, size_t len)
{
	const struct nlattr head = { .nla_len = (uint16_t)(HEAD + len), .nla_type = type };

	add(q, &head, sizeof(head));
	add(q, bytes, len);
}

size_t question_nest(struct question *q, uint16_t type)
{
	size_t nest = q->len;

	question_put(q, (uint16_t)(type | NLA_F_NESTED), NULL, 0);
	return nest;
}

void question_end_nest(struct question *q, size_t nest)
{
	uint16_t len = (uint16_t)(q->len - nest);

	if (!q->spoilt)
		memcpy(q->bytes + nest, &len, sizeof(len));
}

int netlink_ask(int protocol, struct question *q, void *ret_answer)
{
	CLEANUP(closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	uint32_t size = (uint32_t)q->len;
	ssize_t len;
	int r;

	if (fd < 0)
		return -errno;
	if (q->spoilt)
		return -E2BIG;
	memcpy(q->bytes, &size, sizeof(size));
	if (sendto(fd, q->bytes, q->len, 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return -errno;
	r = poll(&ready, 1, NETLINK_ANSWER_MS);
	if (r <= 0)
		return r == 0 ? -ETIMEDOUT : -errno;
	len = recv(fd, ret_answer, NETLINK_ANSWER_MAX, MSG_DONTWAIT);
	return len < 0 ? -errno : (int)len;
}
