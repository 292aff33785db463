/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers nobody can guess or repeat. Pure code takes them as a parameter.
 *
 * Early at boot the kernel's generator is not seeded yet (getrandom(2), GRND_NONBLOCK). Jitter
 * and names that only have to differ take what there is then, and never wait; a secret
 * waits, or is not made.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;

/* Bytes of one secret: what one getrandom(2) gives whole, whatever signal comes. */
enum { RANDOM_SECRET_MAX = 256 };

/* 64 random bits, for jitter and for names: not for secrets. Never waits. */
uint64_t random_u64(void);

/*
 * `size` bytes for a token, a key or a nonce. Waits for the kernel until `deadline_us`
 * (CLOCK_MONOTONIC; one that has passed: not at all). -EAGAIN when it is not seeded by then,
 * -EINVAL for more than RANDOM_SECRET_MAX, and others of the kernel.
 */
int random_secret(void *ret_bytes, size_t size, uint64_t deadline_us, struct err *err);

/* Letters of a token that nobody guesses, of 6 bits each: 258. */
enum { RANDOM_TOKEN_LETTERS = 43 };

/*
 * The same as so many letters, digits, '-' and '_' (base64url, RFC 4648 section 5) and a NUL.
 * Errors as random_secret().
 */
int random_token(char *ret, size_t letters, uint64_t deadline_us, struct err *err);
