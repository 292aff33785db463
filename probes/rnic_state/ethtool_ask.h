/* SPDX-License-Identifier: Apache-2.0 */
/* The ethtool ioctl (include/uapi/linux/ethtool.h). */
#pragma once

/* Send a request about a network device; `data` starts with the command. 0 or a negative errno. */
int ethtool_ask(const char *netdev, void *data);
