/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the system calls that processes block in, by the numbers of this architecture
 * (<asm/unistd.h>), and the meaning of some kernel wait channels.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

/* "futex", or "call 1234" if it is not listed; "" for none. */
void hang_call_name(int64_t number, char *ret, size_t size);

/* Does the call wait for a lock or another thread? */
bool hang_call_is_futex(int64_t number);

/* Does a thread with this wchan wait for a file system in user space (FUSE)? */
bool hang_call_is_file_system(const char *wchan);

/* Does a thread with this wchan wait for its control group to be thawed? */
bool hang_call_is_frozen(const char *wchan);
