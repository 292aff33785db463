/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/tcp.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static void set(int fd, int level, int name, int value)
{
	(void)setsockopt(fd, level, name, &value, sizeof(value));
}

void tcp_watch_peer(int fd)
{
	set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set(fd, IPPROTO_TCP, TCP_KEEPIDLE, TCP_KEEPALIVE_IDLE_S);
	set(fd, IPPROTO_TCP, TCP_KEEPINTVL, TCP_KEEPALIVE_INTERVAL_S);
	set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, TCP_PEER_TIMEOUT_MS);
}
