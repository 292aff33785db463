/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "agents/assayd/link_message.h"
#include "tests/unit/test.h"

enum { LOWER_UP = 1 << 16, DATAGRAM_MAX = 4096 };

/* Messages one behind the other, as a datagram of rtnetlink has them. */
struct datagram {
	char bytes[DATAGRAM_MAX];
	size_t len;
};

static void put(struct datagram *d, const void *bytes, size_t len)
{
	CHECK(d->len + len + 3 < sizeof(d->bytes));
	memcpy(d->bytes + d->len, bytes, len);
	d->len += (len + 3) & ~(size_t)3;
}

static void put_attribute(struct datagram *d, unsigned type, const void *data, size_t len)
{
	const struct rtattr a = { .rta_type = (unsigned short)type,
				  .rta_len = (unsigned short)(sizeof(a) + len) };

	put(d, &a, sizeof(a));
	put(d, data, len);
}

/* Where the header of the message is, to be given its length at the end. */
static size_t begin(struct datagram *d, unsigned type, int index, unsigned flags, unsigned family)
{
	const size_t at = d->len;
	const struct nlmsghdr header = { .nlmsg_type = (unsigned short)type };
	const struct ifinfomsg info = { .ifi_family = (unsigned char)family,
					.ifi_index = index,
					.ifi_flags = flags };

	put(d, &header, sizeof(header));
	put(d, &info, sizeof(info));
	return at;
}

static void end(struct datagram *d, size_t at)
{
	const uint32_t len = (uint32_t)(d->len - at);

	memcpy(d->bytes + at, &len, sizeof(len));
}

static void put_link(struct datagram *d, unsigned type, const char *name, unsigned flags)
{
	const uint32_t downs = 42;
	const size_t at = begin(d, type, 7, flags, AF_UNSPEC);

	put_attribute(d, IFLA_MTU, &downs, sizeof(downs));
	put_attribute(d, IFLA_IFNAME, name, strlen(name) + 1);
	put_attribute(d, IFLA_CARRIER_DOWN_COUNT, &downs, sizeof(downs));
	end(d, at);
}

static void links_of_a_datagram_come_in_their_order(void)
{
	struct datagram d = { .len = 0 };
	struct link_message m;
	const char *at = d.bytes;
	size_t left;

	put_link(&d, RTM_NEWLINK, "eth2", IFF_UP | LOWER_UP);
	put_link(&d, RTM_NEWADDR, "eth9", 0);
	put_link(&d, RTM_NEWLINK, "longest15bytes_", IFF_UP);
	put_link(&d, RTM_DELLINK, "eth3", 0);
	left = d.len;
	CHECK(link_message_next(&at, &left, &m));
	CHECK_STR(m.name, "eth2");
	CHECK(m.kind == LINK_MESSAGE_NEW && m.wanted && m.carrier && m.counted);
	CHECK_EQ(m.downs, 42);
	CHECK_EQ(m.index, 7);
	CHECK(link_message_next(&at, &left, &m));
	CHECK_STR(m.name, "longest15bytes_");
	CHECK(m.wanted && !m.carrier);
	CHECK(link_message_next(&at, &left, &m));
	CHECK_STR(m.name, "eth3");
	CHECK(m.kind == LINK_MESSAGE_GONE && !m.wanted);
	CHECK(!link_message_next(&at, &left, &m));
	CHECK_EQ(left, 0);
}

/* A bridge tells of its ports under its own family; a device without a name is none. */
static void what_is_no_link_is_passed_over(void)
{
	struct datagram d = { .len = 0 };
	struct link_message m;
	const char *at = d.bytes;
	size_t left, place;

	place = begin(&d, RTM_NEWLINK, 7, IFF_UP, AF_BRIDGE);
	put_attribute(&d, IFLA_IFNAME, "br0", 4);
	end(&d, place);
	end(&d, begin(&d, RTM_NEWLINK, 7, IFF_UP, AF_UNSPEC));
	place = begin(&d, RTM_NEWLINK, 0, IFF_UP, AF_UNSPEC);
	put_attribute(&d, IFLA_IFNAME, "x", 2);
	end(&d, place);
	put_link(&d, RTM_NEWLINK, "eth2", 0);
	left = d.len;
	CHECK(link_message_next(&at, &left, &m));
	CHECK_STR(m.name, "eth2");
}

/* Cut anywhere, or with a length that is not true: nothing beyond the end is read. */
static void broken_messages_are_no_messages(void)
{
	struct datagram d = { .len = 0 };
	struct link_message m;
	size_t cut, i;

	put_link(&d, RTM_NEWLINK, "eth2", 0);
	for (cut = 0; cut < d.len; cut++) {
		const char *at = d.bytes;
		size_t left = cut;

		CHECK(!link_message_next(&at, &left, &m));
	}
	for (i = 0; i < d.len; i++) {
		struct datagram bad = d;
		const char *at = bad.bytes;
		size_t left = bad.len;

		bad.bytes[i] = (char)0xff;
		while (link_message_next(&at, &left, &m))
			CHECK(strnlen(m.name, sizeof(m.name)) < sizeof(m.name));
		CHECK(at >= bad.bytes && at + left <= bad.bytes + bad.len);
	}
}

static void an_event_of_an_rdma_device_is_known(void)
{
	static const struct {
		const char *bytes;
		size_t len;
		bool rdma;
	} rows[] = {
#define ROW(text, rdma) { text, sizeof(text) - 1, rdma }
		ROW("remove@/devices/x/infiniband/mlx5_0\0ACTION=remove\0SUBSYSTEM=infiniband\0",
		    true),
		ROW("add@/x\0SUBSYSTEM=infiniband", true),
		ROW("add@/x\0SUBSYSTEM=infiniband_verbs\0", false),
		ROW("add@/x\0SUBSYSTEM=net\0INTERFACE=eth0\0", false),
		ROW("add@/x\0XSUBSYSTEM=infiniband\0", false),
		ROW("", false),
		ROW("\0\0\0", false),
#undef ROW
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(uevent_is_rdma(rows[i].bytes, rows[i].len), rows[i].rdma);
}

static const struct test tests[] = {
	TEST(links_of_a_datagram_come_in_their_order),
	TEST(what_is_no_link_is_passed_over),
	TEST(broken_messages_are_no_messages),
	TEST(an_event_of_an_rdma_device_is_known),
};

TEST_SUITE(tests);
