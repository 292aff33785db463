/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which machine this is, whatever its name: a text that stays over reboots and
 * changes with the hardware. "b:" and 16 hexadecimal digits of a hash over the
 * serial number of the board and the UUID of the product (DMI; root may read
 * them), else "m:" and those of /etc/machine-id. Hashed, because what they
 * stand for is nobody's business but the operator's.
 *
 * Values that makers leave unset ("To be filled by O.E.M.") are no serial
 * number: they would make one machine of many.
 */
#pragma once

#include "lib/base/macro.h"

enum { MACHINE_SIZE = 2 + 16 + 1 };

/* This machine, under the sysroot; NULL when nothing tells. New memory. */
char *machine_read(void);

/* The same from the two kinds of number, either may be NULL. New memory, or NULL. */
char *machine_of(const char *board_serial, const char *product_uuid, const char *machine_id);

/* Surely two machines: both known, by the same kind of number, and different. */
bool machine_differs(const char *a, const char *b);
