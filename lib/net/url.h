/* SPDX-License-Identifier: Apache-2.0 */
/* What the URL of a controller says about the connection. Pure. */
#pragma once

#include "lib/base/macro.h"

/* True if others can eavesdrop on `base` ("http://HOST:PORT"): no TLS, and not this host. */
bool url_is_open(const char *base);
