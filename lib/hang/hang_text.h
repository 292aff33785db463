/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of strangers, made fit to be shown. Pure. */
#pragma once

#include <stddef.h>

/* Copy the bytes, cut to `size` at a whole character; what is no text to show becomes a question
 * mark. */
void hang_text_take(char *out, size_t size, const char *bytes, size_t n);
