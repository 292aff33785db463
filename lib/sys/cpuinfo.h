/* SPDX-License-Identifier: Apache-2.0 */
/* What the text of /proc/cpuinfo says. Pure. */
#pragma once

#include "lib/base/macro.h"

/* The value of the first "key : value" line; NULL when there is none. New memory. */
char *cpuinfo_value(const char *text, const char *key) MUST_CHECK;

/*
 * The model of the processor: "model name" of x86. arm64 has numbers instead, of
 * which those of servers have a name ("Neoverse-V2", which is NVIDIA's Grace);
 * others are as they are: "arm64 0x41:0xd4f", implementer and part. NULL when
 * neither is there. New memory.
 */
char *cpuinfo_model(const char *text) MUST_CHECK;
