// SPDX-License-Identifier: Apache-2.0
/** The jobs, by attention needed, and what slows them. */
import { html } from './html.js';
import { all } from './api.js';
import * as model from './job_model.js';
import { useCall, useLive } from './live.js';
import { age } from './text.js';
import { Command, Glyph, hangLink, jobLink, Lead, Said, Section, Table, Trouble } from './ui.js';

const COLUMNS = [
	{ head: 'job', cell: (j) => html`<a class="link" href=${jobLink(j.id)}><${Said}>${j.job}<//></a>` },
	{ head: 'state', cell: (j) => html`<span class="nowrap"><${Glyph} name=${model.stateGlyph(j.state)} /> ${j.hang && j.state === 'hung' ? html`<a class="link" href=${hangLink(j.id)}>${j.state}</a>` : j.state}</span>` },
	{ head: 'hosts', num: true, cell: (j) => j.hosts ?? '' }, { head: 'run', num: true, cell: (j) => j.run ?? '' },
	{ head: 'step', num: true, cell: (j) => model.seconds(j.step_s) },
	{ head: 'slowdown', num: true, cell: (j) => model.interval(j.slowdown, j.slowdown_low, j.slowdown_high) },
	{ head: 'cause', cell: (j) => html`<${Said}>${model.causeWords(j.cause)}<//>` }, { head: 'suspect', cell: (j) => html`<${Said}>${j.suspect || 'nobody'}<//>` },
	{ head: 'heard', num: true, cell: (j) => (typeof j.age_s === 'number' ? `${age(j.age_s)} ago` : '') },
];

export default function Jobs() {
	const live = useLive(), { value, problem, waiting } = useCall('/v1/jobs', live.rev.jobs, all);
	const jobs = value ? value.items : [], said = value ? model.listWords(jobs) : { v: 'none', words: waiting ? 'Loading the jobs.' : 'Nothing is known about the jobs.' };
	return html`<${Lead} glyph=${live.stale ? 'none' : said.v} title=${html`<${Said}>${said.words}<//>`} name="Jobs" tools=${html`<${Command} words=${['jobs']} />`} />
		${problem && html`<${Trouble} problem=${problem} />`}
		<${Section} title="Jobs" say="those that need attention first" className=${live.stale ? 'stale' : ''}>${value && html`<${Table} label="Jobs" columns=${COLUMNS} rows=${model.ranked(jobs)} keyOf=${(j) => j.id} empty="No job has sent a trace yet." />`}<//>`;
}
