/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Macros that every file uses: cleanup on scope exit, moving ownership, array sizes, compiler
 * attributes.
 *
 *	CLEANUP(freep) char *name = xstrdup("x");
 *	...
 *	*ret_name = TAKE(name);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define MUST_CHECK __attribute__((warn_unused_result))
#define UNUSED __attribute__((unused))

/*
 * Call `fn(&variable)` when the variable leaves its scope. That can be its only use, as with a
 * lock; `unused` keeps clang from warning.
 */
#define CLEANUP(fn) __attribute__((cleanup(fn), unused))

/* Give the pointer away: evaluates to it and leaves NULL behind. */
#define TAKE(ptr)                              \
	({                                     \
		__typeof__(ptr) take_ = (ptr); \
		(ptr) = NULL;                  \
		take_;                         \
	})

/* The same for a file descriptor: leaves -1 behind. */
#define TAKE_FD(fd)               \
	({                        \
		int take_ = (fd); \
		(fd) = -1;        \
		take_;            \
	})

#define ARRAY_SIZE(a)                 \
	(sizeof(a) / sizeof((a)[0]) + \
	 0 * sizeof(char[1 - 2 * __builtin_types_compatible_p(__typeof__(a), __typeof__(&(a)[0]))]))

#define MIN(a, b)                                  \
	({                                         \
		__typeof__(a) min_a_ = (a);        \
		__typeof__(b) min_b_ = (b);        \
		min_a_ < min_b_ ? min_a_ : min_b_; \
	})
#define MAX(a, b)                                  \
	({                                         \
		__typeof__(a) max_a_ = (a);        \
		__typeof__(b) max_b_ = (b);        \
		max_a_ > max_b_ ? max_a_ : max_b_; \
	})

/* Define `name(type *p)`: calls `fn(*p)` unless NULL. For CLEANUP(). */
#define DEFINE_CLEANUP(type, fn, name)   \
	static inline void name(type *p) \
	{                                \
		if (*p)                  \
			fn(*p);          \
	}                                \
	struct name##_needs_semicolon

/* True if both strings are equal; NULL equals only NULL. */
static inline bool streq(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* True when `text` begins with `prefix`. */
static inline bool starts_with(const char *text, const char *prefix)
{
	while (*prefix && *text == *prefix) {
		text++;
		prefix++;
	}
	return !*prefix;
}
