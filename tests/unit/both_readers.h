/* SPDX-License-Identifier: Apache-2.0 */
/* The quick reader of reports beside the careful one, which is a tree of jansson. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A report without its end, and what every sample needs. */
#define HEAD                                                                                      \
	"{\"v\":1,\"kind\":\"report\",\"node\":\"n\",\"boot_id\":\"b\",\"seq\":1,\"time\":\"t\"," \
	"\"profile\":\"quick\""
#define SAMPLE "\"check\":\"c\",\"subject\":\"s\",\"state\":\"measured\",\"unit\":\"B/s\""

/* Both read the text: CHECK that they agree on it, to the bit; returns whether they took it. */
bool both_read(const char *text, size_t length);

/* The same, and CHECK what they say. */
void both_read_as(const char *text, bool taken);

/* `n` times the same byte; free it. */
char *repeated_byte(char which, size_t n);
