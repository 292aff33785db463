/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_state/nic.h"

#include <errno.h>
#include <stdlib.h>

void nic_stats_release(struct nic_stats *stats)
{
	free(stats->names);
	free(stats->values);
	*stats = (struct nic_stats){ .names = NULL };
}

static int no_stats(void *context UNUSED, const char *netdev UNUSED, struct nic_stats *ret UNUSED)
{
	return -EOPNOTSUPP;
}

static int no_link(void *context UNUSED, const char *netdev UNUSED, struct nic_link *ret UNUSED)
{
	return -EOPNOTSUPP;
}

static int no_driver(void *context UNUSED, const char *netdev UNUSED, struct nic_driver *ret UNUSED)
{
	return -EOPNOTSUPP;
}

static int no_dcb(void *context UNUSED, const char *netdev UNUSED, struct dcb *ret UNUSED)
{
	return -EOPNOTSUPP;
}

static int no_correction(void *context UNUSED, const char *netdev UNUSED,
			 char ret[static NIC_TEXT_SIZE] UNUSED)
{
	return -EOPNOTSUPP;
}

static int no_module(void *context UNUSED, const char *netdev UNUSED,
		     const struct module_place *place UNUSED,
		     uint8_t ret[static NIC_MODULE_BYTES] UNUSED)
{
	return -EOPNOTSUPP;
}

static int no_pause(void *context UNUSED, const char *netdev UNUSED, bool *ret_rx UNUSED,
		    bool *ret_tx UNUSED)
{
	return -EOPNOTSUPP;
}

static int no_register(void *context UNUSED, const char *pci UNUSED, uint16_t id UNUSED,
		       uint8_t *data UNUSED, size_t size UNUSED)
{
	return -EOPNOTSUPP;
}

const struct nic nic_none = {
	.stats = no_stats,
	.link = no_link,
	.driver = no_driver,
	.dcb = no_dcb,
	.correction = no_correction,
	.module = no_module,
	.pause = no_pause,
	.read_register = no_register,
};

/* Bits of enum ethtool_link_mode_bit_indices (include/uapi/linux/ethtool.h) by speed in Gb/s. */
static const struct mode {
	unsigned first, last;
	double gbps;
} modes[] = {
	{ 0, 1, 0.01 },	   { 2, 3, 0.1 },      { 4, 5, 1 },	  { 12, 12, 10 },
	{ 15, 15, 2.5 },   { 17, 17, 1 },      { 18, 20, 10 },	  { 21, 22, 20 },
	{ 23, 26, 40 },	   { 27, 30, 56 },     { 31, 33, 25 },	  { 34, 35, 50 },
	{ 36, 39, 100 },   { 40, 40, 50 },     { 41, 41, 1 },	  { 42, 46, 10 },
	{ 47, 47, 2.5 },   { 48, 48, 5 },      { 52, 56, 50 },	  { 57, 61, 100 },
	{ 62, 66, 200 },   { 67, 67, 0.1 },    { 68, 68, 1 },	  { 69, 73, 400 },
	{ 75, 79, 100 },   { 80, 84, 200 },    { 85, 89, 400 },	  { 90, 91, 0.1 },
	{ 93, 98, 800 },   { 99, 102, 0.01 },  { 103, 108, 200 }, { 109, 114, 400 },
	{ 115, 120, 800 }, { 121, 124, 1600 },
};

double nic_fastest_mode(const uint32_t *bits, size_t n_words)
{
	double fastest = 0;
	unsigned bit;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		for (bit = modes[i].first; bit <= modes[i].last && bit / 32 < n_words; bit++) {
			if (bits[bit / 32] >> (bit % 32) & 1)
				fastest = MAX(fastest, modes[i].gbps);
		}
	}
	return fastest * 1e9;
}
