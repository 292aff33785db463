/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of system calls in which processes wait, by the numbers of this machine
 * (<asm/unistd.h>), and of places in the kernel that say more than the call.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

/* "futex", or "call 1234" for one that is not listed; "" for none. */
void hang_call_name(int64_t number, char *ret, size_t size);

/* A lock, or another thread. */
bool hang_call_is_futex(int64_t number);

/* Does who sleeps there wait for a file system that is a program (FUSE)? */
bool hang_call_is_file_system(const char *wchan);

/* Does who sleeps there wait for its control group to be thawed? */
bool hang_call_is_frozen(const char *wchan);
