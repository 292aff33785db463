// SPDX-License-Identifier: Apache-2.0
/** Campaigns: hosts tested with each other, round by round, and the hosts blamed. */
import { html } from './html.js';
import { all, segment } from './api.js';
import { useCall, useLive } from './live.js';
import { amount, clock, many, sentence, text } from './text.js';
import { Command, Glyph, HostLink, Lead, Said, Section, Table, Trouble } from './ui.js';

const LIST = [
	{ head: 'id', cell: (c) => html`<a class="link" href=${`#/campaigns/${segment(c.id)}`}>${text(c.id)}</a>` }, { head: 'state', cell: (c) => c.state }, { head: 'of', cell: (c) => html`<${Said}>${c.domain || many(c.nodes, 'host')}<//>` },
	{ head: 'result', cell: (c) => html`<${Said}>${c.sentence || 'under way'}<//>` }, { head: 'rounds', cell: (c) => `${c.rounds_made} of ${c.rounds_max}`, num: true }, { head: 'by', cell: (c) => html`<${Said}>${c.who}<//>` },
	{ head: 'why', cell: (c) => html`<${Said}>${c.reason}<//>` }, { head: 'began', cell: (c) => clock(c.started), className: 'nowrap' },
];

/** The result of a campaign, or its progress. */
const told = (c) => sentence(c.sentence || `Campaign ${c.id} is under way: ${c.rounds_made} of ${c.rounds_max} rounds`);

const BLAME = [
	{ head: 'what', cell: (b) => html`<${Glyph} name=${b.kind === 'undecided' ? 'unsure' : 'fail'} /> ${b.kind}` }, { head: 'host', cell: (b) => (b.node ? html`<${HostLink} name=${b.node} />` : '') },
	{ head: 'share', cell: (b) => (typeof b.ratio === 'number' ? `${Math.round(b.ratio * 100)} %` : '–'), num: true }, { head: 'partners', cell: (b) => b.partners, num: true }, { head: 'sentence', cell: (b) => html`<${Said}>${sentence(b.sentence)}<//>` },
];

const GROUP = [
	{ head: 'round', cell: (g) => g.round, num: true }, { head: 'hosts', cell: (g) => g.nodes.map((n) => html`<span key=${n} class="pair"><${HostLink} name=${n} /></span>`) }, { head: 'rail', cell: (g) => (g.rail === null ? 'all' : g.rail) },
	{ head: 'state', cell: (g) => html`${g.state}${g.cross ? ', across switches' : ''}${g.why ? html`: <${Said}>${g.why}<//>` : ''}` }, { head: 'value', cell: (g) => (typeof g.value === 'number' ? amount(g.value, 'B/s') : '–'), num: true },
];

function Campaign({ id }) {
	const { rev } = useLive(), { value: c, problem } = useCall(`/v1/campaigns/${segment(id)}`, rev.campaigns), crumb = html`<a href="#/campaigns">Campaigns</a> / ${text(id)}`;
	if (!c)
		return html`<${Lead} crumb=${crumb} title="Campaign" />${problem && html`<${Trouble} problem=${problem} />`}`;
	const groups = c.rounds.flatMap((r) => r.groups.map((g, k) => ({ ...g, round: r.round, k })));
	return html`<${Lead} crumb=${crumb} glyph=${c.blames.some((b) => b.kind !== 'undecided') ? 'fail' : c.state === 'running' ? 'wait' : 'pass'} name=${`Campaign ${id}`} title=${html`<${Said}>${told(c)}<//>`}
		prose=${html`<${Said}>${`${c.kind}${c.memory === 'gpu' ? ` in GPU memory${c.engine === 'nccl' ? ' by NCCL' : ''}` : ''}, ${c.plan}, ${many(c.nodes.length, 'host')}${c.domain ? ` of ${c.domain}` : ''}, by ${text(c.who)}: ${sentence(c.reason)}`}<//>`} tools=${html`<${Command} words=${['campaign', 'show', id]} />`} />
	<${Section} title="Blamed" say="seen with this many partners"><${Table} label="Blamed" columns=${BLAME} rows=${c.blames} keyOf=${(b, i) => i} empty="Nobody." /><//>
	<${Section} title="Rounds"><${Table} label="Rounds" columns=${GROUP} rows=${groups} keyOf=${(g) => `${g.round} ${g.k}`} shown=${50} empty="No rounds yet." /><//>`;
}

export default function Campaigns({ id }) {
	const { rev } = useLive(), { value, problem } = useCall(id ? null : '/v1/campaigns', rev.campaigns, all);
	if (id)
		return html`<${Campaign} id=${id} />`;
	if (!value)
		return html`<${Lead} title="Campaigns" />${problem && html`<${Trouble} problem=${problem} />`}`;
	const last = value.items[0];
	return html`<${Lead} glyph=${last && last.state === 'running' ? 'wait' : undefined} name="Campaigns" title=${last ? html`<${Said}>${told(last)}<//>` : 'No hosts were tested with each other yet.'} tools=${html`<${Command} words=${['campaign', 'list']} />`} />
	<${Section} title="Campaigns" say="newest first"><${Table} label="Campaigns" columns=${LIST} rows=${value.items} keyOf=${(c) => c.id} empty="None yet." /><//>`;
}
