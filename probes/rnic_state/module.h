/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes the EEPROM of the module or cable in a port's cage: bytes in, a struct out. Pure.
 *
 * There are three layouts: SFF-8472 (SFP28), SFF-8636 (QSFP28) and CMIS (QSFP-DD, OSFP), identified
 * by byte 0 (SFF-8024, table 4-1). An image has the 128-byte parts that the layout needs. A part
 * that could not be read is missing, and the values in it are unknown.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum { MODULE_PART_SIZE = 128, MODULE_LANES_MAX = 8, MODULE_TEXT_SIZE = 17 };

/* The parts of an image. */
enum module_part {
	PART_LOWER,    /* bytes 0 to 127; for SFF-8472 of address A0h */
	PART_PAGE_0,   /* bytes 128 to 255 of page 00h; the same */
	PART_PAGE_1,   /* CMIS: advertised monitors */
	PART_PAGE_2,   /* CMIS: thresholds */
	PART_PAGE_3,   /* SFF-8636: thresholds */
	PART_PAGE_11H, /* CMIS: lanes */
	PART_A2,       /* SFF-8472: bytes 0 to 127 of address A2h */
	PARTS,
};

struct module_image {
	bool there[PARTS];
	uint8_t bytes[PARTS][MODULE_PART_SIZE];
};

/* Where a part is in the module. */
struct module_place {
	uint8_t address; /* on the I2C bus: 0x50 or 0x51 */
	uint8_t page;
	uint8_t offset; /* 0 or 128 */
};
extern const struct module_place module_places[PARTS];

enum module_kind { MODULE_UNKNOWN, MODULE_SFF8472, MODULE_SFF8636, MODULE_CMIS };
extern const char *const module_kind_names[]; /* "unknown", "SFF-8472"... */

/* Limits stored in the module; NAN if it has none. */
struct module_limits {
	double high_alarm, low_alarm, high_warning, low_warning;
};

/* What is measured per lane. */
enum module_monitor { MONITOR_RX_POWER, MONITOR_TX_POWER, MONITOR_TX_BIAS, MONITORS };

/* Flags that the module has latched since they were last read. */
enum module_flag {
	FLAG_HIGH_ALARM = 1 << 0,
	FLAG_LOW_ALARM = 1 << 1,
	FLAG_HIGH_WARNING = 1 << 2,
	FLAG_LOW_WARNING = 1 << 3,
};

struct module_value {
	double value; /* NAN if not measured */
	unsigned flags;
};

struct module_lane {
	struct module_value monitors[MONITORS]; /* mW, mW, mA */
	bool rx_los, tx_fault, rx_lol;
};

struct module {
	enum module_kind kind;
	char vendor[MODULE_TEXT_SIZE], part[MODULE_TEXT_SIZE], serial[MODULE_TEXT_SIZE];
	bool copper;			 /* a cable without lasers */
	struct module_value temperature; /* degrees Celsius */
	struct module_value voltage;	 /* V */
	struct module_limits temperature_limits, voltage_limits, limits[MONITORS];
	unsigned n_lanes;
	struct module_lane lanes[MODULE_LANES_MAX];
};

/* The kind, from the first byte of the lower part; unknown if that is missing. */
enum module_kind module_kind(const struct module_image *image);

/*
 * List the parts to read besides the lower part and page 0, terminated by PARTS. None for a module
 * with flat memory.
 */
void module_wants(const struct module_image *image, enum module_part ret[static PARTS + 1]);

/* Decode an image. -ENODATA if its kind is unknown or the lower part is missing. */
int module_decode(const struct module_image *image, struct module *ret);

/* Convert mW to dBm; at least -40, because zero has no logarithm. */
double module_dbm(double mw);

/*
 * Which limits a value exceeds, as flags: by comparison, and by the flags latched by the module.
 * Limits whose high end is not above the low end are not set, and are ignored.
 */
unsigned module_beyond(const struct module_value *v, const struct module_limits *limits);

/* --- the three layouts, for module_decode() -------------------------------------------- */

void module_sff8472(const struct module_image *image, struct module *m);
void module_sff8636(const struct module_image *image, struct module *m);
void module_cmis(const struct module_image *image, struct module *m);

/* Big-endian words at byte `at` of a part that is present; bytes above 127 are in upper parts. */
unsigned module_u16(const struct module_image *image, enum module_part part, unsigned at);
int module_s16(const struct module_image *image, enum module_part part, unsigned at);
unsigned module_byte(const struct module_image *image, enum module_part part, unsigned at);

/* 16 bytes of text at `at`, printable ASCII, without trailing blanks. */
void module_text(const struct module_image *image, enum module_part part, unsigned at,
		 char ret[static MODULE_TEXT_SIZE]);

/* Four words at `at`, multiplied by `scale`: high alarm, low alarm, high warning, low warning. */
struct module_limits module_limits_at(const struct module_image *image, enum module_part part,
				      unsigned at, double scale, bool is_signed);
