# SPDX-License-Identifier: Apache-2.0
# controller/alerts: alerts for operators, sent to Alertmanager. Included by Makefile.am.
libcontroller_a_SOURCES += controller/alerts/alert.c controller/alerts/alert.h controller/alerts/alert_book.c \
	controller/alerts/alert_book.h controller/alerts/alert_sender.h controller/alerts/alerting.c controller/alerts/alerting.h \
	controller/alerts/alerts_open.c controller/alerts/alerts_open.h
