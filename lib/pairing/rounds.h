/* SPDX-License-Identifier: Apache-2.0 */
/* Who runs next with whom. Pure. */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct pairing_case;
struct pairing_round;
struct pairing_view;

/* Can the node be paired: there and not known to be bad. */
bool pairing_plays(const struct pairing_view *v, const struct pairing_case *c, size_t node);

/* Who runs next. An empty round when nobody can. */
void pairing_next(const struct pairing_view *v, const struct pairing_case *c,
		  struct pairing_round *ret);
