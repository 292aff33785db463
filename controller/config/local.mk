# SPDX-License-Identifier: Apache-2.0
# controller/config: settings, rail map; reload. Included by Makefile.am.
libcontroller_a_SOURCES += controller/config/neighbors.c controller/config/neighbors.h controller/config/settings.c \
	controller/config/settings.h controller/config/settings_collectives.c controller/config/settings_inside.h \
	controller/config/settings_kube.c
