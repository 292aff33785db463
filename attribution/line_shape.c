/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/line_shape.h"

#include "attribution/optype.h"
#include "lib/base/pool.h"
#include "lib/json/jscan.h"

enum {
	DIGITS_MAX = 18,       /* of a number parsed here; always fits int64_t */
	WHOLE_DIGITS_MAX = 10, /* before the point: eight more are parsed at once */
	POWER_MAX = 22,	       /* 10^22 is the largest power of ten that a double holds */
	NUMBER_MAX = 48,       /* bytes of a number parsed by the slow path here */
};

/* All integers up to here are exact doubles. */
#define WHOLE_MAX (INT64_C(1) << 53)

#define FIELD(constant, key, member, must) \
	[constant] = { key, offsetof(struct trace_op, member), must }

const struct line_field_info line_fields[FIELD_N] = {
	FIELD(FIELD_STEP, "step", step, true),
	FIELD(FIELD_DP_RANK, "dp_rank", dp_rank, true),
	FIELD(FIELD_STAGE, "stage", stage, true),
	FIELD(FIELD_SEQ_ID, "seq_id", seq_id, true),
	FIELD(FIELD_RANK, "rank", rank, false),
	FIELD(FIELD_MB_ID, "mb_id", mb_id, false),
	FIELD(FIELD_MC, "mc", mc, false),
	FIELD(FIELD_GMC, "gmc", gmc, false),
	FIELD(FIELD_OPTYPE, "optype", type, true),
	FIELD(FIELD_START, "start_ts", start, true),
	FIELD(FIELD_DURATION, "duration", duration, true),
};

static const unsigned char ones[SHAPE_TEXT_MAX] = { [0 ... SHAPE_TEXT_MAX - 1] = 0xff };

void line_names_fill(struct line_names *names)
{
	int i;

	memset(names, 0, sizeof(*names));
	memset(names->by_length, -1, sizeof(names->by_length));
	for (i = 0; i < OPTYPE_N; i++) {
		const char *name = optype_name((enum optype)i);
		size_t length = strlen(name);
		int *same = names->by_length[length];

		memcpy(names->names[i].words, name, length);
		memcpy(names->names[i].masks, ones, length);
		same[same[0] >= 0] = i;
	}
}

bool line_shape_add(struct line_shape *shape, const char *text, size_t length, int field)
{
	unsigned i = shape->n;

	if (length > SHAPE_TEXT_MAX || i > SHAPE_VALUES_MAX) {
		shape->n = 0;
		return false;
	}
	memset(&shape->parts[i], 0, sizeof(shape->parts[i]));
	memcpy(shape->parts[i].words, text, length);
	memcpy(shape->parts[i].masks, ones, length);
	shape->parts[i].length = (uint32_t)length;
	shape->parts[i].field = field;
	shape->n++;
	return true;
}

static inline uint64_t load(const char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static inline bool is_digit(char c)
{
	return (unsigned char)(c - '0') <= 9;
}

/* Compare the bytes selected by the masks. Most texts are shorter than 16. */
static inline bool is_text(const char *at, const uint64_t *words, const uint64_t *masks,
			   size_t length)
{
	uint64_t differs = ((load(at) ^ words[0]) & masks[0]) |
			   ((load(at + 8) ^ words[1]) & masks[1]);

	if (length > 16)
		differs |= ((load(at + 16) ^ words[2]) & masks[2]) |
			   ((load(at + 24) ^ words[3]) & masks[3]);
	return differs == 0;
}

/* Append the digits at `at` to `*value`; returns their end, or NULL if it is not before `last`. */
static inline const char *take_digits(const char *at, const char *last, int64_t *value)
{
	int64_t v = *value;

	for (; is_digit(*at); at++) {
		if (at == last)
			return NULL;
		v = v * 10 + (*at - '0');
	}
	*value = v;
	return at;
}

/* An integer in JSON syntax. */
static inline const char *take_integer(const char *at, int64_t *ret)
{
	bool negative = *at == '-';
	const char *begin = at + negative, *end;
	int64_t value = 0;

	end = take_digits(begin, begin + DIGITS_MAX, &value);
	if (!end || end == begin || (*begin == '0' && end - begin > 1))
		return NULL;
	*ret = negative ? -value : value;
	return end;
}

/* Are all eight bytes digits? Neither nibble may exceed that of '9'. */
static inline bool are_digits(uint64_t word)
{
	return ((word & 0xf0f0f0f0f0f0f0f0u) |
		(((word + 0x0606060606060606u) & 0xf0f0f0f0f0f0f0f0u) >> 4)) == 0x3333333333333333u;
}

/* Value of eight digits, the first in the lowest byte: combines pairs, fours, all. */
static inline int64_t eight_digits(uint64_t word)
{
	word = (word & 0x0f0f0f0f0f0f0f0fu) * 2561 >> 8;
	word = (word & 0x00ff00ff00ff00ffu) * 6553601 >> 16;
	return (int64_t)((word & 0x0000ffff0000ffffu) * 42949672960001u >> 32);
}

/* The digits after the point, usually eight or more. */
static inline const char *take_fraction(const char *at, const char *last, int64_t *value)
{
	uint64_t word = load(at);

	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && are_digits(word)) {
		*value = *value * 100000000 + eight_digits(word);
		at += 8;
	}
	return take_digits(at, last, value);
}

/* Numbers with more digits or an exponent, with the strict parsers' result. */
static const char *take_long_real(const char *at, double *ret)
{
	CLEANUP(pool_release) struct pool pool = { 0 };
	size_t length = strspn(at, "0123456789.eE+-");
	struct jscan scan = jscan_of(at, length, &pool);
	struct jnumber number;

	if (length > NUMBER_MAX || jscan_number(&scan, &number) < 0 || number.whole)
		return NULL;
	*ret = number.real;
	return scan.at;
}

/*
 * A number with so few digits that one division gives the nearest double (Clinger 1990: both
 * operands are exact, so there is a single rounding).
 */
static inline const char *take_real(const char *at, double *ret)
{
	static const double powers[POWER_MAX + 1] = {
		1e0,  1e1,  1e2,  1e3,	1e4,  1e5,  1e6,  1e7,	1e8,  1e9,  1e10, 1e11,
		1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
	};
	bool negative = *at == '-';
	const char *begin = at + negative, *point, *end;
	int64_t value = 0;
	double real;

	point = end = take_digits(begin, begin + WHOLE_DIGITS_MAX, &value);
	if (!end || end == begin || (*begin == '0' && end - begin > 1))
		return NULL;
	if (*point == '.') {
		end = take_fraction(point + 1, begin + 1 + DIGITS_MAX, &value);
		if (end == point + 1)
			return NULL;
	}
	if (!end || value > WHOLE_MAX || (*end | 0x20) == 'e')
		return take_long_real(at, ret);
	real = (double)value;
	if (end != point)
		real /= powers[end - point - 1];
	*ret = negative ? -real : real;
	return end;
}

/* An operation's name; `*ret` is its type. */
static inline const char *take_name(const struct line_names *names, const char *at, char quote,
				    int64_t *ret)
{
	size_t length = 0;
	int i, type;

	while (length < SHAPE_TEXT_MAX && at[length] != quote && at[length] >= ' ')
		length++;
	for (i = 0; i < 2; i++) {
		type = names->by_length[length][i];
		if (type >= 0 &&
		    is_text(at, names->names[type].words, names->names[type].masks, length)) {
			*ret = type;
			return at + length;
		}
	}
	return NULL;
}

/* Skip a value that is not needed; NULL if its end is not obvious. */
static const char *skip_other(const struct line_shape *shape, const char *at)
{
	double ignored;

	if (shape->csv) {
		while (*at >= ' ' && *at != ',' && *at != '"')
			at++;
		return at;
	}
	if (*at != '"')
		return take_real(at, &ignored);
	do
		at++;
	while ((signed char)*at >= ' ' && *at != '"' && *at != '\\');
	return *at == '"' ? at + 1 : NULL;
}

/* Writes the members of `op` by offset: integers are int64_t, times double. */
static inline const char *take_value(const struct line_shape *shape, const struct line_names *names,
				     int field, const char *at, struct trace_op *op)
{
	char *member = (char *)op + (field < FIELD_N ? line_fields[field].offset : 0);
	int64_t integer = 0;
	double real = 0;

	if (field <= FIELD_GMC) {
		at = take_integer(at, &integer);
		memcpy(member, &integer, sizeof(integer));
		return at;
	}
	if (field == FIELD_START || field == FIELD_DURATION) {
		at = take_real(at, &real);
		memcpy(member, &real, sizeof(real));
		return at;
	}
	if (field == FIELD_OPTYPE) {
		at = take_name(names, at, shape->csv ? ',' : '"', &integer);
		op->type = (int)integer;
		return at;
	}
	return skip_other(shape, at);
}

const char *line_shape_read(const struct line_shape *shape, const struct line_names *names,
			    const char *at, struct trace_op *op)
{
	unsigned i;

	for (i = 0; i < shape->n; i++) {
		if (!is_text(at, shape->parts[i].words, shape->parts[i].masks,
			     shape->parts[i].length))
			return NULL;
		at += shape->parts[i].length;
		if (shape->parts[i].field == FIELD_END)
			break;
		at = take_value(shape, names, shape->parts[i].field, at, op);
		if (!at)
			return NULL;
	}
	at += *at == '\r';
	return i < shape->n && *at == '\n' ? at : NULL;
}
