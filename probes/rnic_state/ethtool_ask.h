/* SPDX-License-Identifier: Apache-2.0 */
/* The ethtool ioctl (include/uapi/linux/ethtool.h). */
#pragma once

/* One request about a network device; `data` begins with its command. A negative errno. */
int ethtool_ask(const char *netdev, void *data);
