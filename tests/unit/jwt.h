/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens for tests, with any claims and an invalid signature. */
#pragma once

/* Returns "HEADER.CLAIMS.SIGNATURE" with `claims` in base64url. The caller frees it. */
char *jwt_of(const char *claims);
