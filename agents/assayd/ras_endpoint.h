/* SPDX-License-Identifier: Apache-2.0 */
/* Where NCCL's RAS listens: a number and a port, never a name to be looked up. */
#pragma once

#include <sys/socket.h>

#include "lib/base/macro.h"

/* Where it does unless NCCL_RAS_ADDR says otherwise; localhost may be either of the two. */
#define RAS_ENDPOINT_4 "127.0.0.1:28028"
#define RAS_ENDPOINT_6 "[::1]:28028"

/* "127.0.0.1:28028", "[::1]:28028". Returns false when it is neither. */
bool ras_endpoint_parse(const char *text, struct sockaddr_storage *ret, socklen_t *ret_size);
