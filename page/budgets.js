// SPDX-License-Identifier: Apache-2.0
/** What may still be taken out of service, the state of the breaker, and the operators' orders in effect. */
import { html } from './html.js';
import { all } from './api.js';
import { Acts, shareOf, Track } from './fleet_side.js';
import { useCall, useLive } from './live.js';
import { clock, text } from './text.js';
import { Command, Glyph, HostLink, Lead, Said, Section, Table } from './ui.js';

function headline(b) {
	const full = b.budget.filter((x) => x.limit !== null && x.used >= x.limit), total = b.budget.find((x) => x.rule === 'budget.total');
	if (b.fenced || b.stopped || b.open || b.stale)
		return { glyph: 'fail', title: html`<${Said}>${b.fenced ? 'Another controller has taken over: this one does nothing.' : b.stopped ? `No host may be touched: the kill switch is on, ${text(b.stopped)}.` : b.open ? `The breaker is open, and nothing is cordoned: ${text(b.reason || b.cause)}.` : `Nothing is taken out or given back: ${text(b.stale)}.`}<//>` };
	if (full.length)
		return { glyph: 'warn', title: `${full.map((x) => x.rule).join(', ')} ${full.length === 1 ? 'is' : 'are'} used up: actions that need ${full.length === 1 ? 'it' : 'them'} are refused.` };
	return { glyph: 'pass', title: total && total.limit !== null ? `${total.limit - total.used} more of ${total.limit} hosts may be taken out of service.` : 'No budget is used up.' };
}

const BUDGET = [
	{ head: 'budget', cell: (b) => html`<span class="nowrap"><${Glyph} name=${b.limit !== null && b.used >= b.limit ? 'fail' : 'pass'} label=${b.limit !== null && b.used >= b.limit ? 'used up' : 'has room'} /> ${b.rule}</span>` },
	{ head: 'used', cell: (b) => (b.limit === null ? '' : html`<${Track} used=${b.used} limit=${b.limit} />`), className: 'track-cell' },
	{ head: 'share', cell: (b) => shareOf(b), num: true }, { head: 'whose', cell: (b) => html`<${Said}>${b.account || ''}<//>` },
];

const ORDER = [
	{ head: 'host', cell: (o) => html`<${HostLink} name=${o.node} />`, className: 'nowrap' }, { head: 'until', cell: (o) => clock(o.until), className: 'nowrap' }, { head: 'by', cell: (o) => html`<${Said}>${o.by || 'not kept'}<//>` },
	{ head: 'why', cell: (o) => html`<${Said}>${o.reason || ''}<//>` }, { head: 'since', cell: (o) => clock(o.since), className: 'nowrap' },
];

function Orders({ title, say, path }) {
	const { rev } = useLive(), { value } = useCall(path, rev.actions, all);
	return html`<${Section} title=${title} say=${say}>${value && html`<${Table} label=${title} columns=${ORDER} rows=${value.items} keyOf=${(o) => o.node} empty="None in effect." />`}<//>`;
}

export default function Budgets() {
	const { fleet } = useLive();
	if (!fleet.said)
		return html`<${Lead} title="Budgets" />`;
	const b = fleet.said.breaker;
	return html`<${Lead} ...${headline(b)} name="Budgets" prose="The policy sets the budgets: how many hosts may be out of service, and how fast they may be taken out." facts=${[['another policy', html`<a class="link" href="#/replay">what would it have done?</a>`]]} tools=${html`<${Command} words=${['breaker']} />`} />
	<div class="cols two-cols"><${Section} title="Budgets"><${Table} label="Budgets" columns=${BUDGET} rows=${b.budget} keyOf=${(x) => x.rule} empty="The policy has none." /><//>
	<${Section} title="Does Assay act?"><${Acts} said=${fleet.said} /><//></div>
	<div class="cols two-cols below"><${Orders} title="Silences" say="hosts whose findings are treated as known" path="/v1/silences" /><${Orders} title="Overrides" say="hosts kept in service whatever is found" path="/v1/overrides" /></div>`;
}
