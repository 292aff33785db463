# SPDX-License-Identifier: Apache-2.0
# controller/campaign: tests of hosts with each other, their rounds and rows. Included by Makefile.am.
libcontroller_a_SOURCES += controller/campaign/campaign_hosts.c controller/campaign/campaign_hosts.h \
	controller/campaign/campaigns.c controller/campaign/campaigns.h
noinst_LIBRARIES += libcampaign.a
libcampaign_a_SOURCES = controller/campaign/campaign.c controller/campaign/campaign.h \
	controller/campaign/campaign_keep.c controller/campaign/campaign_keep.h controller/campaign/campaign_measure.c controller/campaign/campaign_measure.h \
	controller/campaign/campaign_says.c controller/campaign/campaign_says.h \
	controller/campaign/campaign_side.c controller/campaign/campaign_side.h
CAMPAIGN_LIBS = libcampaign.a $(PAIRING_LIBS)
