// SPDX-License-Identifier: Apache-2.0
/** Incidents and actions as tables, for a host or the fleet. */
import { html } from './html.js';
import { clock, text, undo, unnamed } from './text.js';
import { Glyph, HostLink, kindOf, Said, Table, WORDS } from './ui.js';

/** "gpu-11", or not a host: "domain:r21". */
const Where = ({ name }) => (/^(domain|sku):/.test(name) ? html`<${Said}>${name.replace(':', ' ')}<//>` : html`<${HostLink} name=${name} />`);

const INCIDENT = [
	{ head: 'id', cell: (i) => text(i.id) },
	{ head: 'host', cell: (i) => html`<${Where} name=${i.node} />`, className: 'nowrap' },
	{ head: 'check', cell: (i) => html`<span class="nowrap"><${Glyph} name=${i.state === 'open' ? kindOf(i.verdict) : 'wait'} kind=${i.state === 'open' ? undefined : 'none'} label=${i.state === 'open' ? WORDS[kindOf(i.verdict)] : 'closed'} /> <${Said}>${i.check}<//></span>` },
	{ head: 'what', cell: (i) => html`<${Said}>${unnamed(i.sentence, i.node)}<//>` },
	{ head: 'asks for', cell: (i) => html`${i.action}${i.rule && html`<span class="dim"> by <${Said}>${i.rule}<//></span>`}` },
	{ head: 'opened', cell: (i) => clock(i.opened), className: 'nowrap' },
	{ head: 'closed', cell: (i) => (i.closed ? clock(i.closed) : 'open'), className: 'nowrap' },
];

/** The outcome of an action, as it follows its name. */
const STATES = { decided: 'under way', done: 'done', failed: 'failed', dropped: 'dropped', 'dry-run': 'would be done', refused: 'refused' };

const ACTION = [
	{ head: 'when', cell: (a) => clock(a.at), className: 'nowrap' },
	{ head: 'host', cell: (a) => html`<${Where} name=${a.node} />`, className: 'nowrap' },
	{ head: 'action', cell: (a) => html`<span class=${`nowrap ${a.state === 'refused' || a.state === 'failed' ? 't-fail' : ''}`}>${a.action} ${STATES[a.state] || a.state}${a.break_glass ? ', break-glass' : ''}</span>` },
	{ head: 'by', cell: (a) => html`<${Said}>${a.by}<//>`, className: 'nowrap' },
	{ head: 'why', cell: (a) => html`<${Said}>${unnamed(a.reason, a.node)}<//>${a.rule && html`<span class="dim"> rule <${Said}>${a.rule}<//></span>`}${a.result && html`<br /><span class="dim"><${Said}>${a.result}<//></span>`}` },
	{ head: 'undo', cell: (a) => html`<${Said}>${undo(a.undo, a.node) || '–'}<//>` },
];

const but = (columns, left) => columns.filter((c) => c.head !== left);

export const IncidentTable = ({ items, without: left, empty }) => html`<${Table} label="Incidents" columns=${but(INCIDENT, left)} rows=${items} keyOf=${(i) => i.id} empty=${empty} />`;
export const ActionTable = ({ items, without: left, empty }) => html`<${Table} label="Actions" columns=${but(ACTION, left)} rows=${items} keyOf=${(a) => a.id} empty=${empty} />`;
