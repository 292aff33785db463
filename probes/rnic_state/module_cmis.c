/* SPDX-License-Identifier: Apache-2.0 */
/* Common Management Interface Specification rev 5.2 (QSFP-DD, OSFP). Byte numbers are its own. */
#include "probes/rnic_state/module.h"

#define CELSIUS (1.0 / 256)
#define VOLT 1e-4
#define MILLIWATT 1e-4
#define MILLIAMPERE 2e-3

/* Page 00h, byte 212: media interface technology; 0Ah and above are copper. */
enum { COPPER_FIRST = 0x0a, COPPER_LAST = 0x0f };

/* Bits in page 01h, byte 160, for available monitors; the same byte has the bias multiplier. */
static const unsigned monitor_bits[MONITORS] = {
	[MONITOR_TX_BIAS] = 1 << 0,
	[MONITOR_TX_POWER] = 1 << 1,
	[MONITOR_RX_POWER] = 1 << 2,
};

static double bias_scale(const struct module_image *image)
{
	/* Bits 4 and 3: multiplier 1, 2 or 4; the rest is reserved. */
	static const double factors[] = { 1, 2, 4, 1 };
	unsigned bits = image->there[PART_PAGE_1] ? module_byte(image, PART_PAGE_1, 160) >> 3 : 0;

	return MILLIAMPERE * factors[bits & 3];
}

/* Four bytes at `at`, with a bit per lane: high alarm, low alarm, high warning, low warning. */
static unsigned lane_flags(const struct module_image *image, unsigned at, unsigned lane)
{
	unsigned flags = 0, i;

	for (i = 0; i < 4; i++)
		flags |= (module_byte(image, PART_PAGE_11H, at + i) >> lane & 1U) << i;
	return flags;
}

static void read_lane(const struct module_image *image, unsigned i, struct module_lane *lane)
{
	static const struct {
		unsigned value, flags;
	} places[MONITORS] = {
		[MONITOR_TX_POWER] = { 154, 139 },
		[MONITOR_TX_BIAS] = { 170, 143 },
		[MONITOR_RX_POWER] = { 186, 149 },
	};
	/* Without page 01h, the available monitors are unknown: use every value that is not 0. */
	unsigned has = image->there[PART_PAGE_1] ? module_byte(image, PART_PAGE_1, 160) : 0xff;
	unsigned k;

	for (k = 0; k < MONITORS; k++) {
		double scale = k == MONITOR_TX_BIAS ? bias_scale(image) : MILLIWATT;

		if (!(has & monitor_bits[k]))
			continue;
		lane->monitors[k].value =
			scale * module_u16(image, PART_PAGE_11H, places[k].value + 2 * i);
		lane->monitors[k].flags = lane_flags(image, places[k].flags, i);
	}
	lane->tx_fault = module_byte(image, PART_PAGE_11H, 135) >> i & 1;
	lane->rx_los = module_byte(image, PART_PAGE_11H, 147) >> i & 1;
	lane->rx_lol = module_byte(image, PART_PAGE_11H, 148) >> i & 1;
}

static void read_limits(const struct module_image *image, struct module *m)
{
	m->temperature_limits = module_limits_at(image, PART_PAGE_2, 128, CELSIUS, true);
	m->voltage_limits = module_limits_at(image, PART_PAGE_2, 136, VOLT, false);
	m->limits[MONITOR_TX_POWER] = module_limits_at(image, PART_PAGE_2, 176, MILLIWATT, false);
	m->limits[MONITOR_TX_BIAS] =
		module_limits_at(image, PART_PAGE_2, 184, bias_scale(image), false);
	m->limits[MONITOR_RX_POWER] = module_limits_at(image, PART_PAGE_2, 192, MILLIWATT, false);
}

/* Page 00h, byte 210: a bit for each media lane that does not exist. */
static unsigned count_lanes(const struct module_image *image)
{
	unsigned missing = image->there[PART_PAGE_0] ? module_byte(image, PART_PAGE_0, 210) : 0;
	unsigned n = 0;

	while (n < MODULE_LANES_MAX && !(missing >> n & 1))
		n++;
	return n;
}

void module_cmis(const struct module_image *image, struct module *m)
{
	unsigned flags = module_byte(image, PART_LOWER, 9), media;
	unsigned i;

	module_text(image, PART_PAGE_0, 129, m->vendor);
	module_text(image, PART_PAGE_0, 148, m->part);
	module_text(image, PART_PAGE_0, 166, m->serial);
	media = image->there[PART_PAGE_0] ? module_byte(image, PART_PAGE_0, 212) : 0;
	m->copper = media >= COPPER_FIRST && media <= COPPER_LAST;
	if (m->copper)
		return;
	m->temperature.value = CELSIUS * module_s16(image, PART_LOWER, 14);
	m->temperature.flags = flags & 0xf;
	m->voltage.value = VOLT * module_u16(image, PART_LOWER, 16);
	m->voltage.flags = flags >> 4;
	read_limits(image, m);
	if (!image->there[PART_PAGE_11H])
		return;
	m->n_lanes = count_lanes(image);
	for (i = 0; i < m->n_lanes; i++)
		read_lane(image, i, &m->lanes[i]);
}
