/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens for tests, with any claims and no signature worth the name. */
#pragma once

/* "HEADER.CLAIMS.SIGNATURE" with the base64url of `claims`; new memory. */
char *jwt_of(const char *claims);
