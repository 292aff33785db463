/* SPDX-License-Identifier: Apache-2.0 */
/* Parses /proc/cpuinfo. Pure. */
#pragma once

#include "lib/base/macro.h"

/* The value of the first "key : value" line; NULL if there is none. New memory. */
char *cpuinfo_value(const char *text, const char *key) MUST_CHECK;

/*
 * The model of the processor: "model name" on x86. arm64 has numbers instead, which are translated
 * for servers ("Neoverse-V2", which is NVIDIA's Grace); others are shown as implementer and part,
 * "arm64 0x41:0xd4f". NULL if there is neither. New memory.
 */
char *cpuinfo_model(const char *text) MUST_CHECK;
