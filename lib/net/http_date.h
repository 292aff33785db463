/* SPDX-License-Identifier: Apache-2.0 */
/* What the header Date of an answer says of two clocks (RFC 9110, 5.6.7 and 6.6.1). Pure. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

/*
 * How far our clock is ahead of the server's, in seconds; negative: behind. It was written between
 * our question and its answer (microseconds since 1970 by our clock), in whole seconds: what
 * lies outside of that is the clocks'. False when `date` is no such date.
 */
bool http_date_ahead(const char *date, uint64_t asked_us, uint64_t answered_us, long long *ret_s);
