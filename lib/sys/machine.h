/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies the machine, whatever its name: a text that survives reboots and changes with the
 * hardware. "b:" and 16 hexadecimal digits of a hash over the board's serial number and the product
 * UUID (DMI; readable by root), else "m:" and those of /etc/machine-id. Hashed, because the numbers
 * are nobody's business but the operator's.
 *
 * Values that vendors leave unset ("To be filled by O.E.M.") do not count: they would make many
 * machines look like one.
 */
#pragma once

#include "lib/base/macro.h"

enum { MACHINE_SIZE = 2 + 16 + 1 };

/* This machine, under the sysroot; NULL if unknown. New memory. */
char *machine_read(void);

/* The same from the numbers, each of which may be NULL. New memory, or NULL. */
char *machine_of(const char *board_serial, const char *product_uuid, const char *machine_id);

/* True if they are certainly different machines: both known, by the same kind of number. */
bool machine_differs(const char *a, const char *b);
