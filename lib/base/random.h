/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers from the kernel. Pure code takes them as a parameter.
 *
 * Early at boot the kernel's generator is not seeded yet (getrandom(2), GRND_NONBLOCK). For jitter
 * and unique names, what it gives then is good enough, so they never wait. A secret waits for the
 * seed, or fails.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;

/* Most bytes of one secret: getrandom(2) returns up to 256 bytes whole, whatever signals arrive. */
enum { RANDOM_SECRET_MAX = 256 };

/* 64 random bits, for jitter and names; not for secrets. Never waits. */
uint64_t random_u64(void);

/*
 * `size` bytes for a token, a key or a nonce. Waits for the kernel's generator until `deadline_us`
 * (CLOCK_MONOTONIC; one in the past: does not wait). -EAGAIN if it is not seeded by then, -EINVAL
 * for more than RANDOM_SECRET_MAX, or another errno of the kernel.
 */
int random_secret(void *ret_bytes, size_t size, uint64_t deadline_us, struct err *err);

/* Letters of a token that cannot be guessed: 6 bits each, 258 in all. */
enum { RANDOM_TOKEN_LETTERS = 43 };

/*
 * Like random_secret(), as that many letters, digits, '-' and '_' (base64url, RFC 4648 section 5)
 * and a NUL. The same errors.
 */
int random_token(char *ret, size_t letters, uint64_t deadline_us, struct err *err);
