/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only file that uses hwloc: converts its tree of objects to nodes and links.
 *
 * From a device up, hwloc gives the chain of PCI bridges to the host bridge. The last one is the
 * root port; below it upstream and downstream ports of switches alternate, since a switch has one
 * upstream port with its downstream ports on the bus behind it (PCI Express Base Specification,
 * 1.3.3).
 */
#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"
#include "lib/sys/try_child.h"
#include "lib/topology/topology_build.h"
#include "lib/topology/topology_pci.h"

enum {
	XML_FILE_MAX = 32 * 1024 * 1024,
	XML_LIMIT_S = 20, /* time limit for hwloc to read it */
	CPUINFO_FILE_MAX = 16 * 1024 * 1024,
	CHAIN_MAX = 32, /* bridges above a device; real hosts have up to 7 */
	ID_SIZE = 96,
};

struct reader {
	hwloc_topology_t hwloc;
	int sys_fd; /* /sys, or negative */
	struct topology *t;
};

static void write_address(hwloc_obj_t obj, char ret[static PCI_ADDRESS_SIZE])
{
	const struct hwloc_pcidev_attr_s *pci = &obj->attr->pcidev;

	(void)snprintf(ret, PCI_ADDRESS_SIZE, "%04x:%02x:%02x.%x", (unsigned)pci->domain, pci->bus,
		       pci->dev, pci->func);
}

static void numa_id(hwloc_obj_t numa, char ret[static ID_SIZE])
{
	(void)snprintf(ret, ID_SIZE, "numa:%u", numa->os_index);
}

static void bridge_id(const char *kind, hwloc_obj_t bridge, char ret[static ID_SIZE])
{
	char address[PCI_ADDRESS_SIZE];

	write_address(bridge, address);
	(void)snprintf(ret, ID_SIZE, "%s:%s", kind, address);
}

/* --- devices ----------------------------------------------------------------- */

/* The name of the verbs device ("mlx5_0"), new memory, or NULL. */
static char *verbs_name(const struct reader *reader, hwloc_obj_t dev)
{
	char address[PCI_ADDRESS_SIZE];
	hwloc_obj_t child;

	for (child = dev->io_first_child; child; child = child->next_sibling)
		if (child->type == HWLOC_OBJ_OS_DEVICE &&
		    child->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS)
			return topology_clean(child->name);
	write_address(dev, address);
	return port_verbs_name(reader->sys_fd, address);
}

static char *device_name(hwloc_obj_t dev)
{
	char *name = topology_clean(hwloc_obj_get_info_by_name(dev, "PCIDevice"));

	return name ? name
		    : xasprintf("%04x:%04x", dev->attr->pcidev.vendor_id,
				dev->attr->pcidev.device_id);
}

/* Fills `ret` if the device is of a kind that is kept. */
static bool classify(const struct reader *reader, hwloc_obj_t dev, struct topo_node *ret)
{
	CLEANUP(freep) char *verbs = NULL;
	char address[PCI_ADDRESS_SIZE];

	write_address(dev, address);
	if (topology_pci_is_gpu(dev->attr->pcidev.class_id, dev->attr->pcidev.vendor_id)) {
		*ret = (struct topo_node){ .type = TOPO_GPU, .id = xasprintf("gpu:%s", address) };
	} else {
		verbs = verbs_name(reader, dev);
		if (!verbs && dev->attr->pcidev.class_id != PCI_CLASS_INFINIBAND)
			return false;
		*ret = (struct topo_node){
			.type = TOPO_RNIC,
			.id = xasprintf("rnic:%s", verbs ? verbs : address),
		};
	}
	ret->name = device_name(dev);
	ret->pci = xstrdup(address);
	return true;
}

/* --- links ------------------------------------------------------------------------ */

static struct port read_port(const struct reader *reader, hwloc_obj_t obj)
{
	struct port port = { .gts = 0 };
	char address[PCI_ADDRESS_SIZE];
	size_t i;

	write_address(obj, address);
	for (i = 0; i < PORT_FILES; i++) {
		CLEANUP(freep) char *text = port_read(reader->sys_fd, address, i);
		const char *info = hwloc_obj_get_info_by_name(obj, port_files[i]);

		port_set(&port, i, text ? text : info);
	}
	/* hwloc gives GB/s; for a bridge, of the link above it. */
	if (port.gts <= 0 && port.width == 0)
		port_fit(&port, (double)obj->attr->pcidev.linkspeed * 1e9);
	return port;
}

/* The link from `lower` to the port `upper` above it. */
static struct topo_link pci_link(const struct reader *reader, const char *lower_id,
				 hwloc_obj_t lower, const char *upper_id, hwloc_obj_t upper)
{
	struct topo_link link = topology_new_link(lower_id, upper_id);
	struct port down = read_port(reader, lower), up = down;

	if (upper)
		up = read_port(reader, upper);
	link.gts = down.gts;
	link.width = down.width;
	/* 0 is unknown, and then the link is unknown too. */
	link.max_gts = MIN(down.max_gts, up.max_gts);
	link.max_width = MIN(down.max_width, up.max_width);
	return link;
}

/* The PCI bridges above `dev`, nearest first. */
static size_t bridges_above(hwloc_obj_t dev, hwloc_obj_t chain[static CHAIN_MAX])
{
	hwloc_obj_t at = dev->parent;
	size_t n = 0;

	while (at && at->type == HWLOC_OBJ_BRIDGE && n < CHAIN_MAX &&
	       at->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI) {
		chain[n++] = at;
		at = at->parent;
	}
	return n;
}

/* The NUMA node closest to an I/O object; the first of several. */
static void numa_of(const struct reader *reader, hwloc_obj_t obj, char ret[static ID_SIZE])
{
	hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(reader->hwloc, obj);
	int first = near && near->nodeset ? hwloc_bitmap_first(near->nodeset) : -1;
	hwloc_obj_t numa = NULL;

	if (first >= 0)
		numa = hwloc_get_numanode_obj_by_os_index(reader->hwloc, (unsigned)first);
	if (!numa)
		numa = hwloc_get_next_obj_by_type(reader->hwloc, HWLOC_OBJ_NUMANODE, NULL);
	(void)snprintf(ret, ID_SIZE, "numa:%u", numa ? numa->os_index : 0);
}

static int add_bridge(const struct reader *reader, const char *id, hwloc_obj_t bridge,
		      struct err *err)
{
	char address[PCI_ADDRESS_SIZE];
	struct topo_node node = {
		.id = xstrdup(id),
		.type = starts_with(id, "root:") ? TOPO_ROOT : TOPO_SWITCH,
		.name = topology_clean(hwloc_obj_get_info_by_name(bridge, "PCIDevice")),
	};

	write_address(bridge, address);
	node.pci = xstrdup(address);
	return topology_take_node(reader->t, node, err);
}

/* Adds the path from a device, whose node exists, to its NUMA node. */
static int add_way(const struct reader *reader, const char *id, hwloc_obj_t dev, struct err *err)
{
	char lower_id[ID_SIZE], upper_id[ID_SIZE];
	hwloc_obj_t chain[CHAIN_MAX], lower = dev;
	size_t n = bridges_above(dev, chain), i;
	int r;

	(void)snprintf(lower_id, sizeof(lower_id), "%s", id);
	for (i = 0; i < n; i++) {
		size_t below_root = n - 1 - i;
		hwloc_obj_t port = chain[i];
		bool known;

		if (below_root > 0 && below_root % 2 == 0)
			i++; /* a downstream port: the switch is named by the next port up */
		bridge_id(below_root ? "switch" : "root", chain[i], upper_id);
		known = topology_find(reader->t, upper_id);
		r = known ? 0 : add_bridge(reader, upper_id, chain[i], err);
		if (r == 0)
			r = topology_take_link(
				reader->t, pci_link(reader, lower_id, lower, upper_id, port), err);
		if (r < 0 || known)
			return r;
		lower = chain[i];
		(void)snprintf(lower_id, sizeof(lower_id), "%s", upper_id);
	}
	numa_of(reader, dev, upper_id);
	if (n == 0)
		return topology_take_link(reader->t,
					  pci_link(reader, lower_id, dev, upper_id, NULL), err);
	return topology_take_link(reader->t, topology_new_link(lower_id, upper_id), err);
}

static int add_devices(const struct reader *reader, struct err *err)
{
	hwloc_obj_t dev = NULL, chain[CHAIN_MAX];
	struct topo_node node;
	int r;

	while ((dev = hwloc_get_next_pcidev(reader->hwloc, dev))) {
		CLEANUP(freep) char *id = NULL;

		if (!classify(reader, dev, &node))
			continue;
		id = xstrdup(node.id);
		r = topology_take_node(reader->t, node, err);
		if (r == 0)
			r = add_way(reader, id, dev, err);
		if (r < 0)
			return r;
		if (bridges_above(dev, chain) == 0)
			reader->t->is_virtual = true;
	}
	return 0;
}

/* --- NUMA nodes ----------------------------------------------------------------------- */

static hwloc_obj_t package_of(hwloc_obj_t numa)
{
	hwloc_obj_t at = numa->parent;

	while (at && at->type != HWLOC_OBJ_PACKAGE)
		at = at->parent;
	return at;
}

/* The first NUMA node of each package represents it; one without a package represents itself. */
static hwloc_obj_t leader_of(const struct reader *reader, hwloc_obj_t numa)
{
	hwloc_obj_t at = NULL, package = package_of(numa);

	while ((at = hwloc_get_next_obj_by_type(reader->hwloc, HWLOC_OBJ_NUMANODE, at)))
		if (at == numa || (package && package_of(at) == package))
			return at;
	return numa;
}

static int link_numas(const struct reader *reader, hwloc_obj_t a, hwloc_obj_t b, struct err *err)
{
	char a_id[ID_SIZE], b_id[ID_SIZE];

	numa_id(a, a_id);
	numa_id(b, b_id);
	return topology_take_link(reader->t, topology_new_link(a_id, b_id), err);
}

/* Links a node to the leader of its package, and a leader to all earlier leaders. */
static int add_numa_links(const struct reader *reader, hwloc_obj_t numa, struct err *err)
{
	hwloc_obj_t leader = leader_of(reader, numa), at = NULL;
	int r = link_numas(reader, numa, numa, err);

	if (r == 0 && leader != numa)
		return link_numas(reader, leader, numa, err);
	while (r == 0 && (at = hwloc_get_next_obj_by_type(reader->hwloc, HWLOC_OBJ_NUMANODE, at)) &&
	       at != numa)
		if (leader_of(reader, at) == at)
			r = link_numas(reader, at, numa, err);
	return r;
}

static int add_numas(const struct reader *reader, struct err *err)
{
	hwloc_obj_t numa = NULL;
	char id[ID_SIZE];
	int r = 0;

	while (r == 0 &&
	       (numa = hwloc_get_next_obj_by_type(reader->hwloc, HWLOC_OBJ_NUMANODE, numa))) {
		numa_id(numa, id);
		r = topology_take_node(
			reader->t, (struct topo_node){ .id = xstrdup(id), .type = TOPO_NUMA }, err);
		if (r == 0)
			r = add_numa_links(reader, numa, err);
	}
	return r;
}

/* --- hwloc ------------------------------------------------------------------------------ */

static void hwloc_freep(hwloc_topology_t *hwloc)
{
	if (*hwloc)
		hwloc_topology_destroy(*hwloc);
}

static int read_all(const struct reader *reader, struct err *err)
{
	int r = add_numas(reader, err);

	return r == 0 ? add_devices(reader, err) : r;
}

static int set_up(hwloc_topology_t hwloc)
{
	/* The whole host, not only our part: a cgroup must not change what is measured. */
	if (hwloc_topology_set_flags(hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) < 0)
		return -EINVAL;
	return hwloc_topology_set_io_types_filter(hwloc, HWLOC_TYPE_FILTER_KEEP_ALL);
}

/* hwloc has its source: loads it and converts the result; `failure` is the error message. */
static int load(hwloc_topology_t hwloc, int sys_fd, const char *failure, struct topology *ret,
		struct err *err)
{
	CLEANUP(topology_releasep) struct topology t = { .n_nodes = 0 };
	struct reader reader = { .hwloc = hwloc, .sys_fd = sys_fd, .t = &t };
	int r;

	if (set_up(hwloc) < 0 || hwloc_topology_load(hwloc) < 0)
		return err_set(err, EINVAL, "%s", failure);
	r = read_all(&reader, err);
	if (r < 0)
		return r;
	*ret = t;
	t = (struct topology){ .n_nodes = 0 };
	return 0;
}

/* The text of an XML file: `len` bytes and a NUL. */
struct xml {
	const char *text;
	size_t len;
};

/* A handle with the text as its source, not yet loaded; NULL if hwloc rejects it. */
static hwloc_topology_t xml_open(const struct xml *xml)
{
	hwloc_topology_t hwloc = NULL;

	if (hwloc_topology_init(&hwloc) < 0)
		return NULL;
	if (hwloc_topology_set_xmlbuffer(hwloc, xml->text, (int)xml->len + 1) == 0)
		return hwloc;
	hwloc_topology_destroy(hwloc);
	return NULL;
}

static bool xml_loads(const void *arg)
{
	CLEANUP(hwloc_freep) hwloc_topology_t hwloc = xml_open(arg);

	return hwloc && set_up(hwloc) == 0 && hwloc_topology_load(hwloc) == 0;
}

int topology_from_xml(const char *path, int sys_fd, struct topology *ret, struct err *err)
{
	static const char failure[] =
		"not the XML of an hwloc topology, such as `lstopo --of xml` writes";
	CLEANUP(hwloc_freep) hwloc_topology_t hwloc = NULL;
	CLEANUP(freep) char *text = NULL;
	struct topology t;
	struct xml xml;
	int r = file_read(AT_FDCWD, path, XML_FILE_MAX, &text, &xml.len, err);

	if (r < 0)
		return r;
	xml.text = text;
	/* hwloc 2.9 crashes on objects without cpusets, among others. */
	if (try_child(xml_loads, &xml, XML_LIMIT_S) == 0)
		hwloc = xml_open(&xml);
	if (!hwloc)
		return err_set(err, EINVAL, "%s: %s", path, failure);
	r = load(hwloc, sys_fd, failure, &t, err);
	if (r < 0)
		return err_wrap(err, r, "%s", path);
	topology_finish(&t);
	*ret = t;
	return 0;
}

/* A hypervisor shows in /proc/cpuinfo; then a lack of bridges means that they are hidden. */
static bool is_guest_without_bridges(hwloc_topology_t hwloc)
{
	CLEANUP(freep) char *path = xasprintf("%s/proc/cpuinfo", paths_sysroot());
	CLEANUP(freep) char *text = NULL;
	hwloc_obj_t bridge = NULL;

	while ((bridge = hwloc_get_next_bridge(hwloc, bridge)))
		if (bridge->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI)
			return false;
	return file_read(AT_FDCWD, path, CPUINFO_FILE_MAX, &text, NULL, NULL) == 0 &&
	       strstr(text, " hypervisor");
}

int topology_live(struct topology *ret, struct err *err)
{
	/*
	 * Plugins that would open the devices: a sick GPU must not hang this, and reading must not
	 * wake one.
	 */
	static const char *const loud[] = { "cuda", "gl", "levelzero", "nvml", "opencl", "rsmi" };
	CLEANUP(hwloc_freep) hwloc_topology_t hwloc = NULL;
	CLEANUP(closep) int sys_fd = paths_open_sys("/sys");
	struct topology t;
	size_t i;
	int r;

	if (hwloc_topology_init(&hwloc) < 0)
		return err_errno(err, ENOMEM, "hwloc");
	for (i = 0; i < ARRAY_SIZE(loud); i++)
		(void)hwloc_topology_set_components(hwloc, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
						    loud[i]);
	r = load(hwloc, sys_fd, "hwloc cannot read it", &t, err);
	if (r < 0)
		return err_wrap(err, r, "the topology of this host");
	if (is_guest_without_bridges(hwloc))
		t.is_virtual = true;
	topology_finish(&t);
	*ret = t;
	return 0;
}
