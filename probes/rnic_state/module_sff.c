/* SPDX-License-Identifier: Apache-2.0 */
/* SFF-8472 rev 12.4 (SFP) and SFF-8636 rev 2.10a (QSFP). Numbers below are their byte numbers. */
#include <math.h>

#include "probes/rnic_state/module.h"

#define CELSIUS (1.0 / 256)
#define VOLT 1e-4
#define MILLIWATT 1e-4
#define MILLIAMPERE 2e-3

/* --- SFF-8636 ------------------------------------------------------------------------------ */

enum { QSFP_LANES = 4 };

/* Convert four bits, from the top: high alarm, low alarm, high warning, low warning. */
static unsigned flags_of(unsigned nibble)
{
	unsigned flags = 0, i;

	for (i = 0; i < 4; i++)
		flags |= (nibble >> (3 - i) & 1) << i;
	return flags;
}

/* Lanes 1 and 2 share a byte; the first uses the upper half. */
static unsigned lane_flags(const struct module_image *image, unsigned at, unsigned lane)
{
	unsigned byte = module_byte(image, PART_LOWER, at + lane / 2);

	return flags_of(lane % 2 ? byte & 0xf : byte >> 4);
}

static bool is_qsfp_copper(const struct module_image *image)
{
	/* Byte 147, transmitter technology: 1010b and above are copper cables. */
	return image->there[PART_PAGE_0] && module_byte(image, PART_PAGE_0, 147) >> 4 >= 0xa;
}

static void qsfp_lane(const struct module_image *image, unsigned i, struct module_lane *lane)
{
	static const struct {
		unsigned value, flags;
		double scale;
	} places[MONITORS] = {
		[MONITOR_RX_POWER] = { 34, 9, MILLIWATT },
		[MONITOR_TX_BIAS] = { 42, 11, MILLIAMPERE },
		[MONITOR_TX_POWER] = { 50, 13, MILLIWATT },
	};
	/* Byte 220, bit 2: TX power is measured. */
	bool has_tx = image->there[PART_PAGE_0] && module_byte(image, PART_PAGE_0, 220) & 1 << 2;
	unsigned k;

	for (k = 0; k < MONITORS; k++) {
		if (k == MONITOR_TX_POWER && !has_tx)
			continue;
		lane->monitors[k].value =
			places[k].scale * module_u16(image, PART_LOWER, places[k].value + 2 * i);
		lane->monitors[k].flags = lane_flags(image, places[k].flags, i);
	}
	lane->rx_los = module_byte(image, PART_LOWER, 3) >> i & 1;
	lane->tx_fault = module_byte(image, PART_LOWER, 4) >> i & 1;
	lane->rx_lol = module_byte(image, PART_LOWER, 5) >> i & 1;
}

void module_sff8636(const struct module_image *image, struct module *m)
{
	unsigned i;

	module_text(image, PART_PAGE_0, 148, m->vendor);
	module_text(image, PART_PAGE_0, 168, m->part);
	module_text(image, PART_PAGE_0, 196, m->serial);
	m->copper = is_qsfp_copper(image);
	if (m->copper)
		return;
	m->temperature.value = CELSIUS * module_s16(image, PART_LOWER, 22);
	m->temperature.flags = flags_of(module_byte(image, PART_LOWER, 6) >> 4);
	m->voltage.value = VOLT * module_u16(image, PART_LOWER, 26);
	m->voltage.flags = flags_of(module_byte(image, PART_LOWER, 7) >> 4);
	m->temperature_limits = module_limits_at(image, PART_PAGE_3, 128, CELSIUS, true);
	m->voltage_limits = module_limits_at(image, PART_PAGE_3, 144, VOLT, false);
	m->limits[MONITOR_RX_POWER] = module_limits_at(image, PART_PAGE_3, 176, MILLIWATT, false);
	m->limits[MONITOR_TX_BIAS] = module_limits_at(image, PART_PAGE_3, 184, MILLIAMPERE, false);
	m->limits[MONITOR_TX_POWER] = module_limits_at(image, PART_PAGE_3, 192, MILLIWATT, false);
	m->n_lanes = QSFP_LANES;
	for (i = 0; i < m->n_lanes; i++)
		qsfp_lane(image, i, &m->lanes[i]);
}

/* --- SFF-8472 ------------------------------------------------------------------------------ */

enum { SFP_EXTERNALLY_CALIBRATED = 1 << 4, SFP_CABLE = 1 << 2 | 1 << 3 };

/* An IEEE 754 single at byte `at` of A2h. */
static double sfp_float(const struct module_image *image, unsigned at)
{
	uint32_t bits = (uint32_t)module_u16(image, PART_A2, at) << 16 |
			module_u16(image, PART_A2, at + 2);
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Slope at `at` (8 bits each before and after the point), followed by the offset: section 9.3. */
static double calibrate(const struct module_image *image, unsigned at, double raw)
{
	if (!(module_byte(image, PART_LOWER, 92) & SFP_EXTERNALLY_CALIBRATED))
		return raw;
	return raw * module_u16(image, PART_A2, at) / 256 + module_s16(image, PART_A2, at + 2);
}

/* RX power is a polynomial of degree 4, highest coefficient first. */
static double calibrate_rx(const struct module_image *image, double raw)
{
	double value = 0;
	unsigned i;

	if (!(module_byte(image, PART_LOWER, 92) & SFP_EXTERNALLY_CALIBRATED))
		return raw;
	for (i = 0; i < 5; i++)
		value = value * raw + sfp_float(image, 56 + 4 * i);
	return isfinite(value) && value >= 0 ? value : NAN;
}

/* Two bits for high and low: alarms at `at`, warnings four bytes later. */
static unsigned sfp_flags(const struct module_image *image, unsigned at, unsigned shift)
{
	unsigned alarms = module_byte(image, PART_A2, at) >> shift;
	unsigned warnings = module_byte(image, PART_A2, at + 4) >> shift;

	return (alarms >> 1 & 1 ? FLAG_HIGH_ALARM : 0U) | (alarms & 1 ? FLAG_LOW_ALARM : 0U) |
	       (warnings >> 1 & 1 ? FLAG_HIGH_WARNING : 0U) |
	       (warnings & 1 ? FLAG_LOW_WARNING : 0U);
}

static void sfp_monitors(const struct module_image *image, struct module *m)
{
	struct module_lane *lane = &m->lanes[0];
	unsigned status = module_byte(image, PART_A2, 110);

	m->temperature.value = CELSIUS * calibrate(image, 84, module_s16(image, PART_A2, 96));
	m->voltage.value = VOLT * calibrate(image, 88, module_u16(image, PART_A2, 98));
	lane->monitors[MONITOR_TX_BIAS].value =
		MILLIAMPERE * calibrate(image, 76, module_u16(image, PART_A2, 100));
	lane->monitors[MONITOR_TX_POWER].value =
		MILLIWATT * calibrate(image, 80, module_u16(image, PART_A2, 102));
	lane->monitors[MONITOR_RX_POWER].value =
		MILLIWATT * calibrate_rx(image, module_u16(image, PART_A2, 104));
	m->temperature.flags = sfp_flags(image, 112, 6);
	m->voltage.flags = sfp_flags(image, 112, 4);
	lane->monitors[MONITOR_TX_BIAS].flags = sfp_flags(image, 112, 2);
	lane->monitors[MONITOR_TX_POWER].flags = sfp_flags(image, 112, 0);
	lane->monitors[MONITOR_RX_POWER].flags = sfp_flags(image, 113, 6);
	lane->tx_fault = status & 1 << 2;
	lane->rx_los = status & 1 << 1;
	m->n_lanes = 1;
}

void module_sff8472(const struct module_image *image, struct module *m)
{
	module_text(image, PART_LOWER, 20, m->vendor);
	module_text(image, PART_LOWER, 40, m->part);
	module_text(image, PART_LOWER, 68, m->serial);
	m->copper = module_byte(image, PART_LOWER, 8) & SFP_CABLE;
	if (m->copper || !image->there[PART_A2])
		return;
	sfp_monitors(image, m);
	m->temperature_limits = module_limits_at(image, PART_A2, 0, CELSIUS, true);
	m->voltage_limits = module_limits_at(image, PART_A2, 8, VOLT, false);
	m->limits[MONITOR_TX_BIAS] = module_limits_at(image, PART_A2, 16, MILLIAMPERE, false);
	m->limits[MONITOR_TX_POWER] = module_limits_at(image, PART_A2, 24, MILLIWATT, false);
	m->limits[MONITOR_RX_POWER] = module_limits_at(image, PART_A2, 32, MILLIWATT, false);
}
