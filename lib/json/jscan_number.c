/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of a scan. A decimal with few digits is converted to the nearest double by arithmetic
 * that rounds once; longer ones are left to strtod(), which is many times slower. Both round to
 * nearest, ties to even, so the result is the same. No program here sets a locale, so the decimal
 * point is a point.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/pool.h"
#include "lib/json/jscan.h"
#include "lib/json/swar.h"

enum {
	DIGITS_MAX = 19,	/* always fit a uint64_t */
	EXPONENT_MAX = 9999,	/* larger ones are clamped */
	DOUBLE_POWER_MAX = 22,	/* 10^22 is the largest power of ten that is an exact double */
	INTEGER_POWER_MAX = 19, /* and 10^19 the largest that fits a uint64_t */
};

/* All integers up to this are exact doubles. */
#define DOUBLE_WHOLE_MAX (UINT64_C(1) << 53)

__extension__ typedef unsigned __int128 u128;

/* The powers of ten that fit a uint64_t. */
static const uint64_t tens[INTEGER_POWER_MAX + 1] = {
	1u,
	10u,
	100u,
	1000u,
	10000u,
	100000u,
	1000000u,
	10000000u,
	100000000u,
	1000000000u,
	10000000000u,
	100000000000u,
	1000000000000u,
	10000000000000u,
	100000000000000u,
	1000000000000000u,
	10000000000000000u,
	100000000000000000u,
	1000000000000000000u,
	10000000000000000000u,
};

/* The value is digits * 10^exponent. */
struct decimal {
	uint64_t digits;
	int n; /* number of digits, from the first nonzero one */
	int exponent;
	bool negative, whole;
	bool cut; /* further digits did not fit: only the sign matters */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Number of digits at the beginning of the eight bytes at `at`; `ret` is their value. */
static int digits_of_eight(const char *at, uint64_t *ret)
{
	uint64_t bytes = swar_load(at) ^ SWAR_EACH('0'); /* 0 to 9: a digit */
	/* Carries only affect later bytes, so the first hit is correct. */
	const uint64_t odd = (bytes | (bytes + SWAR_EACH(0x80 - 10))) & SWAR_EACH(0x80);
	const int n = odd ? __builtin_ctzll(odd) / 8 : SWAR_BYTES;

	if (n == 0)
		return 0;
	/* Pads with zeros in front, nothing behind. */
	bytes <<= 8 * (SWAR_BYTES - n);
	/* Combines neighbours into numbers of two, four, eight digits, most significant first. */
	bytes = (bytes * 10 + (bytes >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
	bytes = (bytes * 100 + (bytes >> 16)) & UINT64_C(0x0000ffff0000ffff);
	*ret = (bytes * 10000 + (bytes >> 32)) & UINT32_MAX;
	return n;
}

/* Reads digits; each changes the exponent by `step`. Returns where they end. */
static inline const char *take_digits(struct decimal *d, const char *at, const char *end, int step)
{
	const char *begin = at, *first, *last;
	uint64_t digits = d->digits, some = 0;
	int n = SWAR_BYTES;

	/* Leading zeros only affect the exponent. */
	while (digits == 0 && at < end && *at == '0')
		at++;
	first = at;
	last = end - at > DIGITS_MAX - d->n ? at + (DIGITS_MAX - d->n) : end;
	while (n == SWAR_BYTES && last - at >= SWAR_BYTES) {
		n = digits_of_eight(at, &some);
		if (n > 0)
			digits = digits * tens[n] + some;
		at += n;
	}
	while (n == SWAR_BYTES && at < last && is_digit(*at))
		digits = digits * 10 + (uint64_t)(*at++ - '0');
	d->digits = digits;
	d->n += (int)(at - first);
	d->exponent += step * (int)(at - begin);
	d->cut |= at < end && is_digit(*at);
	while (at < end && is_digit(*at))
		at++;
	return at;
}

static const char *take_exponent(struct decimal *d, const char *at, const char *end)
{
	bool negative = at < end && *at == '-';
	int value = 0;

	if (at < end && (*at == '-' || *at == '+'))
		at++;
	if (at == end || !is_digit(*at))
		return NULL;
	for (; at < end && is_digit(*at); at++) {
		value = value * 10 + (*at - '0');
		d->cut |= value > EXPONENT_MAX;
		value = MIN(value, (int)EXPONENT_MAX);
	}
	d->exponent += negative ? -value : value;
	return at;
}

/* The grammar of RFC 8259, section 6; NULL if it is not a number. */
static const char *take_decimal(struct decimal *d, const char *at, const char *end)
{
	const char *begin;

	d->whole = true;
	d->negative = at < end && *at == '-';
	begin = at += d->negative;
	at = take_digits(d, at, end, 0);
	if (at == begin || (*begin == '0' && at - begin > 1))
		return NULL;
	if (at < end && *at == '.') {
		d->whole = false;
		begin = at + 1;
		at = take_digits(d, begin, end, -1);
		if (at == begin)
			return NULL;
	}
	if (at < end && (*at == 'e' || *at == 'E')) {
		d->whole = false;
		at = take_exponent(d, at + 1, end);
	}
	return at;
}

/* The nearest double to value * 2^exponent; `inexact`: the exact value is slightly larger. */
static double nearest(u128 value, bool inexact, int exponent)
{
	uint64_t high = (uint64_t)(value >> 64), top;
	int shift = high ? 64 - __builtin_clzll(high) : 0;

	top = (uint64_t)(value >> shift);
	inexact |= value != (u128)top << shift;
	/* A double takes 53 of at least 63 bits; the last one only marks a remainder. */
	return ldexp((double)(top | inexact), exponent + shift);
}

/* Exact in integers: the digits times or divided by a power of ten. */
static double by_integers(uint64_t digits, int exponent)
{
	int shift = __builtin_clzll(digits);
	u128 wide, quotient;

	if (exponent >= 0)
		return nearest((u128)digits * tens[exponent], false, 0);
	/* The largest possible numerator gives at least 64 bits. */
	wide = (u128)(digits << shift) << 64;
	quotient = wide / tens[-exponent];
	return nearest(quotient, wide != quotient * tens[-exponent], -64 - shift);
}

/* Clinger 1990: both operands are exact, so the single operation rounds once. */
static double by_doubles(uint64_t digits, int exponent)
{
	static const double powers[DOUBLE_POWER_MAX + 1] = {
		1e0,  1e1,  1e2,  1e3,	1e4,  1e5,  1e6,  1e7,	1e8,  1e9,  1e10, 1e11,
		1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
	};

	return exponent < 0 ? (double)digits / powers[-exponent]
			    : (double)digits * powers[exponent];
}

static int real_of(struct jscan *s, const struct decimal *d, const struct jtext *text, double *ret)
{
	double value;

	if (!d->cut && d->digits <= DOUBLE_WHOLE_MAX && abs(d->exponent) <= DOUBLE_POWER_MAX)
		value = by_doubles(d->digits, d->exponent);
	else if (!d->cut && d->digits && abs(d->exponent) <= INTEGER_POWER_MAX)
		value = by_integers(d->digits, d->exponent);
	else
		value = fabs(strtod(pool_text(s->pool, text->at, text->length), NULL));
	*ret = d->negative ? -value : value;
	return isinf(value) ? -EINVAL : 0;
}

static int integer_of(const struct decimal *d, int64_t *ret)
{
	uint64_t most = (uint64_t)INT64_MAX + d->negative;

	if (d->cut || d->digits > most)
		return -EINVAL;
	*ret = (int64_t)(d->negative ? -d->digits : d->digits);
	return 0;
}

int jscan_number(struct jscan *s, struct jnumber *ret_number)
{
	struct decimal d = { 0 };
	struct jnumber number = { 0 };
	struct jtext text;
	const char *after;
	int r;

	(void)jscan_peek(s);
	after = take_decimal(&d, s->at, s->end);
	if (!after)
		return -EINVAL;
	text = (struct jtext){ s->at, (size_t)(after - s->at) };
	s->at = after;
	number.whole = d.whole;
	if (d.whole) {
		r = integer_of(&d, &number.integer);
		number.real = (double)number.integer;
	} else {
		r = real_of(s, &d, &text, &number.real);
	}
	if (r == 0)
		*ret_number = number;
	return r;
}
