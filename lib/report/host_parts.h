/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs and RDMA ports as people know them: "gpu 3" with its PCI address, slot and serial number,
 * beside the subject that names it for programs ("gpu:GPU-...", the UUID; "mlx5_3:1"). The subject
 * is the identity: it stays with a GPU wherever it is plugged in, while the index is that of the
 * newest report of the host. Probes say it in `parts` of a sample. Pure.
 *
 * A part that the newest report does not name any more is `gone`. It keeps its index until another
 * part has it: then it is called by its PCI address; and it is forgotten once another part is at
 * that address.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct report;

enum {
	HOST_PARTS_MAX = 128, /* of one host; those that are gone make room first */
	HOST_PART_ID_SIZE = 96,
	HOST_PART_TEXT_SIZE = 48,
	HOST_PART_INDEX_MAX = 65535,
};

struct host_part {
	char id[HOST_PART_ID_SIZE];	/* "gpu:GPU-...", "mlx5_3:1" */
	int index;			/* of a GPU, the driver's; -1: not known, as the next two */
	int module;			/* of a GPU: its place on a baseboard, as the driver says */
	int rail;			/* of a port: its place among the active ones of the host */
	char pci[HOST_PART_TEXT_SIZE];	/* as sysfs writes it; "" not known, as the rest */
	char slot[HOST_PART_TEXT_SIZE]; /* as the board's firmware calls it: "5", "PCIe Slot 5" */
	char serial[HOST_PART_TEXT_SIZE]; /* of the board */
	char number[HOST_PART_TEXT_SIZE]; /* part number of the board */
	bool gone;
};

struct host_parts {
	struct host_part *all; /* owned; GPUs by index, then ports by name, then those gone */
	size_t n;
};

#define HOST_PART_INIT                                \
	{                                             \
		.index = -1, .module = -1, .rail = -1 \
	}

void host_parts_release(struct host_parts *parts);

bool host_part_is_gpu(const struct host_part *part);

/* Of a port: how much of its id is the device, "mlx5_3" of "mlx5_3:1". */
int host_part_device_length(const struct host_part *part);

/* --- what programs say ---------------------------------------------------------------------- */

/* {id, kind, name, index, pci, ...} with what is known of it. New reference. */
json_t *host_part_encode(const struct host_part *part);

/* All of them as a list, empty without any. New reference. */
json_t *host_parts_encode(const struct host_parts *parts);

/*
 * Read such a list, of which keys and entries that are not understood are left out. Texts are
 * printable ASCII then, and cut at their size. `ret` is empty for anything else, or NULL.
 */
void host_parts_decode(const json_t *list, struct host_parts *ret);

/*
 * Take over what the samples of a newer report say. Of each kind (GPU, RDMA port) that it names
 * at all, those it does not name are gone; what a part left out this time is kept. True when
 * anything changed.
 */
bool host_parts_learn(struct host_parts *parts, const struct report *report);

/* --- what people read ------------------------------------------------------------------------ */

/* "gpu 3", "gpu at 0000:4e:00.0", "mlx5_3 port 1". New memory. */
char *host_part_name(const struct host_part *part);

/* For a technician or a vendor: "gpu 3, PCI 0000:4e:00.0, slot 5, serial 165..., UUID GPU-...". */
char *host_part_line(const struct host_part *part);
