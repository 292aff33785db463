/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "probes/rdma/flow.h"

enum { OPT_CELLS = 0x300, OPT_GID_INDEX, OPT_MTU, OPT_SIZE, OPT_QPS, OPT_DEPTH };
enum { OPT_DEVICES = 0x380, OPT_PKEY_INDEX, OPT_SL, OPT_TCLASS };

static const struct argp_option option_table[] = {
	{ "cells", OPT_CELLS, "LIST", 0,
	  "Measure only these cells, such as mlx5_0:1>numa:0,mlx5_1:1>numa:1 or mlx5_0:1>mlx5_1:1",
	  0 },
	{ "gid-index", OPT_GID_INDEX, "N", 0,
	  "Index of the GID to use on the ports (default: the best one)", 0 },
	{ "mtu", OPT_MTU, "N", 0, "MTU in bytes: 256 to 4096, at most that of the ports", 0 },
	{ "size", OPT_SIZE, "B", 0, "Size of a request in bytes (default 65536)", 0 },
	{ "qps", OPT_QPS, "N", 0, "Queue pairs per direction (default 1; 4 from 200 Gb/s up)", 0 },
	{ "depth", OPT_DEPTH, "N", 0, "Outstanding requests per queue pair (default 128)", 0 },
	{ 0 },
};

static const struct number {
	int key;
	const char *name;
	long min, max;
} numbers[] = {
	{ OPT_GID_INDEX, "--gid-index", 0, RDMA_GID_INDEX_MAX },
	{ OPT_MTU, "--mtu", 256, 4096 },
	{ OPT_SIZE, "--size", 8, RDMA_SIZE_MAX },
	{ OPT_QPS, "--qps", 1, FLOW_QUEUES_MAX },
	{ OPT_DEPTH, "--depth", 1, RDMA_DEPTH_MAX },
};

static long parse_number(const struct number *row, const char *arg, struct argp_state *state)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(arg, &end, 10);
	if (errno || end == arg || *end || value < row->min || value > row->max)
		argp_error(state, "%s: '%.40s' is not a number from %ld to %ld", row->name, arg,
			   row->min, row->max);
	return value;
}

static const struct argp_option service_table[] = {
	{ NULL, 0, NULL, 0,
	  "How the jobs use the fabric (default: as in /etc/assay/rdma.yaml):", 3 },
	{ "devices", OPT_DEVICES, "LIST", 0, "Only these ports, in NCCL_IB_HCA syntax", 3 },
	{ "pkey-index", OPT_PKEY_INDEX, "N", 0,
	  "Index of the P_Key (default: the first with full membership)", 3 },
	{ "sl", OPT_SL, "N", 0, "Service level, 0 to 15 (default 0)", 3 },
	{ "tclass", OPT_TCLASS, "N", 0, "Traffic class, 0 to 255 (default 0)", 3 },
	{ 0 },
};

static const struct number service_numbers[] = {
	{ OPT_PKEY_INDEX, "--pkey-index", 0, RDMA_PKEY_INDEX_MAX },
	{ OPT_SL, "--sl", 0, RDMA_SL_MAX },
	{ OPT_TCLASS, "--tclass", 0, RDMA_TCLASS_MAX },
};

static void set_devices(struct rdma_service *s, const char *arg, struct argp_state *state)
{
	struct err err = ERR_INIT;

	if (ports_list_check(arg, &err) < 0)
		argp_error(state, "--devices: %s", err.msg);
	(void)snprintf(s->devices, sizeof(s->devices), "%s", arg);
}

static error_t parse_service(int key, char *arg, struct argp_state *state)
{
	struct rdma_service *s = state->input;
	int *const where[] = { &s->pkey_index, &s->sl, &s->tclass };
	size_t i;

	if (key == ARGP_KEY_INIT)
		*s = RDMA_SERVICE_INIT;
	else if (key == OPT_DEVICES)
		set_devices(s, arg, state);
	for (i = 0; i < ARRAY_SIZE(service_numbers); i++) {
		if (service_numbers[i].key == key) {
			*where[i] = (int)parse_number(&service_numbers[i], arg, state);
			return 0;
		}
	}
	return key == ARGP_KEY_INIT || key == OPT_DEVICES ? 0 : ARGP_ERR_UNKNOWN;
}

const struct argp rdma_service_argp = { .options = service_table, .parser = parse_service };

static error_t set_number(struct rdma_options *o, int key, const char *arg, struct argp_state *state)
{
	unsigned *const where[] = { NULL, o->mtu, o->size, o->qps, o->depth };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		long value;

		if (numbers[i].key != key)
			continue;
		value = parse_number(&numbers[i], arg, state);
		if (where[i])
			*where[i] = (unsigned)value;
		else
			*o->gid_index = (int)value;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* One entry of a list, not NUL-terminated. */
struct item {
	const char *at;
	size_t length;
};

/* "mlx5_0:1" or "numa:0": a name and a number or address. */
static bool is_end(const char *at, size_t length)
{
	const char *colon = memchr(at, ':', length);

	return colon && colon > at && colon + 1 < at + length && !memchr(at, '>', length) &&
	       !memchr(at, ' ', length);
}

/* Does every entry have the form of a cell? If not, `ret_bad` is the first bad one. */
static bool cells_good(const char *list, struct item *ret_bad)
{
	while (true) {
		const struct item item = { list, strcspn(list, ",") };
		const char *arrow = memchr(item.at, '>', item.length);
		const size_t before = arrow ? (size_t)(arrow - item.at) : 0;

		if (!arrow || !is_end(item.at, before) ||
		    !is_end(arrow + 1, item.length - before - 1)) {
			*ret_bad = item;
			return false;
		}
		if (!item.at[item.length])
			return true;
		list += item.length + 1;
	}
}

static void set_cells(struct rdma_options *o, const char *arg, struct argp_state *state)
{
	struct item bad;

	if (strlen(arg) > CELLS_TEXT_MAX)
		argp_error(state, "--cells: longer than %d bytes", CELLS_TEXT_MAX);
	if (!cells_good(arg, &bad))
		argp_error(state, "--cells: '%.*s' is not a cell such as mlx5_0:1>numa:0",
			   (int)MIN(bad.length, (size_t)40), bad.at);
	*o->cells = arg;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct rdma_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		*o->cells = NULL;
		*o->gid_index = -1;
		*o->mtu = 0;
		*o->size = RDMA_SIZE_DEFAULT;
		*o->qps = 0;
		*o->depth = RDMA_DEPTH_DEFAULT;
		state->child_inputs[0] = o->service;
		return 0;
	case OPT_CELLS:
		set_cells(o, arg, state);
		return 0;
	default:
		return set_number(o, key, arg, state);
	}
}

static const struct argp_child children[] = { { &rdma_service_argp, 0, NULL, 0 }, { 0 } };

const struct argp rdma_options_argp = { .options = option_table,
					.parser = parse_option,
					.children = children };

static struct item next_item(const char **list)
{
	struct item item = { *list, strcspn(*list, ",") };

	*list += item.length + ((*list)[item.length] == ',');
	return item;
}

bool cells_have(const char *list, const char *subject)
{
	while (*list) {
		struct item item = next_item(&list);

		if (item.length == strlen(subject) && strncmp(item.at, subject, item.length) == 0)
			return true;
	}
	return false;
}

bool cells_have_port(const char *list, const char *port)
{
	const size_t length = strlen(port);

	while (*list) {
		struct item item = next_item(&list);
		const char *end = item.at + item.length;

		if (item.length <= length)
			continue;
		if (strncmp(item.at, port, length) == 0 && item.at[length] == '>')
			return true;
		if (strncmp(end - length, port, length) == 0 && end[-(long)length - 1] == '>')
			return true;
	}
	return false;
}
