# SPDX-License-Identifier: Apache-2.0
# controller/config: settings, rail map; reload. Included by Makefile.am.
libcontroller_a_SOURCES += controller/config/rail_map.c controller/config/rail_map.h controller/config/settings.c \
	controller/config/settings.h controller/config/settings_alerts.c controller/config/settings_alerts.h controller/config/settings_jobs.c controller/config/settings_jobs.h controller/config/settings_page.c controller/config/settings_page.h
