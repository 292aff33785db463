/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_state/module_ask.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/socket.h>

#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "probes/rnic_state/ethtool_ask.h"
#include "probes/rnic_state/netlink.h"

/* --- netlink ------------------------------------------------------------------------------ */

/* The attribute wanted from a family's answer, of `least` to `most` bytes. */
struct wanted {
	uint16_t family;
	unsigned attribute;
	size_t least, most;
};

static int take_attribute(const struct wanted *wanted, const void *bytes, size_t len, void *ret)
{
	const uint16_t types[] = { wanted->family, 0 };
	struct attributes all, value;
	unsigned type;
	int r = answer_open(bytes, len, types, GENL_HDRLEN, &all);

	if (r < 0)
		return r;
	while (attributes_next(&all, &type, &value)) {
		if (type != wanted->attribute || value.left < wanted->least ||
		    value.left > wanted->most)
			continue;
		memcpy(ret, value.at, wanted->least);
		return 0;
	}
	return -EPROTO;
}

int family_answer(const void *bytes, size_t len, uint16_t *ret_family)
{
	const struct wanted wanted = { GENL_ID_CTRL, CTRL_ATTR_FAMILY_ID, sizeof(*ret_family),
				       SIZE_MAX };

	return take_attribute(&wanted, bytes, len, ret_family);
}

int module_answer(const void *bytes, size_t len, uint16_t family,
		  uint8_t ret[static MODULE_PART_SIZE])
{
	const struct wanted wanted = { family, ETHTOOL_A_MODULE_EEPROM_DATA, MODULE_PART_SIZE,
				       MODULE_PART_SIZE };

	return take_attribute(&wanted, bytes, len, ret);
}

static int ask_family(void *answer, uint16_t *ret_family)
{
	const struct genlmsghdr header = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 };
	struct question q;
	int r;

	question_begin(&q, GENL_ID_CTRL, 0, &header, sizeof(header));
	question_put(&q, CTRL_ATTR_FAMILY_NAME, ETHTOOL_GENL_NAME, sizeof(ETHTOOL_GENL_NAME));
	r = netlink_ask(NETLINK_GENERIC, &q, answer);
	return r < 0 ? r : family_answer(answer, (size_t)r, ret_family);
}

static int ask_netlink(const char *netdev, const struct module_place *place,
		       uint8_t ret[static MODULE_PART_SIZE])
{
	const struct genlmsghdr header = { .cmd = ETHTOOL_MSG_MODULE_EEPROM_GET,
					   .version = ETHTOOL_GENL_VERSION };
	const uint32_t offset = place->offset, length = MODULE_PART_SIZE;
	const uint8_t bank = 0;
	CLEANUP(freep) void *answer = xcalloc(1, NETLINK_ANSWER_MAX);
	uint16_t family = 0;
	struct question q;
	size_t nest;
	int r = ask_family(answer, &family);

	if (r < 0)
		return r;
	question_begin(&q, family, 0, &header, sizeof(header));
	nest = question_nest(&q, ETHTOOL_A_MODULE_EEPROM_HEADER);
	question_put(&q, ETHTOOL_A_HEADER_DEV_NAME, netdev, strnlen(netdev, IF_NAMESIZE - 1) + 1);
	question_end_nest(&q, nest);
	question_put(&q, ETHTOOL_A_MODULE_EEPROM_OFFSET, &offset, sizeof(offset));
	question_put(&q, ETHTOOL_A_MODULE_EEPROM_LENGTH, &length, sizeof(length));
	question_put(&q, ETHTOOL_A_MODULE_EEPROM_PAGE, &place->page, sizeof(place->page));
	question_put(&q, ETHTOOL_A_MODULE_EEPROM_BANK, &bank, sizeof(bank));
	question_put(&q, ETHTOOL_A_MODULE_EEPROM_I2C_ADDRESS, &place->address,
		     sizeof(place->address));
	r = netlink_ask(NETLINK_GENERIC, &q, answer);
	return r < 0 ? r : module_answer(answer, (size_t)r, family, ret);
}

/* --- ioctl --------------------------------------------------------------------------------- */

int module_flat_offset(uint32_t type, const struct module_place *place)
{
	switch (type) {
	case ETH_MODULE_SFF_8079:
	case ETH_MODULE_SFF_8472:
		/* A0h, then A2h. */
		if (place->page != 0 || (type == ETH_MODULE_SFF_8079 && place->address != 0x50))
			return -1;
		return (place->address == 0x51 ? 2 * MODULE_PART_SIZE : 0) + place->offset;
	case ETH_MODULE_SFF_8436:
	case ETH_MODULE_SFF_8636:
		/* The lower part, then the upper part of each page. */
		if (place->address != 0x50)
			return -1;
		return place->offset + place->page * MODULE_PART_SIZE;
	default:
		return -1;
	}
}

static int ask_flat(const char *netdev, const struct module_place *place,
		    uint8_t ret[static MODULE_PART_SIZE])
{
	struct ethtool_modinfo info = { .cmd = ETHTOOL_GMODULEINFO };
	CLEANUP(freep)
	struct ethtool_eeprom *request = xcalloc(1, sizeof(*request) + MODULE_PART_SIZE);
	int r = ethtool_ask(netdev, &info), offset;

	if (r < 0)
		return r;
	offset = module_flat_offset(info.type, place);
	if (offset < 0 || (uint32_t)offset + MODULE_PART_SIZE > info.eeprom_len)
		return -EOPNOTSUPP;
	request->cmd = ETHTOOL_GMODULEEEPROM;
	request->offset = (uint32_t)offset;
	request->len = MODULE_PART_SIZE;
	r = ethtool_ask(netdev, request);
	if (r < 0)
		return r;
	if (request->len != MODULE_PART_SIZE)
		return -EPROTO;
	memcpy(ret, request->data, MODULE_PART_SIZE);
	return 0;
}

int module_ask(void *context UNUSED, const char *netdev, const struct module_place *place,
	       uint8_t ret[static MODULE_PART_SIZE])
{
	int r = ask_netlink(netdev, place, ret);

	/* Kernels before 5.13 only have the ioctl; later ones handle old drivers here too. */
	return r == -EOPNOTSUPP || r == -ENOENT || r == -EPROTO ? ask_flat(netdev, place, ret) : r;
}
