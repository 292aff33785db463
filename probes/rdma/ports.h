/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ports of a host the jobs use, and what one of them lets through. Pure but for ports_list().
 *
 * A host has others besides: for storage, for a front end, of a DPU. They are RDMA devices too,
 * on networks of their own, and no pair of theirs is to be expected.
 */
#pragma once

#include <jansson.h>

#include "probes/rdma/rdma.h"

enum { PORTS_LIST_MAX = 1024 /* bytes */, PORTS_WORDS_SIZE = 320 };

/* Of a port of PORT_FAST_BYTES_PER_S or more, and of others. */
enum { PORT_QUEUES_FAST = 4, PORT_QUEUES_SLOW = 1 };
#define PORT_FAST_BYTES_PER_S 25e9

/*
 * Does a list of devices name the port? As NCCL's NCCL_IB_HCA: names separated by commas, each the
 * beginning of a device's, with ":PORT" where one port of several is meant; after "=" whole names;
 * after "^" all but those; "^=" both. (NCCL user guide, NCCL_IB_HCA.)
 */
bool ports_listed(const char *list, const struct rdma_port *port);

/* Is it such a list? -EINVAL with what is wrong in it. */
int ports_list_check(const char *list, struct err *err);

/*
 * List the ports of the engine, RDMA_PORTS_MAX at most, of devices that have reliable connections,
 * which is what is measured. Returns how many; `ret_words` names the others, or is "". -ENODEV when
 * there are none, else as ops->list().
 */
int ports_list(struct rdma_engine *engine, struct rdma_port *ret_ports,
	       char ret_words[static PORTS_WORDS_SIZE], struct err *err);

/*
 * Keep, in their order, those that `list` names; returns how many stay. Without a list (NULL)
 * those of the model and rate that make up most of the host's bandwidth: a lone port of another
 * kind, or some slower ones, are not the jobs'. Software devices are of one model. Ports that
 * are down or cannot be looked at decide nothing, and stay with their model. `ret_words` names
 * who was left out and why, or is "".
 */
size_t ports_choose(struct rdma_port *ports, size_t n, const char *list,
		    char ret_words[static PORTS_WORDS_SIZE]);

/*
 * Bytes a second of data that a port lets through in packets of `mtu` bytes: its rate less
 * headers. RoCE v2 (its Annex A17, over IPv6; over IPv4 it is 0.5 to 2 % more): 8 bytes of
 * preamble, 14 Ethernet, 40 IPv6, 8 UDP, 12 BTH, 4 ICRC, 4 FCS, 12 gap. InfiniBand (IBTA 5.2):
 * 8 LRH, 40 GRH, 12 BTH, 4 ICRC, 2 VCRC. 0 when its rate is not known.
 */
double port_payload(const struct rdma_port *port, unsigned mtu);

/* Say of a port in `params` what must be equal besides: "bond", how many members it has. */
void port_params(const struct rdma_port *port, json_t *params);

/*
 * How many queue pairs fill the port, when nobody says it: one, from 200 Gb/s on 4. What an RNIC
 * does for one queue pair is bounded in packets a second: with packets of 1024 bytes at 200 to 300
 * Gb/s on RNICs of 400, where the bound and not the link would be measured, and of 4096 bytes on
 * those of 800. A device in software has the cores do it all: one. A bond too: several queue pairs
 * fall on its members otherwise each time, and together carry more than the one that is expected.
 */
unsigned port_queues(const struct rdma_port *port);
