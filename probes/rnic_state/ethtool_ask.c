/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_state/ethtool_ask.h"

#include <errno.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/sys/file.h"

int ethtool_ask(const char *netdev, void *data)
{
	CLEANUP(closep) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { .ifr_data = data };

	if (fd < 0)
		return -errno;
	(void)snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", netdev);
	return ioctl(fd, SIOCETHTOOL, &request) < 0 ? -errno : 0;
}
