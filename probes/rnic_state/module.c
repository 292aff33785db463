/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_state/module.h"

#include <errno.h>
#include <math.h>

#include "lib/base/utf8.h"

#define DBM_MIN (-40.0)

const char *const module_kind_names[] = { "unknown", "SFF-8472", "SFF-8636", "CMIS" };

const struct module_place module_places[PARTS] = {
	[PART_LOWER] = { 0x50, 0, 0 },	  [PART_PAGE_0] = { 0x50, 0, 128 },
	[PART_PAGE_1] = { 0x50, 1, 128 }, [PART_PAGE_2] = { 0x50, 2, 128 },
	[PART_PAGE_3] = { 0x50, 3, 128 }, [PART_PAGE_11H] = { 0x50, 0x11, 128 },
	[PART_A2] = { 0x51, 0, 0 },
};

/* SFF-8024, table 4-1. */
static const struct {
	uint8_t identifier;
	enum module_kind kind;
} identifiers[] = {
	{ 0x03, MODULE_SFF8472 }, /* SFP, SFP+, SFP28 */
	{ 0x0b, MODULE_SFF8472 }, /* DWDM-SFP */
	{ 0x0c, MODULE_SFF8636 }, /* QSFP */
	{ 0x0d, MODULE_SFF8636 }, /* QSFP+ */
	{ 0x11, MODULE_SFF8636 }, /* QSFP28 */
	{ 0x18, MODULE_CMIS },	  /* QSFP-DD */
	{ 0x19, MODULE_CMIS },	  /* OSFP */
	{ 0x1b, MODULE_CMIS },	  /* DSFP */
	{ 0x1e, MODULE_CMIS },	  /* QSFP with CMIS: QSFP56, QSFP112 */
	{ 0x1f, MODULE_CMIS },	  /* SFP-DD with CMIS */
	{ 0x20, MODULE_CMIS },	  /* SFP with CMIS */
};

enum module_kind module_kind(const struct module_image *image)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(identifiers) && image->there[PART_LOWER]; i++) {
		if (identifiers[i].identifier == image->bytes[PART_LOWER][0])
			return identifiers[i].kind;
	}
	return MODULE_UNKNOWN;
}

void module_wants(const struct module_image *image, enum module_part ret[static PARTS + 1])
{
	enum { SFF8636_FLAT = 1 << 2, CMIS_FLAT = 1 << 7, SFF8472_HAS_MONITORS = 1 << 6 };
	uint8_t status = image->bytes[PART_LOWER][2];
	size_t n = 0;

	switch (module_kind(image)) {
	case MODULE_SFF8472:
		if (image->bytes[PART_LOWER][92] & SFF8472_HAS_MONITORS)
			ret[n++] = PART_A2;
		break;
	case MODULE_SFF8636:
		if (!(status & SFF8636_FLAT))
			ret[n++] = PART_PAGE_3;
		break;
	case MODULE_CMIS:
		if (status & CMIS_FLAT)
			break;
		ret[n++] = PART_PAGE_1;
		ret[n++] = PART_PAGE_2;
		ret[n++] = PART_PAGE_11H;
		break;
	case MODULE_UNKNOWN:
		break;
	}
	ret[n] = PARTS;
}

unsigned module_byte(const struct module_image *image, enum module_part part, unsigned at)
{
	return image->bytes[part][at % MODULE_PART_SIZE];
}

unsigned module_u16(const struct module_image *image, enum module_part part, unsigned at)
{
	return (unsigned)module_byte(image, part, at) << 8 | module_byte(image, part, at + 1);
}

int module_s16(const struct module_image *image, enum module_part part, unsigned at)
{
	int value = (int)module_u16(image, part, at);

	return value > INT16_MAX ? value - (UINT16_MAX + 1) : value;
}

void module_text(const struct module_image *image, enum module_part part, unsigned at,
		 char ret[static MODULE_TEXT_SIZE])
{
	size_t len = MODULE_TEXT_SIZE - 1, i;

	ret[0] = '\0';
	if (!image->there[part])
		return;
	for (i = 0; i < len; i++)
		ret[i] = (char)module_byte(image, part, at + (unsigned)i);
	while (len > 0 && (ret[len - 1] == ' ' || ret[len - 1] == '\0'))
		len--;
	ret[len] = '\0';
	ascii_clean(ret);
}

struct module_limits module_limits_at(const struct module_image *image, enum module_part part,
				      unsigned at, double scale, bool is_signed)
{
	double v[4];
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(v); i++) {
		unsigned where = at + 2 * i;

		v[i] = NAN;
		if (image->there[part])
			v[i] = scale * (is_signed ? module_s16(image, part, where)
						  : (int)module_u16(image, part, where));
	}
	return (struct module_limits){ v[0], v[1], v[2], v[3] };
}

double module_dbm(double mw)
{
	return mw > 0 ? MAX(10 * log10(mw), DBM_MIN) : DBM_MIN;
}

/* Modules without limits have the same value for both ends. */
static bool between(double value, double low, double high)
{
	return !(high > low) || (value >= low && value <= high);
}

unsigned module_beyond(const struct module_value *v, const struct module_limits *limits)
{
	unsigned beyond = v->flags;

	if (isnan(v->value))
		return beyond;
	if (!between(v->value, limits->low_alarm, limits->high_alarm))
		beyond |= v->value < limits->low_alarm ? FLAG_LOW_ALARM : FLAG_HIGH_ALARM;
	if (!between(v->value, limits->low_warning, limits->high_warning))
		beyond |= v->value < limits->low_warning ? FLAG_LOW_WARNING : FLAG_HIGH_WARNING;
	return beyond;
}

static void know_nothing(struct module *m)
{
	static const struct module_limits none = { NAN, NAN, NAN, NAN };
	size_t i, k;

	*m = (struct module){ .temperature.value = NAN, .voltage.value = NAN };
	m->temperature_limits = none;
	m->voltage_limits = none;
	for (k = 0; k < MONITORS; k++) {
		m->limits[k] = none;
		for (i = 0; i < MODULE_LANES_MAX; i++)
			m->lanes[i].monitors[k].value = NAN;
	}
}

int module_decode(const struct module_image *image, struct module *ret)
{
	static void (*const decoders[])(const struct module_image *, struct module *) = {
		[MODULE_SFF8472] = module_sff8472,
		[MODULE_SFF8636] = module_sff8636,
		[MODULE_CMIS] = module_cmis,
	};
	enum module_kind kind = module_kind(image);

	if (kind == MODULE_UNKNOWN)
		return -ENODATA;
	know_nothing(ret);
	ret->kind = kind;
	decoders[kind](image, ret);
	return 0;
}
