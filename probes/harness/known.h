/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices ever seen on this host. A device that was present in an earlier run and is gone is
 * lost, and stays so until it is back or an operator removes the state file: the next run must not
 * forget a GPU that fell off the bus. Pure.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "lib/base/macro.h"

enum { KNOWN_MAX = 4096, KNOWN_ID_SIZE = 96, KNOWN_MODEL_SIZE = 32 };

/* A device, present or known from before. */
struct known {
	char id[KNOWN_ID_SIZE];	      /* "pci:0000:1b:00.0", "dimm:BANK 0/A1" */
	char model[KNOWN_MODEL_SIZE]; /* which device may replace it elsewhere: "10de:2330" */
};

/*
 * Find the devices in `past` (array of {id, model}; NULL or malformed counts as empty) that are not
 * in `now` by id and have not moved either. Because firmware may renumber buses, a new device of
 * the same model stands for a missing one. At most `max` are put into `ret_lost`; returns their
 * number.
 */
size_t known_lost(const json_t *past, const struct known *now, size_t n_now, struct known *ret_lost,
		  size_t max);

/* The array to save: all of `now` and of `lost`. Returns a new reference. */
json_t *known_encode(const struct known *now, size_t n_now, const struct known *lost, size_t n_lost);
