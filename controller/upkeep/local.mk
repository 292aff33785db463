# SPDX-License-Identifier: Apache-2.0
# controller/upkeep: what the store needs when nobody asks: saving, thinning, looking, copying. Included by Makefile.am.
libcontroller_a_SOURCES += controller/upkeep/upkeep.c controller/upkeep/upkeep.h
