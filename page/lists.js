// SPDX-License-Identifier: Apache-2.0
/** Lists that are a table and a sentence: drift from the SKU, baselines of a SKU, overdue full tests. */
import { html } from './html.js';
import { all } from './api.js';
import { useCall, useLive } from './live.js';
import { amount, clock, count, many, text } from './text.js';
import { Command, HostLink, Lead, Said, Section, Table, Trouble } from './ui.js';

/** Hosts named per row. */
const NAMED = 12;

function List({ path, rev, words, columns, keyOf, headline, label, empty }) {
	const { value, problem } = useCall(path, rev, all);
	if (!value)
		return html`<${Lead} title=${label} />${problem && html`<${Trouble} problem=${problem} />`}`;
	return html`<${Lead} ...${headline(value.items)} name=${label} tools=${html`<${Command} words=${words} />`} />
		<${Section} title=${label} say=${value.more ? 'there are more' : ''}><${Table} label=${label} columns=${columns} rows=${value.items} keyOf=${keyOf} empty=${empty} /><//>`;
}

const DRIFT = [
	{ head: 'SKU', cell: (d) => html`<${Said}>${d.sku}<//>` }, { head: 'what', cell: (d) => html`<${Said}>${d.key}<//>` }, { head: 'most have', cell: (d) => html`<${Said}>${d.majority || 'no majority'}<//>` },
	{ head: 'agree', cell: (d) => `${count(d.agree)} of ${count(d.hosts)}`, num: true },
	{ head: 'differ', cell: (d) => html`${d.nodes.slice(0, NAMED).map((n) => html`<span key=${n.node} class="pair"><${HostLink} name=${n.node} /> <${Said}>${n.value}<//></span>`)}${d.nodes.length > NAMED && `and ${count(d.nodes.length - NAMED)} more`}` },
];

export function Drift() {
	const { rev } = useLive(), differ = (items) => new Set(items.flatMap((d) => d.nodes.map((n) => n.node))).size;
	return html`<${List} path="/v1/drift" rev=${rev.fleet} words=${['drift']} columns=${DRIFT} keyOf=${(d) => `${d.sku} ${d.key}`} label="Drift" empty="No host differs."
		headline=${(items) => (items.length ? { glyph: 'warn', title: html`${many(differ(items), 'host')} ${differ(items) === 1 ? 'differs' : 'differ'} from most of their SKU, first in <${Said}>${items[0].key}<//>.` } : { glyph: 'pass', title: 'Every host is like the others of its SKU.' })} />`;
}

/** Parameters of a baseline on one line. */
const params = (p) => Object.entries(p).map(([k, v]) => `${k} ${text(v)}`).join(', ');
const BASELINE = [
	{ head: 'SKU', cell: (b) => html`<${Said}>${b.sku}<//>` }, { head: 'check', cell: (b) => html`<${Said}>${b.check}<//>`, className: 'nowrap' }, { head: 'class', cell: (b) => html`<${Said}>${b.class}<//>` },
	{ head: 'median', cell: (b) => amount(b.median, b.unit === '1' ? '' : b.unit), num: true }, { head: 'spread', cell: (b) => (b.median ? `${(b.mad / Math.abs(b.median) * 100).toFixed(2)} %` : '–'), num: true },
	{ head: 'hosts', cell: (b) => count(b.hosts), num: true }, { head: 'with', cell: (b) => html`<span class="dim"><${Said}>${params(b.params)}<//></span>` },
];

export function Baselines() {
	const { fleet } = useLive(), said = fleet.said;
	return html`<${List} path="/v1/baselines" rev=${said ? said.controller : 0} words=${['baselines']} columns=${BASELINE} keyOf=${(b) => `${b.sku} ${b.check} ${b.class} ${params(b.params)}`} label="Baselines" empty="No SKU has enough hosts yet."
		headline=${(items) => ({ title: items.length ? `What ${many(new Set(items.map((b) => b.sku)).size, 'SKU')} reach${new Set(items.map((b) => b.sku)).size === 1 ? 'es' : ''} in ${many(new Set(items.map((b) => b.check)).size, 'check')}, from hosts with no findings.` : 'What a SKU reaches is not known yet.' })} />`;
}

const COVERAGE = [
	{ head: 'host', cell: (o) => html`<${HostLink} name=${o.node} />`, className: 'nowrap' }, { head: 'last thorough test', cell: (o) => (o.tested ? clock(o.tested) : 'never') }, { head: 'ordered', cell: (o) => (o.ordered ? clock(o.ordered) : '') },
];

export function Coverage() {
	const { rev } = useLive();
	return html`<${List} path="/v1/coverage" rev=${rev.actions} words=${['coverage']} columns=${COVERAGE} keyOf=${(o) => o.node} label="Coverage" empty="No test is overdue."
		headline=${(items) => (items.length ? { glyph: 'warn', title: html`<${Said}>${items[0].node}<//> waits longest: ${items[0].tested ? `tested ${clock(items[0].tested)}` : 'never tested thoroughly'}; ${many(items.length, 'host')} ${items.length === 1 ? 'is' : 'are'} overdue.` } : { glyph: 'pass', title: 'Every host had its thorough test in time.' })} />`;
}
