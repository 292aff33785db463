/* SPDX-License-Identifier: Apache-2.0 */
/* Makes untrusted text fit for display. Pure. */
#pragma once

#include <stddef.h>

/*
 * Copies the bytes, cut to `size` at a whole character; what cannot be shown becomes a question
 * mark.
 */
void hang_text_take(char *out, size_t size, const char *bytes, size_t n);
