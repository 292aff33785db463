/* SPDX-License-Identifier: Apache-2.0 */
/* The ethtool ioctl (include/uapi/linux/ethtool.h) of this host's network devices. */
#include <errno.h>
#include <linux/ethtool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/rnic_ports.h"
#include "probes/rnic_state/dcb.h"
#include "probes/rnic_state/ethtool_ask.h"
#include "probes/rnic_state/fwctl.h"
#include "probes/rnic_state/module_ask.h"
#include "probes/rnic_state/nic.h"

enum { STATS_SLACK = 1024, MODE_WORDS_MAX = 127 };

static int count_stats(const char *netdev, size_t *ret_n)
{
	union { /* with one number after the head */
		struct ethtool_sset_info head;
		uint8_t bytes[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
	} request = {
		.head = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = UINT64_C(1) << ETH_SS_STATS },
	};
	int r = ethtool_ask(netdev, &request);

	if (r < 0)
		return r;
	if (request.head.sset_mask == 0 || request.head.data[0] == 0)
		return -EOPNOTSUPP;
	if (request.head.data[0] > NIC_STATS_MAX)
		return -E2BIG;
	*ret_n = request.head.data[0];
	return 0;
}

/*
 * The kernel writes all counters that exist by then, whatever size was requested, so there must be
 * room if a channel is added meanwhile.
 */
static size_t with_slack(size_t n)
{
	return 2 * n + STATS_SLACK;
}

static int read_names(const char *netdev, size_t n, struct nic_stats *ret)
{
	struct ethtool_gstrings *request =
		xcalloc(1, sizeof(*request) + with_slack(n) * ETH_GSTRING_LEN);
	CLEANUP(freep) void *memory = request;
	size_t i;
	int r;

	request->cmd = ETHTOOL_GSTRINGS;
	request->string_set = ETH_SS_STATS;
	request->len = (uint32_t)n;
	r = ethtool_ask(netdev, request);
	if (r < 0)
		return r;
	if (request->len != n)
		return -EAGAIN;
	ret->names = xcalloc(n, sizeof(*ret->names));
	for (i = 0; i < n; i++)
		(void)snprintf(ret->names[i], sizeof(ret->names[i]), "%.31s",
			       (const char *)request->data + i * ETH_GSTRING_LEN);
	return 0;
}

static int read_values(const char *netdev, size_t n, struct nic_stats *ret)
{
	struct ethtool_stats *request =
		xcalloc(1, sizeof(*request) + with_slack(n) * sizeof(uint64_t));
	CLEANUP(freep) void *memory = request;
	int r;

	request->cmd = ETHTOOL_GSTATS;
	request->n_stats = (uint32_t)n;
	r = ethtool_ask(netdev, request);
	if (r < 0)
		return r;
	if (request->n_stats != n)
		return -EAGAIN;
	ret->values = xcalloc(n, sizeof(*ret->values));
	memcpy(ret->values, request->data, n * sizeof(*ret->values));
	return 0;
}

static int kernel_stats(void *context UNUSED, const char *netdev, struct nic_stats *ret)
{
	CLEANUP(nic_stats_release) struct nic_stats stats = { 0 };
	size_t n = 0;
	int r = count_stats(netdev, &n);

	if (r == 0)
		r = read_names(netdev, n, &stats);
	if (r == 0)
		r = read_values(netdev, n, &stats);
	if (r < 0)
		return r;
	stats.n = n;
	*ret = stats;
	stats = (struct nic_stats){ .names = NULL };
	return 0;
}

static int kernel_link(void *context UNUSED, const char *netdev, struct nic_link *ret)
{
	union { /* with the masks after the head */
		struct ethtool_link_settings head;
		uint8_t bytes[sizeof(struct ethtool_link_settings) +
			      3 * MODE_WORDS_MAX * sizeof(uint32_t)];
	} request = { .head = { .cmd = ETHTOOL_GLINKSETTINGS } };
	int r = ethtool_ask(netdev, &request), words;

	if (r < 0)
		return r;
	/* The first answer has the kernel's number of words, negated. */
	words = -request.head.link_mode_masks_nwords;
	if (words <= 0 || words > MODE_WORDS_MAX)
		return -EPROTO;
	request.head = (struct ethtool_link_settings){ .cmd = ETHTOOL_GLINKSETTINGS };
	request.head.link_mode_masks_nwords = (int8_t)words;
	r = ethtool_ask(netdev, &request);
	if (r < 0)
		return r;
	*ret = (struct nic_link){
		.speed = request.head.speed == (uint32_t)SPEED_UNKNOWN
				 ? 0
				 : (double)request.head.speed * 1e6,
		.fastest = nic_fastest_mode(request.head.link_mode_masks, (size_t)words),
	};
	return 0;
}

static int kernel_driver(void *context UNUSED, const char *netdev, struct nic_driver *ret)
{
	struct ethtool_drvinfo request = { .cmd = ETHTOOL_GDRVINFO };
	int r = ethtool_ask(netdev, &request);

	if (r < 0)
		return r;
	(void)snprintf(ret->driver, sizeof(ret->driver), "%.31s", request.driver);
	(void)snprintf(ret->version, sizeof(ret->version), "%.31s", request.version);
	(void)snprintf(ret->firmware, sizeof(ret->firmware), "%.31s", request.fw_version);
	return 0;
}

static int kernel_dcb(void *context UNUSED, const char *netdev, struct dcb *ret)
{
	return dcb_ask(netdev, ret);
}

static int kernel_correction(void *context UNUSED, const char *netdev,
			     char ret[static NIC_TEXT_SIZE])
{
	static const struct {
		uint32_t bit;
		const char *name;
	} names[] = {
		{ ETHTOOL_FEC_RS, "RS" },
		{ ETHTOOL_FEC_BASER, "BASE-R" },
		{ ETHTOOL_FEC_LLRS, "LLRS" },
		{ ETHTOOL_FEC_OFF, "off" },
	};
	struct ethtool_fecparam request = { .cmd = ETHTOOL_GFECPARAM };
	int r = ethtool_ask(netdev, &request);
	size_t i;

	if (r < 0)
		return r;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (request.active_fec & names[i].bit) {
			(void)snprintf(ret, NIC_TEXT_SIZE, "%s", names[i].name);
			return 0;
		}
	}
	return -EOPNOTSUPP;
}

static int kernel_pause(void *context UNUSED, const char *netdev, bool *ret_rx, bool *ret_tx)
{
	struct ethtool_pauseparam request = { .cmd = ETHTOOL_GPAUSEPARAM };
	int r = ethtool_ask(netdev, &request);

	if (r < 0)
		return r;
	*ret_rx = request.rx_pause;
	*ret_tx = request.tx_pause;
	return 0;
}

const struct nic nic_kernel = {
	.stats = kernel_stats,
	.link = kernel_link,
	.driver = kernel_driver,
	.dcb = kernel_dcb,
	.correction = kernel_correction,
	.module = module_ask,
	.pause = kernel_pause,
	.read_register = fwctl_read_register,
};
