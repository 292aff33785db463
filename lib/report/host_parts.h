/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs and RDMA ports as people know them: "gpu 3" with its PCI address, slot and serial number, in
 * addition to the subject that programs use ("gpu:GPU-...", the UUID; "mlx5_3:1"). The subject is
 * the identity: it stays with a GPU wherever it is plugged in, while the index is that in the
 * newest report of the host. Probes report it in `parts` of a sample. Pure.
 *
 * A part that the newest report no longer names is `gone`. It keeps its index until another part
 * has it; then it is called by its PCI address. It is forgotten once another part is at that
 * address.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct report;

enum {
	HOST_PARTS_MAX = 128, /* of one host; parts that are gone make room first */
	HOST_PART_ID_SIZE = 96,
	HOST_PART_TEXT_SIZE = 48,
	HOST_PART_INDEX_MAX = 65535,
};

struct host_part {
	char id[HOST_PART_ID_SIZE]; /* "gpu:GPU-...", "mlx5_3:1" */
	int index;		    /* of a GPU, by the driver; -1: unknown, as for the next two */
	int module;		    /* of a GPU: position on a baseboard, by the driver */
	int rail;		    /* of a port: index among the active ones of the host */
	char pci[HOST_PART_TEXT_SIZE];	  /* as in sysfs; "" unknown, as for the rest */
	char slot[HOST_PART_TEXT_SIZE];	  /* as the board's firmware names it: "5", "PCIe Slot 5" */
	char serial[HOST_PART_TEXT_SIZE]; /* of the board */
	char number[HOST_PART_TEXT_SIZE]; /* part number of the board */
	bool gone;
};

struct host_parts {
	struct host_part *all; /* owned; GPUs by index, ports by name, then those that are gone */
	size_t n;
};

#define HOST_PART_INIT                                \
	{                                             \
		.index = -1, .module = -1, .rail = -1 \
	}

void host_parts_release(struct host_parts *parts);

bool host_part_is_gpu(const struct host_part *part);

/* For a port: length of the device in its id, "mlx5_3" of "mlx5_3:1". */
int host_part_device_length(const struct host_part *part);

/* --- for programs ----------------------------------------------------------------------------- */

/* {id, kind, name, index, pci, ...}, only what is known. New reference. */
json_t *host_part_encode(const struct host_part *part);

/* All parts as a list, which may be empty. New reference. */
json_t *host_parts_encode(const struct host_parts *parts);

/*
 * Reads such a list. Unknown keys and invalid entries are skipped, texts are reduced to printable
 * ASCII and truncated to their size. `ret` is empty for anything else, or NULL.
 */
void host_parts_decode(const json_t *list, struct host_parts *ret);

/*
 * Updates the parts from the samples of a newer report. For each kind (GPU, RDMA port) that it
 * names at all, parts that it does not name are gone; what it does not say of a part is kept.
 * Returns true if anything changed.
 */
bool host_parts_learn(struct host_parts *parts, const struct report *report);

/* --- for people ------------------------------------------------------------------------------- */

/* "gpu 3", "gpu at 0000:4e:00.0", "mlx5_3 port 1". New memory. */
char *host_part_name(const struct host_part *part);

/* For a technician or a vendor: "gpu 3, PCI 0000:4e:00.0, slot 5, serial 165..., UUID GPU-...". */
char *host_part_line(const struct host_part *part);
