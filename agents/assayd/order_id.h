/* SPDX-License-Identifier: Apache-2.0 */
/* The id of an order, in its JSON and on the command line of the run that answers it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { ORDER_ID_MAX = 64 }; /* bytes */

/* Is it an order id: 1 to ORDER_ID_MAX printable characters, no spaces? */
static inline bool order_id_ok(const char *id)
{
	size_t i;

	for (i = 0; id && id[i]; i++) {
		if ((unsigned char)id[i] <= ' ' || (unsigned char)id[i] >= 0x7f || i >= ORDER_ID_MAX)
			return false;
	}
	return i > 0;
}
