/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology/1: the NUMA nodes, GPUs, RNICs, PCIe switches and root ports of a host and the links
 * between them, with their speed and width and what both ends support. It gives the locality class
 * of a pair and the path of a transfer, which the judges use for comparison and localisation.
 *
 * Read from this host (hwloc, then sysfs for link speeds), from an hwloc XML file (ASSAY_TOPOLOGY),
 * or from topology/1 JSON. Only topology_hwloc.c uses hwloc. Ids are stable texts: "numa:0",
 * "gpu:0000:1b:00.0", "rnic:mlx5_0", "switch:0000:16:00.0", "root:0000:15:01.0"; a link is
 * "<lower>^<upper>".
 *
 * The links of a host, in the order of a transfer:
 *	"gpu:0000:1a:00.0^switch:0000:16:00.0"	a device below a switch (or root port)
 *	"switch:0000:16:00.0^root:0000:15:01.0"	the uplink of a switch
 *	"root:0000:15:01.0^numa:0"		a root port and its socket
 *	"numa:0^numa:1"				between sockets (or NUMA nodes of one)
 *	"numa:0^numa:0"				the memory of a NUMA node, both ends itself
 * A switch is one node, named by its upstream port; its downstream ports are part of the links
 * below it. Only what leads to a GPU or an RNIC is kept. Nodes are ordered by type and PCI address,
 * links by id: two readings of one host are equal.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/json/json.h"

struct err;

enum { TOPOLOGY_NODES_MAX = 1024, TOPOLOGY_LINKS_MAX = 2048, TOPOLOGY_PATH_MAX = 64 };

enum topo_type { TOPO_NUMA, TOPO_GPU, TOPO_RNIC, TOPO_SWITCH, TOPO_ROOT };

/* How close two ends are, from near to far. */
enum locality {
	LOCALITY_SELF,	  /* the same device */
	LOCALITY_PIX,	  /* one PCIe switch in between */
	LOCALITY_PXB,	  /* several switches, below one root port */
	LOCALITY_PHB,	  /* one host bridge */
	LOCALITY_NODE,	  /* one NUMA node */
	LOCALITY_SYS,	  /* across sockets */
	LOCALITY_VIRTUAL, /* a VM hides the bridges: unknown */
};

struct topo_node {
	char *id;
	int type;   /* enum topo_type */
	char *name; /* OS name or model, for people; or NULL */
	char *pci;  /* "0000:1b:00.0", or NULL */
};

struct topo_link {
	char *id;
	char *a, *b;	/* ids of its nodes: a below, b above */
	double gts;	/* GT/s now; 0 if unknown or not PCIe */
	uint64_t width; /* lanes now; 0 the same */
	double max_gts; /* the smaller maximum of both ends */
	uint64_t max_width;
};

/*
 * Switch and port of an RNIC that is up but has heard no switch, while others of its host have: it
 * still has its place among them.
 */
#define TOPO_NEIGHBOR_SILENT "-"

struct topo_neighbor {
	char *rnic, *swtch, *port;
	int source; /* 0 lldp, 1 label, 2 file */
};

struct topology {
	struct topo_node *nodes;
	size_t n_nodes;
	struct topo_link *links;
	size_t n_links;
	struct topo_neighbor *neighbors;
	size_t n_neighbors;
	bool is_virtual; /* the bridges are hidden */
	/*
	 * SHA-256 in hex of nodes, links, neighbors and is_virtual. The current speed of a GPU's
	 * own link is left out: an idle GPU reduces it.
	 */
	char digest[65];
};

extern const char *const topo_type_names[]; /* "numa"...; NULL-terminated, as the next one */
extern const char *const locality_names[];  /* "self" ... "virtual" */

/*
 * The topology of this host, or of $ASSAY_TOPOLOGY (hwloc XML, or topology/1 JSON if the name ends
 * in .json). -ENOTSUP without hwloc, except for JSON. The caller releases `ret` with
 * topology_release().
 */
int topology_load(struct topology *ret, struct err *err);

/* From a file, in the format of its name. -EINVAL for bad content, -EFBIG, -E2BIG, -ENOENT... */
int topology_from_file(const char *path, struct topology *ret, struct err *err);

/*
 * From an hwloc XML file. PCIe speeds come from `sys_fd` (/sys, may be negative), else from info
 * attributes of the object, named like the files of sysfs (current_link_speed "32.0 GT/s PCIe",
 * current_link_width "16", max_link_speed, max_link_width), else the current one is the standard
 * speed and width closest to pci_link_speed, preferring x16.
 */
int topology_from_xml(const char *path, int sys_fd, struct topology *ret, struct err *err);

/* This host, through hwloc; speeds from /sys under the sysroot. -ENOTSUP without hwloc. */
int topology_live(struct topology *ret, struct err *err);

/*
 * From and to topology/1. Ids must be unique, links must name nodes, counts are limited (-EINVAL
 * names the place); the digest is always computed, never read.
 */
int topology_decode(const struct jval *v, struct topology *ret, struct err *err);
json_t *topology_encode(const struct topology *t); /* new reference */
void topology_release(struct topology *t);

/* The node with this id, or NULL. Borrowed. */
const struct topo_node *topology_find(const struct topology *t, const char *id);
const struct topo_link *topology_find_link(const struct topology *t, const char *id);

/*
 * How close two nodes are. A device and the memory of its own NUMA node are `node`, of another one
 * `sys`, as are two NUMA nodes. On a virtual host every pair with a device is `virtual`. -ENOENT
 * for an unknown id, -EHOSTUNREACH if no links connect them.
 */
int topology_class(const struct topology *t, const char *from, const char *to, enum locality *ret);

/*
 * Link ids from one node to another, in order, NULL-terminated; the caller frees them with
 * strv_free(). Empty for a device and itself. A NUMA node at an end adds the link of its memory.
 * The way back is the same path reversed; ties are decided by the order of links; no path leads
 * through a GPU or RNIC. -ENOENT, -EHOSTUNREACH.
 */
int topology_path(const struct topology *t, const char *from, const char *to, char ***ret_links);

/*
 * Raw bytes per second in one direction of a PCIe link with `gts` and `width`, before protocol
 * overhead: line code 8b/10b up to 5 GT/s, 128b/130b up to 32, FLIT mode (242 of 256 bytes) above.
 * PCI Express Base Specification 6.0, 4.2.
 */
double topology_link_bytes_per_s(double gts, uint64_t width);

/* True if a PCIe link runs below what both ends support; false if unknown. */
bool topology_link_is_slow(const struct topo_link *link);

/* For CLEANUP() of a struct topology that was zeroed where declared. */
static inline void topology_releasep(struct topology *t)
{
	topology_release(t);
}
