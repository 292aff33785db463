/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the controller does for its store when nobody asks, a little at a time: load and save
 * baselines, thin what is old, look through the pages, go on with a copy.
 */
#pragma once

struct controller_part;

extern const struct controller_part maintenance_part;
