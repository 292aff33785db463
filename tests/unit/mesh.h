/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated host of 8 RNICs, 8 GPUs, 4 PCIe switches and 2 sockets, and the
 * loopback matrix that its links produce. Capacities, in bytes per second, are
 * what probes measure: 400 Gb/s RNICs on x16 links of generation 5 (430 Gb/s of
 * payload), 300 Gb/s peer to peer between the sockets.
 */
#pragma once

#include "lib/report/report.h"
#include "tests/unit/random.h"

enum {
	MESH_RNICS = 8,
	MESH_GPUS = 8,
	MESH_SWITCHES = 4,
	MESH_SOCKETS = 2,
	MESH_LINKS = MESH_RNICS + MESH_GPUS + MESH_SWITCHES + 1 + MESH_SOCKETS,
	MESH_SOCKET_LINK = MESH_RNICS + MESH_GPUS + MESH_SWITCHES, /* between the sockets */
	MESH_MEMORY = MESH_SOCKET_LINK + 1,			   /* of the first socket */
};

struct mesh {
	char id[MESH_LINKS][48];
	double capacity[MESH_LINKS];
};

struct mesh mesh_make(void);

/*
 * Adds the whole matrix, each value times 1 + noise * normal; with `groups` also
 * all RNICs of a socket at once to its memory.
 */
void mesh_measure(const struct mesh *m, double noise, struct random *chance, bool groups,
		  struct report *ret);

/*
 * Returns the report of a full run with groups and 1 % noise. `link` is at the fraction
 * `residual` of its capacity; MESH_LINKS: no link is.
 */
struct report mesh_report(size_t link, double residual, uint64_t seed);
