/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices this host was ever seen with. One that was there at an earlier
 * run and is gone is lost, and stays so until it is back or an operator
 * removes the state file: a GPU that fell off must not be forgotten by the
 * next run. Pure.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "lib/base/macro.h"

enum { KNOWN_MAX = 4096, KNOWN_ID_SIZE = 96, KNOWN_MODEL_SIZE = 32 };

/* One device, there now or known from before. */
struct known {
	char id[KNOWN_ID_SIZE];	      /* "pci:0000:1b:00.0", "dimm:BANK 0/A1" */
	char model[KNOWN_MODEL_SIZE]; /* what may stand in for it elsewhere: "10de:2330" */
};

/*
 * Those of `past` (array of {id, model}; NULL or malformed counts as empty)
 * that are neither among `now` by id, nor moved: a device of the same model
 * that was not there before stands for one that is gone, since firmware
 * numbers buses anew. At most `max` go into `ret_lost`; how many.
 */
size_t known_lost(const json_t *past, const struct known *now, size_t n_now, struct known *ret_lost,
		  size_t max);

/* The array to keep: all of `now` and of `lost`. New reference. */
json_t *known_encode(const struct known *now, size_t n_now, const struct known *lost, size_t n_lost);
