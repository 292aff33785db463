/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the fast reader of reports with the slow one, which builds a jansson tree. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A report without its end, and the members every sample needs. */
#define HEAD                                                                                      \
	"{\"v\":1,\"kind\":\"report\",\"node\":\"n\",\"boot_id\":\"b\",\"seq\":1,\"time\":\"t\"," \
	"\"profile\":\"quick\""
#define SAMPLE "\"check\":\"c\",\"subject\":\"s\",\"state\":\"measured\",\"unit\":\"B/s\""

/* Reads the text with both and CHECKs that they agree to the bit. Returns whether they accept it. */
bool both_read(const char *text, size_t length);

/* The same, and CHECKs the result. */
void both_read_as(const char *text, bool taken);

/* Returns `n` times the same byte. The caller frees it. */
char *repeated_byte(char which, size_t n);
