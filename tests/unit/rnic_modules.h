/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module EEPROM images built field by field from the specifications: a healthy
 * one of each layout, for tests to modify.
 */
#pragma once

#include "probes/rnic_state/module.h"

/* QSFP28, SFF-8636: 35.5 C, 3.3 V, lanes of 1.0, 1.1, 1.2, 1.3 mW in, 0.9 mW out, 7 mA. */
void image_qsfp28(struct module_image *image);

/* OSFP, CMIS: 45 C, 3.25 V, 8 lanes of 1.0 mW in, 1.5 mW out, 60 mA (counted by 4 uA). */
void image_osfp(struct module_image *image);

/* SFP28, SFF-8472, calibrated inside: 30 C, 3.3 V, 0.5 mW in, 0.6 mW out, 6 mA. */
void image_sfp28(struct module_image *image);

/* Writes a big-endian 16-bit value at `at`, which is above 127 in an upper part. */
void image_u16(struct module_image *image, enum module_part part, unsigned at, unsigned value);
void image_byte(struct module_image *image, enum module_part part, unsigned at, unsigned value);
