/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How devices are set up belongs to what identifies a host: it goes from the
 * samples that say it into `env` of the report, where the controller tells
 * who differs from most hosts of the SKU. Pure.
 */
#pragma once

#include "lib/base/macro.h"

struct report;

enum {
	SETTINGS_MAX = 64,	     /* checks of one report that are settings */
	SETTING_VALUES_MAX = 8,	     /* different values of one that are told */
	SETTING_TEXT_MAX = 2048 - 1, /* bytes of one in env */
};

/*
 * Each check whose samples carry params.setting becomes a key of `env`, named
 * as the check: the text when all subjects have the same, else each with how
 * many have it, the most first: "3 (7), none (1)". What env has already stays.
 */
void run_report_settings(struct report *report);
