/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of the controller, as assayd would reach it: does it answer, does it accept this host,
 * do the clocks agree?
 */
#pragma once

struct doctor;

/* Takes at most 10 s. */
void doctor_ask(struct doctor *d);
