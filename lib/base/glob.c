/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/glob.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

enum { BYTES = 256, CLASS_NAME_MAX = 8 };

/*
 * Simulates all steps of a pattern at once (Baeza-Yates and Gonnet, "A new approach to text
 * searching", CACM 35, 1992): bit i of the state is set if the first i steps match the text so far.
 */
struct machine {
	uint64_t take[BYTES]; /* bit i: step i accepts this byte */
	uint64_t any;	      /* bit i: step i accepts any byte */
	uint64_t stay;	      /* bit i: a * precedes step i */
	unsigned n;	      /* steps */
};

static bool add_class(bool set[BYTES], const char *name, size_t length)
{
	static const struct {
		const char *name;
		int (*has)(int c);
	} rows[] = {
		{ "alnum", isalnum }, { "alpha", isalpha }, { "blank", isblank },
		{ "cntrl", iscntrl }, { "digit", isdigit }, { "graph", isgraph },
		{ "lower", islower }, { "print", isprint }, { "punct", ispunct },
		{ "space", isspace }, { "upper", isupper }, { "xdigit", isxdigit },
	};
	size_t i;
	int c;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strlen(rows[i].name) != length || memcmp(rows[i].name, name, length) != 0)
			continue;
		for (c = 0; c < BYTES; c++)
			set[c] |= rows[i].has(c) != 0;
		return true;
	}
	return false;
}

/* Reads "[:name:]" at `p`. Returns what follows it, or NULL if it is not a class. */
static const char *read_class(bool set[BYTES], const char *p)
{
	const char *end = p[1] == ':' ? strstr(p + 2, ":]") : NULL;

	if (!end || !add_class(set, p + 2, (size_t)(end - p - 2)))
		return NULL;
	return end + 2;
}

/* Reads one character of a set, escaped or not. Returns what follows it, or NULL at the end. */
static const char *read_one(const char *p, unsigned char *ret)
{
	if (*p == '\\')
		p++;
	if (!*p)
		return NULL;
	*ret = (unsigned char)*p;
	return p + 1;
}

/* Reads the set that begins at `p` with "[". Returns what follows it, or NULL if unclosed. */
static const char *read_set(const char *p, bool set[BYTES])
{
	bool negated = p[1] == '!' || p[1] == '^', first = true;
	const char *behind;
	unsigned char low = 0, high = 0;
	unsigned c;

	memset(set, 0, BYTES * sizeof(*set));
	for (p += 1 + negated; first || *p != ']'; first = false) {
		behind = *p == '[' ? read_class(set, p) : NULL;
		if (behind) {
			p = behind;
			continue;
		}
		p = read_one(p, &low);
		high = low;
		if (p && p[0] == '-' && p[1] && p[1] != ']')
			p = read_one(p + 1, &high);
		if (!p)
			return NULL;
		for (c = low; c <= high; c++)
			set[c] = true;
	}
	for (c = 0; c < BYTES; c++)
		set[c] = set[c] != negated;
	return p + 1;
}

/* Reads the step at `p`: which bytes it accepts. Returns what follows it. */
static const char *read_step(const char *p, bool set[BYTES])
{
	const char *behind = *p == '[' ? read_set(p, set) : NULL;

	if (behind)
		return behind;
	memset(set, 0, BYTES * sizeof(*set));
	if (*p == '\\' && !*++p) /* a trailing backslash matches nothing */
		return p;
	set[(unsigned char)*p] = true;
	return p + 1;
}

/* Returns false if the pattern has too many steps or sets. */
static bool machine_read(struct machine *m, const char *p)
{
	unsigned sets = 0;
	bool set[BYTES];
	size_t c;

	memset(m, 0, sizeof(*m));
	while (*p) {
		uint64_t bit = (uint64_t)1 << m->n;

		if (*p == '*') {
			m->stay |= bit;
			p++;
			continue;
		}
		if (m->n == GLOB_STEPS_MAX)
			return false;
		if (*p == '?') {
			m->any |= bit;
			p++;
		} else if (*p != '[' && *p != '\\') { /* the common case */
			m->take[(unsigned char)*p++] |= bit;
		} else if (++sets > GLOB_SETS_MAX) {
			return false;
		} else {
			p = read_step(p, set);
			for (c = 0; c < BYTES; c++)
				m->take[c] |= set[c] ? bit : 0;
		}
		m->n++;
	}
	return true;
}

static size_t plain_length(const char *pattern)
{
	return strcspn(pattern, "*?[\\");
}

/* Patterns like "*.correct", a * and plain characters, need no machine. */
static bool is_end(const char *pattern)
{
	const size_t plain = pattern[0] == '*' ? plain_length(pattern + 1) : 0;

	return pattern[0] == '*' && !pattern[1 + plain] && plain <= GLOB_STEPS_MAX;
}

static bool ends_with(const char *text, const char *end)
{
	const size_t length = strlen(text), rest = strlen(end);

	return length >= rest && memcmp(text + length - rest, end, rest) == 0;
}

bool glob_ok(const char *pattern)
{
	size_t length = strnlen(pattern, GLOB_BYTES_MAX + 1);
	struct machine m;

	return length <= GLOB_BYTES_MAX &&
	       (plain_length(pattern) == length || machine_read(&m, pattern));
}

bool glob_match(const char *pattern, const char *text)
{
	size_t plain = plain_length(pattern);
	uint64_t state = 1;
	struct machine m;

	if (!pattern[plain])
		return streq(pattern, text);
	if (strncmp(pattern, text, plain) != 0)
		return false;
	pattern += plain;
	text += plain;
	if (is_end(pattern))
		return ends_with(text, pattern + 1);
	if (!machine_read(&m, pattern))
		return false;
	for (; *text && state; text++)
		state = ((state & (m.take[(unsigned char)*text] | m.any)) << 1) | (state & m.stay);
	return (state >> m.n) & 1;
}
