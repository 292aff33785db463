/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel reports about a network device by ioctl and netlink rather than sysfs, as a table
 * of functions, so that tests can replace it. All return 0 or a negative errno; -EOPNOTSUPP if the
 * device does not say.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum {
	NIC_STATS_MAX = 16384, /* per device; an mlx5 with many queues has 5000 */
	NIC_STAT_NAME_SIZE = 32,
	NIC_TEXT_SIZE = 64,
	NIC_MODULE_BYTES = 128,
};

/* The output of `ethtool -S`: names and values, owned. */
struct nic_stats {
	char (*names)[NIC_STAT_NAME_SIZE];
	uint64_t *values;
	size_t n;
};

struct nic_link {
	double speed;	/* current bit/s; 0 if unknown */
	double fastest; /* bit/s of the fastest mode that device and module support; 0 if unknown */
};

struct nic_driver {
	char driver[NIC_TEXT_SIZE], version[NIC_TEXT_SIZE], firmware[NIC_TEXT_SIZE];
};

struct dcb;
struct module_place;

struct nic {
	int (*stats)(void *context, const char *netdev, struct nic_stats *ret);
	int (*link)(void *context, const char *netdev, struct nic_link *ret);
	int (*driver)(void *context, const char *netdev, struct nic_driver *ret);
	int (*dcb)(void *context, const char *netdev, struct dcb *ret);
	/* The FEC mode in use, such as "RS". */
	int (*correction)(void *context, const char *netdev, char ret[static NIC_TEXT_SIZE]);
	/* 128 bytes of the module's EEPROM. */
	int (*module)(void *context, const char *netdev, const struct module_place *place,
		      uint8_t ret[static NIC_MODULE_BYTES]);
	/* Global (link-level) pause frames. */
	int (*pause)(void *context, const char *netdev, bool *ret_rx, bool *ret_tx);
	/*
	 * Read a register of the device at `pci` if no network device can be queried: `data`
	 * selects a part of it and receives the content (fwctl.h).
	 */
	int (*read_register)(void *context, const char *pci, uint16_t id, uint8_t *data,
			     size_t size);
	void *context;
};

extern const struct nic nic_kernel; /* of this host */
extern const struct nic nic_none;   /* for a host made of files: knows nothing */

void nic_stats_release(struct nic_stats *stats);

/*
 * Speed of the fastest of a set of ETHTOOL_LINK_MODE_... bits, in bit/s; 0 if none is known. Pure.
 */
double nic_fastest_mode(const uint32_t *bits, size_t n_words);
