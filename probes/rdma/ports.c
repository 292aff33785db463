/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/ports.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"

enum {
	HEADERS_ETHERNET = 8 + 14 + 40 + 8 + 12 + 4 + 4 + 12,
	HEADERS_INFINIBAND = 8 + 40 + 12 + 4 + 2,
	DECIMAL = 10,
	NAMED_MAX = 3, /* ports named in a message */
};

/* Two rates within this part are the same, such as 400 and 399.99. */
#define RATE_SLACK 0.01
#define BITS_PER_BYTE 8
#define GIGA 1e9

/* "^=mlx5_0:1,mlx5_1": its flags, and where the names start. */
struct list {
	bool without, whole;
	const char *names;
};

static struct list read_list(const char *text)
{
	struct list l = { .without = text[0] == '^' };

	text += l.without;
	l.whole = text[0] == '=';
	l.names = text + l.whole;
	return l;
}

/* Does "mlx5_0", or "mlx5_0:1" for a single port, match? */
static bool is_named(const char *name, size_t length, bool whole, const struct rdma_port *port)
{
	const char *colon = memchr(name, ':', length);
	const size_t device = colon ? (size_t)(colon - name) : length;

	if (strncmp(name, port->device, device) != 0 || (whole && port->device[device]))
		return false;
	return !colon || strtoul(colon + 1, NULL, DECIMAL) == port->number;
}

bool ports_listed(const char *list, const struct rdma_port *port)
{
	const struct list l = read_list(list);
	const char *at = l.names;

	while (*at) {
		const size_t length = strcspn(at, ",");

		if (length > 0 && is_named(at, length, l.whole, port))
			return !l.without;
		at += length + (at[length] == ',');
	}
	return l.without;
}

static int check_name(const char *name, size_t length, struct err *err)
{
	const char *colon = memchr(name, ':', length);
	const size_t device = colon ? (size_t)(colon - name) : length;
	const size_t digits = colon ? length - device - 1 : 1;

	if (device == 0 || device >= RDMA_NAME_SIZE || digits == 0 || digits > 3 ||
	    (colon && strspn(colon + 1, "0123456789") < digits) || memchr(name, ' ', length) ||
	    memchr(name, '=', length) || memchr(name, '^', length))
		return err_set(
			err, EINVAL,
			"'%.*s' is not a device such as mlx5_0 or mlx5_0:1; expected a list as "
			"in NCCL_IB_HCA: [^][=]NAME[:PORT],...",
			(int)MIN(length, (size_t)40), name);
	return 0;
}

int ports_list_check(const char *list, struct err *err)
{
	const struct list l = read_list(list);
	const char *at = l.names;
	int r = 0;

	if (strlen(list) > PORTS_LIST_MAX)
		return err_set(err, EINVAL, "a list of devices longer than %d bytes",
			       PORTS_LIST_MAX);
	do {
		const size_t length = strcspn(at, ",");

		r = check_name(at, length, err);
		at += length + (at[length] == ',');
	} while (r == 0 && *at);
	return r;
}

static bool decides(const struct rdma_port *port)
{
	return port->active && !port->unknown;
}

static bool is_same_rate(const struct rdma_port *a, const struct rdma_port *b)
{
	return fabs(a->bytes_per_s - b->bytes_per_s) <= RATE_SLACK * b->bytes_per_s;
}

/* Total bandwidth of all ports of its model and rate. */
static double bandwidth_of_kind(const struct rdma_port *ports, size_t n, const struct rdma_port *one)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (decides(&ports[i]) && streq(ports[i].model, one->model) &&
		    is_same_rate(&ports[i], one))
			sum += ports[i].bytes_per_s;
	}
	return sum;
}

/* The highest bandwidth of any kind; 0 if no rate is known. */
static double most_bandwidth(const struct rdma_port *ports, size_t n)
{
	double most = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (decides(&ports[i]))
			most = MAX(most, bandwidth_of_kind(ports, n, &ports[i]));
	}
	return most;
}

static bool is_model_of_jobs(const struct rdma_port *ports, size_t n, const struct rdma_port *one,
			     double most)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (decides(&ports[i]) && streq(ports[i].model, one->model) &&
		    bandwidth_of_kind(ports, n, &ports[i]) >= most)
			return true;
	}
	return false;
}

static void name_left(const struct rdma_port *port, size_t n_left, char words[PORTS_WORDS_SIZE])
{
	const size_t used = strlen(words);

	if (n_left <= NAMED_MAX)
		(void)snprintf(words + used, PORTS_WORDS_SIZE - used, "%s%s:%u (%g Gb/s)",
			       n_left > 1 ? ", " : "", port->device, port->number,
			       port->bytes_per_s * BITS_PER_BYTE / GIGA);
}

static void say_left(size_t n_left, const char *why, char words[PORTS_WORDS_SIZE])
{
	const size_t used = strlen(words);

	if (n_left == 0)
		return;
	if (n_left > NAMED_MAX)
		(void)snprintf(words + used, PORTS_WORDS_SIZE - used, " and %zu more",
			       n_left - NAMED_MAX);
	(void)snprintf(words + strlen(words), PORTS_WORDS_SIZE - strlen(words), " left out: %s",
		       why);
}

/* Drop the ports without reliable connections. Keeps the order; returns the number kept. */
static size_t leave_unconnected(struct rdma_port *ports, size_t n, char ret_words[PORTS_WORDS_SIZE])
{
	size_t kept = 0, n_left = 0, i;

	ret_words[0] = '\0';
	for (i = 0; i < n; i++) {
		if (ports[i].unconnected)
			name_left(&ports[i], ++n_left, ret_words);
		else
			ports[kept++] = ports[i];
	}
	say_left(n_left,
		 "no reliable connections (like EFA, usNIC, iWARP), which "
		 "are what is measured here",
		 ret_words);
	return kept;
}

int ports_list(struct rdma_engine *engine, struct rdma_port *ret_ports,
	       char ret_words[static PORTS_WORDS_SIZE], struct err *err)
{
	int n = engine->ops->list(engine, ret_ports, RDMA_PORTS_MAX, err);

	if (n == -ENOSYS)
		return err_set(err, ENODEV, "this kernel has no RDMA support");
	if (n < 0)
		return n;
	if (n == 0)
		return err_set(err, ENODEV, "no RDMA device on this host");
	n = (int)leave_unconnected(ret_ports, (size_t)n, ret_words);
	return n > 0 ? n : err_set(err, ENODEV, "%s", ret_words);
}

size_t ports_choose(struct rdma_port *ports, size_t n, const char *list,
		    char ret_words[static PORTS_WORDS_SIZE])
{
	const double most = most_bandwidth(ports, n);
	bool stays[RDMA_PORTS_MAX];
	size_t kept = 0, n_left = 0, i;

	ret_words[0] = '\0';
	for (i = 0; i < n; i++) {
		if (list)
			stays[i] = ports_listed(list, &ports[i]);
		else if (decides(&ports[i]))
			stays[i] = bandwidth_of_kind(ports, n, &ports[i]) >= most;
		else
			stays[i] = most <= 0 || is_model_of_jobs(ports, n, &ports[i], most);
	}
	for (i = 0; i < n; i++) {
		if (stays[i])
			ports[kept++] = ports[i];
		else
			name_left(&ports[i], ++n_left, ret_words);
	}
	say_left(n_left,
		 list ? "not in the list of devices"
		      : "its model or rate differs from the others; --devices would include it",
		 ret_words);
	return kept;
}

double port_payload(const struct rdma_port *port, unsigned mtu)
{
	const double headers = port->layer == RDMA_ETHERNET ? HEADERS_ETHERNET : HEADERS_INFINIBAND;

	return mtu > 0 ? port->bytes_per_s * mtu / (mtu + headers) : 0;
}

void port_params(const struct rdma_port *port, json_t *params)
{
	if (port->members > 1)
		(void)json_object_set_new(params, "bond", json_integer(port->members));
}

unsigned port_queues(const struct rdma_port *port)
{
	const bool is_fast = port->bytes_per_s >= PORT_FAST_BYTES_PER_S;
	const bool is_bond = port->members > 1;

	return is_fast && port->pci[0] && !is_bond ? PORT_QUEUES_FAST : PORT_QUEUES_SLOW;
}
