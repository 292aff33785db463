/* SPDX-License-Identifier: Apache-2.0 */
/* The address of NCCL's RAS: numeric address and port, never a host name. */
#pragma once

#include <sys/socket.h>

#include "lib/base/macro.h"

/* The default unless NCCL_RAS_ADDR is set; localhost may be either of the two. */
#define RAS_ENDPOINT_4 "127.0.0.1:28028"
#define RAS_ENDPOINT_6 "[::1]:28028"

/* Parse "127.0.0.1:28028" or "[::1]:28028". False if it is neither. */
bool ras_endpoint_parse(const char *text, struct sockaddr_storage *ret, socklen_t *ret_size);
