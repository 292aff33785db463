/* SPDX-License-Identifier: Apache-2.0 */
/* What who asks can read. Pure. */
#pragma once

#include "lib/base/macro.h"

/* Does Accept-Encoding (NULL: not said) ask for gzip (RFC 9110 12.5.3)? "gzip;q=0" does not. */
bool api_accepts_gzip(const char *accept);
