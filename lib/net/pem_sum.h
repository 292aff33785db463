/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sum by which a certificate is known before anything vouches for it: SHA-256 of its DER
 * form, as `openssl x509 -in FILE -noout -fingerprint -sha256` has it without its colons. Pure.
 */
#pragma once

#include "lib/base/sha256.h"

struct err;

/*
 * Of a text that holds one certificate in PEM (RFC 7468) and nothing else in PEM.
 * -EINVAL with a sentence for any other.
 */
int pem_sum(const char *text, char ret_hex[static SHA256_HEX_SIZE], struct err *err);
