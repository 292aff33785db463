/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fingerprint that identifies a certificate before it is trusted: SHA-256 of its DER form, as
 * `openssl x509 -in FILE -noout -fingerprint -sha256` prints it, without colons. Pure.
 */
#pragma once

#include "lib/base/sha256.h"

struct err;

/*
 * The fingerprint of the single certificate in a PEM text (RFC 7468) that has no other PEM blocks.
 * -EINVAL with a sentence for anything else.
 */
int pem_sum(const char *text, char ret_hex[static SHA256_HEX_SIZE], struct err *err);
