/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rnic_modules.h"

void image_byte(struct module_image *image, enum module_part part, unsigned at, unsigned value)
{
	image->there[part] = true;
	image->bytes[part][at % MODULE_PART_SIZE] = (uint8_t)value;
}

void image_u16(struct module_image *image, enum module_part part, unsigned at, unsigned value)
{
	image_byte(image, part, at, value >> 8);
	image_byte(image, part, at + 1, value & 0xff);
}

/* Writes text padded with blanks to 16 bytes, as all three specifications require. */
static void text(struct module_image *image, enum module_part part, unsigned at, const char *words)
{
	unsigned i;

	for (i = 0; i < 16; i++)
		image_byte(image, part, at + i, i < strlen(words) ? (unsigned char)words[i] : ' ');
}

static void limits(struct module_image *image, enum module_part part, unsigned at,
		   const unsigned values[static 4])
{
	unsigned i;

	for (i = 0; i < 4; i++)
		image_u16(image, part, at + 2 * i, values[i]);
}

/* High alarm, low alarm, high warning, low warning. */
static const unsigned celsius[] = { 75 * 256, 0xfb00 /* -5 C */, 70 * 256, 0 };
static const unsigned volts[] = { 36300, 29700, 34650, 31350 };
static const unsigned powers[] = { 34674, 398, 21878, 1000 }; /* 0.1 uW */
static const unsigned biases[] = { 6500, 500, 6000, 1000 };   /* 2 uA */

void image_qsfp28(struct module_image *image)
{
	unsigned i;

	*image = (struct module_image){ .there = { false } };
	image_byte(image, PART_LOWER, 0, 0x11);
	image_u16(image, PART_LOWER, 22, 35 * 256 + 128);
	image_u16(image, PART_LOWER, 26, 33000);
	for (i = 0; i < 4; i++) {
		image_u16(image, PART_LOWER, 34 + 2 * i, 10000 + 1000 * i);
		image_u16(image, PART_LOWER, 42 + 2 * i, 3500);
		image_u16(image, PART_LOWER, 50 + 2 * i, 9000);
	}
	image_byte(image, PART_PAGE_0, 147, 0x00); /* 850 nm VCSEL */
	text(image, PART_PAGE_0, 148, "Mellanox");
	text(image, PART_PAGE_0, 168, "MMA1B00-C100D");
	text(image, PART_PAGE_0, 196, "MT1234");
	image_byte(image, PART_PAGE_0, 220, 1 << 2 | 1 << 3);
	limits(image, PART_PAGE_3, 128, celsius);
	limits(image, PART_PAGE_3, 144, volts);
	limits(image, PART_PAGE_3, 176, powers);
	limits(image, PART_PAGE_3, 184, biases);
	limits(image, PART_PAGE_3, 192, powers);
}

void image_osfp(struct module_image *image)
{
	static const unsigned laser[] = { 40000, 2500, 35000, 5000 }; /* 4 uA */
	unsigned i;

	*image = (struct module_image){ .there = { false } };
	image_byte(image, PART_LOWER, 0, 0x19);
	image_byte(image, PART_LOWER, 1, 0x52);
	image_u16(image, PART_LOWER, 14, 45 * 256);
	image_u16(image, PART_LOWER, 16, 32500);
	text(image, PART_PAGE_0, 129, "NVIDIA");
	text(image, PART_PAGE_0, 148, "MMA4Z00-NS400");
	text(image, PART_PAGE_0, 166, "MT2345");
	image_byte(image, PART_PAGE_0, 210, 0);
	image_byte(image, PART_PAGE_0, 212, 0);
	image_byte(image, PART_PAGE_1, 160, 1 << 3 | 7); /* all monitors, bias unit 2 x 2 uA */
	limits(image, PART_PAGE_2, 128, celsius);
	limits(image, PART_PAGE_2, 136, volts);
	limits(image, PART_PAGE_2, 176, powers);
	limits(image, PART_PAGE_2, 184, laser);
	limits(image, PART_PAGE_2, 192, powers);
	for (i = 0; i < MODULE_LANES_MAX; i++) {
		image_u16(image, PART_PAGE_11H, 154 + 2 * i, 15000);
		image_u16(image, PART_PAGE_11H, 170 + 2 * i, 15000);
		image_u16(image, PART_PAGE_11H, 186 + 2 * i, 10000);
	}
}

void image_sfp28(struct module_image *image)
{
	*image = (struct module_image){ .there = { false } };
	image_byte(image, PART_LOWER, 0, 0x03);
	text(image, PART_LOWER, 20, "FINISAR CORP.");
	text(image, PART_LOWER, 40, "FTLF8536P4BCL");
	text(image, PART_LOWER, 68, "SN1");
	image_byte(image, PART_LOWER, 92, 1 << 6 | 1 << 5);
	limits(image, PART_A2, 0, celsius);
	limits(image, PART_A2, 8, volts);
	limits(image, PART_A2, 16, biases);
	limits(image, PART_A2, 24, powers);
	limits(image, PART_A2, 32, powers);
	image_u16(image, PART_A2, 96, 30 * 256);
	image_u16(image, PART_A2, 98, 33000);
	image_u16(image, PART_A2, 100, 3000);
	image_u16(image, PART_A2, 102, 6000);
	image_u16(image, PART_A2, 104, 5000);
}
