/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ports of a host the jobs use, and the payload rate of a port. Pure, except ports_list().
 *
 * A host may have other ports, for storage or a front end or of a DPU. They are RDMA devices too,
 * but on separate networks, so their pairs are not expected to connect.
 */
#pragma once

#include <jansson.h>

#include "probes/rdma/rdma.h"

enum { PORTS_LIST_MAX = 1024 /* bytes */, PORTS_WORDS_SIZE = 320 };

/* Default queue pairs of a port: at PORT_FAST_BYTES_PER_S or more, and below. */
enum { PORT_QUEUES_FAST = 4, PORT_QUEUES_SLOW = 1 };
#define PORT_FAST_BYTES_PER_S 25e9

/*
 * Does a list of devices match the port? The syntax is that of NCCL_IB_HCA (NCCL user guide):
 * device name prefixes separated by commas, with ":PORT" for one port only; a leading "=" asks for
 * exact names, "^" excludes the names, "^=" does both.
 */
bool ports_listed(const char *list, const struct rdma_port *port);

/* Returns -EINVAL with the reason if the list is malformed. */
int ports_list_check(const char *list, struct err *err);

/*
 * List the ports of the engine, at most RDMA_PORTS_MAX, leaving out devices without reliable
 * connections, which cannot be measured. Returns their number; `ret_words` names those left out, or
 * is "". -ENODEV if there are none, otherwise as ops->list().
 */
int ports_list(struct rdma_engine *engine, struct rdma_port *ret_ports,
	       char ret_words[static PORTS_WORDS_SIZE], struct err *err);

/*
 * Keep the ports that `list` matches, in order, and return their number. Without a list (NULL),
 * keep those of the model and rate that make up most of the host's bandwidth: a single port of
 * another kind, or a few slower ones, are not used by jobs. All software devices count as one
 * model. Ports that are down or cannot be queried do not vote, and stay if their model does.
 * `ret_words` names the ports left out and why, or is "".
 */
size_t ports_choose(struct rdma_port *ports, size_t n, const char *list,
		    char ret_words[static PORTS_WORDS_SIZE]);

/*
 * Payload bytes per second of a port with packets of `mtu` bytes: its rate minus headers; 0 if the
 * rate is unknown. RoCE v2 (Annex A17, over IPv6; 0.5 to 2 % more over IPv4): 8 bytes of preamble,
 * 14 Ethernet, 40 IPv6, 8 UDP, 12 BTH, 4 ICRC, 4 FCS, 12 gap. InfiniBand (IBTA 5.2): 8 LRH, 40 GRH,
 * 12 BTH, 4 ICRC, 2 VCRC.
 */
double port_payload(const struct rdma_port *port, unsigned mtu);

/* Add what must be equal for ports to be comparable to `params`: "bond", the number of members. */
void port_params(const struct rdma_port *port, json_t *params);

/*
 * Default number of queue pairs: one, but 4 from 200 Gb/s on. An RNIC's packet rate per queue pair
 * is limited: to 200 to 300 Gb/s on 400 Gb/s RNICs with 1024-byte packets, and with 4096-byte
 * packets on 800 Gb/s ones. One queue pair would then measure that limit and not the link. Always
 * one for software devices, where the cores do all the work, and for bonds, where several queue
 * pairs would land on different members each time and together exceed the expected rate of one
 * member.
 */
unsigned port_queues(const struct rdma_port *port);
