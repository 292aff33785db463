/* SPDX-License-Identifier: Apache-2.0 */
/* What libcurl tells of the certificate that a server showed. For http.c alone. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum { HTTP_NAMES_MAX = 512 }; /* bytes of the names of a certificate, cut beyond */

struct http_certificate {
	uint64_t begins_us, ends_us; /* of the real clock; 0: not known */
	char names[HTTP_NAMES_MAX];  /* "DNS:assay.example.com, IP Address:10.0.0.5", as it came */
};

/* Of a finished CURL handle that was told to keep it; all 0 where there was none. */
void http_certificate_read(void *easy, struct http_certificate *ret);
