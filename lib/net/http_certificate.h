/* SPDX-License-Identifier: Apache-2.0 */
/* The server's certificate as reported by libcurl. Only for http.c. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum { HTTP_NAMES_MAX = 512 }; /* bytes of the names in a certificate; the rest is cut */

struct http_certificate {
	uint64_t begins_us, ends_us; /* wall clock; 0: unknown */
	char names[HTTP_NAMES_MAX];  /* "DNS:assay.example.com, IP Address:10.0.0.5", unchanged */
};

/* From a finished CURL handle with CURLOPT_CERTINFO; all 0 without a certificate. */
void http_certificate_read(void *easy, struct http_certificate *ret);
