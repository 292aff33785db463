/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences of blames. Pure. */
#pragma once

#include <stddef.h>

struct pairing_blame;
struct pairing_view;

/* The sentence of a blame; `other`: a part that explains it as well, or PAIRING_NOBODY. */
void pairing_word(const struct pairing_view *v, size_t other, struct pairing_blame *b);
