/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neighbors/1: a file in which an operator says which hosts are below which leaf switch, and at
 * which addresses they reach each other. Strict:
 *
 *         v: 1
 *         switches:                    the first that names a host counts, rail by rail
 *           - {name: leaf-1, nodes: ["gpu-0*"]}              all rails
 *           - {name: leaf-2, nodes: [gpu-17], rails: [0, 1]}
 *         addresses: {gpu-17: 10.0.0.17}
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"
#include "lib/pairing/pairing.h"

struct err;

enum {
	RAIL_MAP_SWITCHES_MAX = 4096,
	RAIL_MAP_NODES_MAX = 4096, /* names or patterns per switch */
};

struct rail_map {
	struct rail_map_switch *switches;
	size_t n_switches;
	struct rail_map_name *names; /* first plain names, sorted, then patterns */
	size_t n_names, n_patterns;
	json_t *addresses; /* object of strings, or NULL */
};

/* -EINVAL with "FILE: path.to.key: what"; -ENOENT and other errors of the file. */
int rail_map_read(const char *path, struct rail_map *ret, struct err *err);
void rail_map_release(struct rail_map *n);

/*
 * The switch for each rail of the host, borrowed; NULL: not in the file. Returns false if there is
 * none at all. Takes one lookup and one match per pattern of the file, as it is used for whole
 * fleets.
 */
bool rail_map_switches(const struct rail_map *n, const char *node,
		       const char *ret_switch[PAIRING_RAILS_MAX]);

/* The address of the host, borrowed; NULL: not in the file. */
const char *rail_map_address(const struct rail_map *n, const char *node);
