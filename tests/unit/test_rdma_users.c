/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the kernel about RDMA devices and queue pairs, made byte by byte. */
#include <errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "probes/rdma/users.h"
#include "tests/unit/test.h"

enum { ANSWER_MAX = 8192, OWN_PID = 4711, RC = 2, UD = 4, INIT = 1, RTS = 3 };

struct answer {
	char bytes[ANSWER_MAX];
	size_t n;
};

/* Begin something with a length in front, and close it: returns where it began. */
static size_t begin_attribute(struct answer *a, unsigned type)
{
	const struct nlattr head = { .nla_type = (uint16_t)type };

	memcpy(a->bytes + a->n, &head, sizeof(head));
	a->n += sizeof(head);
	return a->n - sizeof(head);
}

static void end_attribute(struct answer *a, size_t begin)
{
	uint16_t length = (uint16_t)(a->n - begin);

	memcpy(a->bytes + begin, &length, sizeof(length));
	a->n = begin + (size_t)NLA_ALIGN(length);
}

static void put(struct answer *a, unsigned type, const void *value, size_t size)
{
	size_t begin = begin_attribute(a, type);

	memcpy(a->bytes + a->n, value, size);
	a->n += size;
	end_attribute(a, begin);
}

static size_t begin_message(struct answer *a, unsigned type)
{
	const struct nlmsghdr head = { .nlmsg_type = (uint16_t)type };

	memcpy(a->bytes + a->n, &head, sizeof(head));
	a->n += sizeof(head);
	return a->n - sizeof(head);
}

static void end_message(struct answer *a, size_t begin)
{
	uint32_t length = (uint32_t)(a->n - begin);

	memcpy(a->bytes + begin, &length, sizeof(length));
}

enum { KERNEL = 0, UNSEEN = 1 << 30 }; /* instead of a process */

static void add_queue(struct answer *a, unsigned type, unsigned state, uint32_t pid)
{
	const uint8_t type_byte = (uint8_t)type, state_byte = (uint8_t)state;
	size_t entry = begin_attribute(a, RDMA_NLDEV_ATTR_RES_QP_ENTRY | NLA_F_NESTED);

	put(a, RDMA_NLDEV_ATTR_RES_TYPE, &type_byte, 1);
	put(a, RDMA_NLDEV_ATTR_RES_STATE, &state_byte, 1);
	if (pid == KERNEL)
		put(a, RDMA_NLDEV_ATTR_RES_KERN_NAME, "nvme", 5);
	else if (pid != UNSEEN)
		put(a, RDMA_NLDEV_ATTR_RES_PID, &pid, sizeof(pid));
	end_attribute(a, entry);
}

static void only_connected_queues_of_others_count(void)
{
	struct answer a = { .n = 0 };
	struct rdma_users users = { 0 };
	size_t message = begin_message(&a, 1), table = begin_attribute(&a, RDMA_NLDEV_ATTR_RES_QP);

	add_queue(&a, RC, RTS, KERNEL); /* storage of the kernel */
	add_queue(&a, RC, RTS, OWN_PID);
	add_queue(&a, UD, RTS, 100); /* a service of the subnet */
	add_queue(&a, RC, INIT, 101);
	end_attribute(&a, table);
	end_message(&a, message);
	CHECK_EQ(users_parse_queues(a.bytes, a.n, OWN_PID, &users), 0);
	CHECK_EQ(users.queues, 0);

	message = begin_message(&a, 1);
	table = begin_attribute(&a, RDMA_NLDEV_ATTR_RES_QP);
	add_queue(&a, RC, RTS, 102);
	add_queue(&a, RC, RTS, 102);
	end_attribute(&a, table);
	end_message(&a, message);
	end_message(&a, begin_message(&a, NLMSG_DONE));
	CHECK_EQ(users_parse_queues(a.bytes, a.n, OWN_PID, &users), 1);
	CHECK_EQ(users.queues, 2);
	CHECK_EQ(users.pid, 102);
}

/* The kernel names no process that is not of the reader's PID namespace. */
static void a_process_that_cannot_be_seen_is_a_user_too(void)
{
	struct answer a = { .n = 0 };
	struct rdma_users users = { 0 };
	size_t message = begin_message(&a, 1), table = begin_attribute(&a, RDMA_NLDEV_ATTR_RES_QP);

	add_queue(&a, RC, RTS, UNSEEN);
	add_queue(&a, RC, RTS, OWN_PID);
	end_attribute(&a, table);
	end_message(&a, message);
	CHECK_EQ(users_parse_queues(a.bytes, a.n, OWN_PID, &users), 0);
	CHECK_EQ(users.queues, 1);
	CHECK_EQ(users.pid, 0);

	message = begin_message(&a, 1);
	table = begin_attribute(&a, RDMA_NLDEV_ATTR_RES_QP);
	add_queue(&a, RC, RTS, 102);
	add_queue(&a, RC, RTS, UNSEEN);
	end_attribute(&a, table);
	end_message(&a, message);
	users = (struct rdma_users){ 0 };
	CHECK_EQ(users_parse_queues(a.bytes, a.n, OWN_PID, &users), 0);
	CHECK_EQ(users.queues, 3);
	CHECK_EQ(users.pid, 102);
}

static void a_device_is_found_by_its_whole_name(void)
{
	static const char *const names[] = { "mlx5_1", "mlx5_10", "mlx5" };
	struct answer a = { .n = 0 };
	uint32_t index = 99, i;
	bool found = false;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		size_t message = begin_message(&a, 1);

		put(&a, RDMA_NLDEV_ATTR_DEV_INDEX, &i, sizeof(i));
		put(&a, RDMA_NLDEV_ATTR_DEV_NAME, names[i], strlen(names[i]) + 1);
		end_message(&a, message);
	}
	CHECK_EQ(users_parse_devices(a.bytes, a.n, "mlx5_10", &index, &found), 0);
	CHECK(found);
	CHECK_EQ(index, 1);
	found = false;
	CHECK_EQ(users_parse_devices(a.bytes, a.n, "mlx5_2", &index, &found), 0);
	CHECK(!found);
}

static void what_the_kernel_refuses_is_an_error(void)
{
	struct answer a = { .n = 0 };
	struct rdma_users users = { 0 };
	int code = -EOPNOTSUPP;
	size_t message = begin_message(&a, NLMSG_ERROR);

	memcpy(a.bytes + a.n, &code, sizeof(code));
	a.n += sizeof(code);
	end_message(&a, message);
	CHECK_EQ(users_parse_queues(a.bytes, a.n, OWN_PID, &users), -EOPNOTSUPP);
}

/* Every prefix, and every length that lies: nothing is read beyond the end (the sanitizers watch). */
static void broken_answers_are_refused(void)
{
	struct answer a = { .n = 0 };
	size_t message = begin_message(&a, 1), table = begin_attribute(&a, RDMA_NLDEV_ATTR_RES_QP),
	       i;

	add_queue(&a, RC, RTS, 102);
	end_attribute(&a, table);
	end_message(&a, message);
	for (i = 1; i < a.n; i++) {
		struct rdma_users users = { 0 };

		CHECK_EQ(users_parse_queues(a.bytes, i, OWN_PID, &users), -EBADMSG);
		CHECK_EQ(users.queues, 0);
	}
	for (i = 0; i < a.n; i++) {
		struct answer broken = a;
		struct rdma_users users = { 0 };

		broken.bytes[i] = (char)0xff;
		(void)users_parse_queues(broken.bytes, broken.n, OWN_PID, &users);
		CHECK(users.queues <= 1);
	}
}

static const struct test tests[] = {
	TEST(only_connected_queues_of_others_count),
	TEST(a_process_that_cannot_be_seen_is_a_user_too),
	TEST(a_device_is_found_by_its_whole_name),
	TEST(what_the_kernel_refuses_is_an_error),
	TEST(broken_answers_are_refused),
};

TEST_SUITE(tests);
