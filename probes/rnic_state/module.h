/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The module or cable in the cage of a port, from its EEPROM: bytes in, a
 * struct out. Pure.
 *
 * Three layouts: SFF-8472 (SFP28), SFF-8636 (QSFP28) and CMIS (QSFP-DD, OSFP).
 * Which one is in byte 0 (SFF-8024, table 4-1). An image is the parts of 128
 * bytes that the layout needs; one that could not be read is not there, and
 * what it would have said is not known.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum { MODULE_PART_SIZE = 128, MODULE_LANES_MAX = 8, MODULE_TEXT_SIZE = 17 };

/* The parts of an image. */
enum module_part {
	PART_LOWER,    /* bytes 0 to 127; of SFF-8472 those of address A0h */
	PART_PAGE_0,   /* bytes 128 to 255 of page 00h, likewise */
	PART_PAGE_1,   /* CMIS: what it can tell */
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

/* Where a part lies in the module. */
struct module_place {
	uint8_t address; /* on the I2C bus: 0x50 or 0x51 */
	uint8_t page;
	uint8_t offset; /* 0 or 128 */
};
extern const struct module_place module_places[PARTS];

enum module_kind { MODULE_UNKNOWN, MODULE_SFF8472, MODULE_SFF8636, MODULE_CMIS };
extern const char *const module_kind_names[]; /* "unknown", "SFF-8472"... */

/* Limits that the module itself names; NAN where it names none. */
struct module_limits {
	double high_alarm, low_alarm, high_warning, low_warning;
};

/* What is measured of each lane. */
enum module_monitor { MONITOR_RX_POWER, MONITOR_TX_POWER, MONITOR_TX_BIAS, MONITORS };

/* Flags that the module set since they were last read. */
enum module_flag {
	FLAG_HIGH_ALARM = 1 << 0,
	FLAG_LOW_ALARM = 1 << 1,
	FLAG_HIGH_WARNING = 1 << 2,
	FLAG_LOW_WARNING = 1 << 3,
};

struct module_value {
	double value; /* NAN when not measured */
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

/* The kind by the first byte of the lower part; unknown when that is not there. */
enum module_kind module_kind(const struct module_image *image);

/*
 * What must be read besides the lower part and page 0: parts up to PARTS, which
 * ends the list. Nothing of a module with flat memory.
 */
void module_wants(const struct module_image *image, enum module_part ret[static PARTS + 1]);

/* Read an image. -ENODATA when its kind is not known or there is no lower part. */
int module_decode(const struct module_image *image, struct module *ret);

/* mW as dBm, at least -40: darkness has no logarithm. */
double module_dbm(double mw);

/*
 * Which limits a value is beyond, as flags, by itself and by the flags that the
 * module set. A limit of 0 for both ends is none.
 */
unsigned module_beyond(const struct module_value *v, const struct module_limits *limits);

/* --- the three layouts, for module_decode() ------------------------------------------------ */

void module_sff8472(const struct module_image *image, struct module *m);
void module_sff8636(const struct module_image *image, struct module *m);
void module_cmis(const struct module_image *image, struct module *m);

/* Big-endian words at byte `at` of a part that is there; bytes above 127 lie in upper parts. */
unsigned module_u16(const struct module_image *image, enum module_part part, unsigned at);
int module_s16(const struct module_image *image, enum module_part part, unsigned at);
unsigned module_byte(const struct module_image *image, enum module_part part, unsigned at);

/* 16 bytes of text from `at`, without the blanks at its end, printable ASCII. */
void module_text(const struct module_image *image, enum module_part part, unsigned at,
		 char ret[static MODULE_TEXT_SIZE]);

/* Four words from `at`: high alarm, low alarm, high warning, low warning, each times `scale`. */
struct module_limits module_limits_at(const struct module_image *image, enum module_part part,
				      unsigned at, double scale, bool is_signed);
