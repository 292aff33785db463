/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device settings identify a host: they are copied from the samples that report them into `env`
 * of the report, where the controller finds hosts that differ from most others of their SKU.
 * Pure.
 */
#pragma once

#include "lib/base/macro.h"

struct report;

enum {
	SETTINGS_MAX = 64,	     /* checks of a report that are settings */
	SETTING_VALUES_MAX = 8,	     /* different values listed for one check */
	SETTING_TEXT_MAX = 2048 - 1, /* bytes of one check's text in env */
};

/*
 * Each check whose samples carry params.setting becomes a key of `env`, named after the check:
 * the value if all subjects agree, else each value with its count, the most frequent first: "3
 * (7), none (1)". Existing keys are kept.
 */
void run_report_settings(struct report *report);
