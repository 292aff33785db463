/* SPDX-License-Identifier: Apache-2.0 */
/* Content negotiation. Pure. */
#pragma once

#include "lib/base/macro.h"

/* Does Accept-Encoding (NULL: missing) accept gzip (RFC 9110 12.5.3)? "gzip;q=0" does not. */
bool api_accepts_gzip(const char *accept);
