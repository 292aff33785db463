/* SPDX-License-Identifier: Apache-2.0 */
/* Who runs with whom in the next round. Pure. */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct pairing_case;
struct pairing_round;
struct pairing_view;

/* True if the node can be paired: present, and not known to be bad. */
bool pairing_plays(const struct pairing_view *v, const struct pairing_case *c, size_t node);

/* The next round; empty if nobody can run. */
void pairing_next(const struct pairing_view *v, const struct pairing_case *c,
		  struct pairing_round *ret);
