/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/rnic_ports.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/sysfs.h"

#define CLASS_DIR "/sys/class/infiniband"

enum { NDEVS_TRIED = 4 };

bool port_listed(const char *list, const char *name)
{
	size_t len = strlen(name);
	const char *at = list;

	while (at && *at) {
		size_t n = strcspn(at, ",");

		if (n == len && strncmp(at, name, len) == 0)
			return true;
		at += n + (at[n] == ',');
	}
	return false;
}

double port_rate(const char *text, unsigned *ret_lanes)
{
	const char *lanes = strchr(text, '(');
	char *end = NULL;
	double rate = strtod(text, &end);

	*ret_lanes = 0;
	if (end == text || strncmp(end, " Gb/sec", strlen(" Gb/sec")) != 0 || !(rate > 0))
		return 0;
	if (lanes) {
		unsigned long n = strtoul(lanes + 1, &end, 10);

		*ret_lanes = *end == 'X' && n <= 16 ? (unsigned)n : 0;
	}
	return rate * 1e9;
}

/* Reads a file of the device or port into `to`; "" if it is not readable. */
static void take_line(char *to, size_t size, const char *dir, const char *file)
{
	CLEANUP(freep) char *line = sys_line("%s/%s", dir, file);

	(void)snprintf(to, size, "%s", line ? line : "");
}

/* "4: ACTIVE" without its number. */
static void take_state(char *to, size_t size, const char *dir, const char *file)
{
	CLEANUP(freep) char *line = sys_line("%s/%s", dir, file);
	const char *words = line ? strstr(line, ": ") : NULL;

	(void)snprintf(to, size, "%s", words ? words + 2 : "");
}

static bool there(const char *dir, const char *file)
{
	CLEANUP(freep) char *path = sys_path("%s/%s", dir, file);

	return access(path, F_OK) == 0;
}

bool rnic_is_virtual(const char *device)
{
	CLEANUP(freep) char *device_dir = xasprintf(CLASS_DIR "/%s", device);

	return there(device_dir, "device/physfn") || there(device_dir, "device/sfnum");
}

static bool take_netdev(struct port *port, const char *name)
{
	CLEANUP(freep) char *dir = xasprintf("/sys/class/net/%s", name);

	if (!*name || strchr(name, '/') || strlen(name) >= sizeof(port->netdev) || !there(dir, ""))
		return false;
	(void)snprintf(port->netdev, sizeof(port->netdev), "%.15s", name);
	return true;
}

/* The device of the same PCI function with the number of the port, counted from 0. */
static bool netdev_of_function(struct port *port, const char *device_dir)
{
	CLEANUP(freep) char *dir = xasprintf("%s/device/net", device_dir);
	CLEANUP(strv_freep) char **names = sys_list(dir, "");
	size_t i;

	for (i = 0; names && names[i]; i++) {
		uint64_t number = 0;

		if (sys_u64(&number, "%s/%s/dev_port", dir, names[i]) &&
		    number + 1 == port->number && take_netdev(port, names[i]))
			return true;
	}
	return false;
}

static void find_netdev(struct port *port, const char *device_dir, const char *port_dir)
{
	CLEANUP(freep) char *parent = sys_line("%s/parent", device_dir);
	unsigned i;

	if (netdev_of_function(port, device_dir))
		return;
	for (i = 0; i < NDEVS_TRIED; i++) {
		CLEANUP(freep) char *name = sys_line("%s/gid_attrs/ndevs/%u", port_dir, i);

		if (name && take_netdev(port, name))
			return;
	}
	if (parent)
		(void)take_netdev(port, parent);
}

bool port_netdev(const char *device, unsigned number, char ret[static IF_NAMESIZE])
{
	CLEANUP(freep) char *device_dir = xasprintf(CLASS_DIR "/%s", device);
	CLEANUP(freep) char *dir = xasprintf("%s/ports/%u", device_dir, number);
	struct port port = { .number = number };

	find_netdev(&port, device_dir, dir);
	memcpy(ret, port.netdev, sizeof(port.netdev));
	return port.netdev[0];
}

/* The device directory is a link to that of its PCI function. */
static void read_pci(struct port *port, const char *device_dir)
{
	CLEANUP(freep) char *path = sys_path("%s/device", device_dir);
	char target[PATH_MAX];
	ssize_t len = readlink(path, target, sizeof(target) - 1);
	const char *name;

	if (len <= 0)
		return;
	target[len] = '\0';
	name = strrchr(target, '/');
	name = name ? name + 1 : target;
	if (strlen(name) < sizeof(port->pci) && strchr(name, ':'))
		(void)snprintf(port->pci, sizeof(port->pci), "%.63s",
			       ascii_clean(target + (name - target)));
}

static void read_model(struct port *port, const char *device_dir)
{
	port->software = !there(device_dir, "device");
	take_line(port->model, sizeof(port->model), device_dir, "board_id");
	if (!port->model[0])
		take_line(port->model, sizeof(port->model), device_dir, "hca_type");
	if (!port->model[0])
		(void)snprintf(port->model, sizeof(port->model), "%s",
			       port->software ? "software" : "unknown");
	take_line(port->firmware, sizeof(port->firmware), device_dir, "fw_ver");
}

static void read_state(struct port *port, const char *dir)
{
	take_state(port->state, sizeof(port->state), dir, "state");
	take_state(port->phys_state, sizeof(port->phys_state), dir, "phys_state");
	take_line(port->rate, sizeof(port->rate), dir, "rate");
	port->active = streq(port->state, "ACTIVE");
	port->phys_up = streq(port->phys_state, "LinkUp");
}

void port_refresh(struct port *port)
{
	CLEANUP(freep)
	char *dir = xasprintf(CLASS_DIR "/%s/ports/%u", port->device, port->number);

	read_state(port, dir);
}

static void read_port(const char *device, unsigned number, struct port *port)
{
	CLEANUP(freep) char *device_dir = xasprintf(CLASS_DIR "/%s", device);
	CLEANUP(freep) char *dir = xasprintf("%s/ports/%u", device_dir, number);
	char layer[PORT_TEXT_SIZE];

	*port = (struct port){ .number = number };
	(void)snprintf(port->device, sizeof(port->device), "%s", device);
	(void)snprintf(port->subject, sizeof(port->subject), "%.50s:%u", device, number);
	read_state(port, dir);
	take_line(layer, sizeof(layer), dir, "link_layer");
	port->ethernet = streq(layer, "Ethernet");
	read_model(port, device_dir);
	read_pci(port, device_dir);
	find_netdev(port, device_dir, dir);
}

static void read_device(const char *device, struct ports *ret)
{
	CLEANUP(freep) char *dir = xasprintf(CLASS_DIR "/%s/ports", device);
	CLEANUP(strv_freep) char **names = sys_list(dir, "");
	size_t i;

	for (i = 0; names && names[i] && ret->n < PORTS_MAX; i++) {
		char *end = NULL;
		unsigned long number = strtoul(names[i], &end, 10);

		if (*end == '\0' && number >= 1 && number <= UINT8_MAX)
			read_port(device, (unsigned)number, &ret->all[ret->n++]);
	}
}

void ports_read(const char *exclude, struct ports *ret)
{
	CLEANUP(strv_freep) char **devices = sys_list(CLASS_DIR, "");
	size_t i;

	*ret = (struct ports){ .all = xcalloc(PORTS_MAX, sizeof(struct port)) };
	for (i = 0; devices && devices[i]; i++) {
		if (strlen(devices[i]) < PORT_NAME_SIZE && !port_listed(exclude, devices[i]) &&
		    !rnic_is_virtual(devices[i]))
			read_device(devices[i], ret);
	}
}

void ports_release(struct ports *ports)
{
	free(ports->all);
	*ports = (struct ports){ .all = NULL };
}

bool ports_may_move(void)
{
	CLEANUP(freep) char *shared = sys_line("/sys/module/ib_core/parameters/netns_mode");

	return shared && (*shared == 'N' || *shared == '0');
}
