/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/link_message.h"

#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

/* Alignment of everything (NLMSG_ALIGNTO, RTA_ALIGNTO). */
enum { ALIGN = 4 };

static size_t aligned(size_t n)
{
	return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static void take_attribute(unsigned type, const char *data, size_t len, struct link_message *m)
{
	const size_t n = MIN(len, sizeof(m->name) - 1);
	uint32_t count;

	if (type == IFLA_IFNAME) {
		memcpy(m->name, data, n);
		m->name[n] = '\0';
	}
	if (type == IFLA_CARRIER_DOWN_COUNT && len >= sizeof(count)) {
		memcpy(&count, data, sizeof(count));
		m->counted = true;
		m->downs = count;
	}
}

static void take_attributes(const char *bytes, size_t len, struct link_message *m)
{
	struct rtattr a;

	while (len >= sizeof(a)) {
		memcpy(&a, bytes, sizeof(a));
		if (a.rta_len < sizeof(a) || a.rta_len > len)
			return;
		take_attribute(a.rta_type, bytes + sizeof(a), a.rta_len - sizeof(a), m);
		bytes += MIN(aligned(a.rta_len), len);
		len -= MIN(aligned(a.rta_len), len);
	}
}

static bool take_link(const struct nlmsghdr *header, const char *bytes, struct link_message *ret)
{
	const bool gone = header->nlmsg_type == RTM_DELLINK;
	struct link_message m = { .kind = gone ? LINK_MESSAGE_GONE : LINK_MESSAGE_NEW };
	const size_t begin = sizeof(*header) + sizeof(struct ifinfomsg);
	struct ifinfomsg info;

	if (header->nlmsg_len < begin)
		return false;
	memcpy(&info, bytes + sizeof(*header), sizeof(info));
	/* Bridges report their ports in the same messages, with their own family. */
	if (info.ifi_family != AF_UNSPEC || info.ifi_index <= 0)
		return false;
	m.index = info.ifi_index;
	m.wanted = info.ifi_flags & IFF_UP;
	m.carrier = info.ifi_flags & IFF_LOWER_UP;
	take_attributes(bytes + begin, header->nlmsg_len - begin, &m);
	if (!m.name[0])
		return false;
	*ret = m;
	return true;
}

bool link_message_next(const char **bytes, size_t *len, struct link_message *ret)
{
	struct nlmsghdr header;
	bool found = false;

	while (!found && *len >= sizeof(header)) {
		memcpy(&header, *bytes, sizeof(header));
		if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > *len)
			break;
		if (header.nlmsg_type == RTM_NEWLINK || header.nlmsg_type == RTM_DELLINK)
			found = take_link(&header, *bytes, ret);
		*bytes += MIN(aligned(header.nlmsg_len), *len);
		*len -= MIN(aligned(header.nlmsg_len), *len);
	}
	return found;
}

size_t link_message_request(void *ret)
{
	const struct {
		struct nlmsghdr header;
		struct ifinfomsg info;
	} request = {
		.header = { .nlmsg_len = sizeof(request),
			    .nlmsg_type = RTM_GETLINK,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
	};

	_Static_assert(sizeof(request) <= LINK_REQUEST_SIZE, "the request has room");
	memcpy(ret, &request, sizeof(request));
	return sizeof(request);
}

bool uevent_is_rdma(const char *bytes, size_t len)
{
	static const char wanted[] = "SUBSYSTEM=infiniband";
	size_t at = 0;

	while (at < len) {
		const size_t n = strnlen(bytes + at, len - at);

		if (n == sizeof(wanted) - 1 && memcmp(bytes + at, wanted, n) == 0)
			return true;
		at += n + 1;
	}
	return false;
}
