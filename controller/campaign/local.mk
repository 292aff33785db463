# SPDX-License-Identifier: Apache-2.0
# controller/campaign: tests of hosts with each other, their rounds and rows. Included by Makefile.am.
libcontroller_a_SOURCES += controller/campaign/campaign_hosts.c controller/campaign/campaign_hosts.h \
	controller/campaign/campaigning.c controller/campaign/campaigning.h controller/campaign/campaigning_inside.h \
	controller/campaign/campaigning_store.c
noinst_LIBRARIES += libcampaign.a
libcampaign_a_SOURCES = controller/campaign/campaign.c controller/campaign/campaign.h \
	controller/campaign/campaign_inside.h controller/campaign/campaign_json.c controller/campaign/campaign_keep.c \
	controller/campaign/campaign_life.c controller/campaign/campaign_says.c controller/campaign/campaign_side.c
CAMPAIGN_LIBS = libcampaign.a $(PAIRING_LIBS)
