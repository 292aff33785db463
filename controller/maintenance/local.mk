# SPDX-License-Identifier: Apache-2.0
# controller/maintenance: what the store needs when nobody asks: saving, thinning, looking, copying. Included by Makefile.am.
libcontroller_a_SOURCES += controller/maintenance/maintenance.c controller/maintenance/maintenance.h
