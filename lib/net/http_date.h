/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two clocks by the Date header of an answer (RFC 9110, 5.6.7 and 6.6.1). Pure. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

/*
 * How far our clock is ahead of the server's, in seconds; negative: behind. The server wrote the
 * date between our request and its answer (microseconds since 1970 by our clock), in whole seconds;
 * anything outside of that interval is the clocks' difference. Returns false if `date` is invalid.
 */
bool http_date_ahead(const char *date, uint64_t asked_us, uint64_t answered_us, long long *ret_s);
