/* SPDX-License-Identifier: Apache-2.0 */
/* What the URL of a controller says of the way to it. Pure. */
#pragma once

#include "lib/base/macro.h"

/* Can others read along on the way to `base` ("http://HOST:PORT"): no TLS, and not this host? */
bool url_is_open(const char *base);
