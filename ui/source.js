// SPDX-License-Identifier: MIT
// source.js -- lines of source with what they allocated, file by file, as far as the profile has
// them.

import {figureText, changeText, countText} from './words.js';
import {expression} from './flame.js';
import {make, List, changeClass} from './list.js';

const KEYS = ['flat', 'cum', 'wasFlat', 'wasCum'];

export class Source {
	constructor(panel) {
		this.head = make('div', {class: 'head', role: 'row'});
		this.list = new List('grid', 'row', {draw: (i, row) => this.draw(i, row)});
		this.list.box.id = 'source';
		this.list.box.setAttribute('aria-label', 'Lines of source');
		this.empty = make('p', {class: 'empty', hidden: '',
			text: 'No lines: the profile has no names of source files here. Programs built with -g have them.'});
		this.list.box.prepend(this.head);
		panel.append(this.list.box, this.empty);
	}

	show(doc, view) {
		this.strings = doc.strings;
		this.view = view;
		this.lines = view.lines;
		const titles = view.base ? ['Change', 'Total change', 'Line', 'Source'] : ['Own', 'Total', 'Line', 'Source'];
		this.grid = '110px 110px 60px minmax(300px, 1fr)';
		this.head.style.gridTemplateColumns = this.grid;
		this.head.replaceChildren(...titles.map((text, at) =>
			make('button', {type: 'button', role: 'columnheader', tabindex: '-1', text, class: at < 3 ? 'number' : ''})));
		this.group();
		this.find('');
	}

	/** Lines of a file together, ascending; inlined and real uses of one line are one row. */
	group() {
		const l = this.lines, files = new Map();
		for (let i = 0; i < l.file.length; i++) {
			if (!files.has(l.file[i]))
				files.set(l.file[i], {file: l.file[i], rows: new Map(), weight: 0});
			const f = files.get(l.file[i]);
			let row = f.rows.get(l.line[i]);
			if (!row) {
				row = {line: l.line[i], text: l.text[i], fns: new Set()};
				KEYS.forEach(key => { row[key] = 0; });
				f.rows.set(l.line[i], row);
			}
			row.fns.add(l.name[i]);
			KEYS.forEach(key => { row[key] += l[key] ? l[key][i] : 0; });
			f.weight += Math.abs(l.flat[i] - (this.view.base ? l.wasFlat[i] : 0));
		}
		this.files = [...files.values()].sort((a, b) => b.weight - a.weight);
		for (const f of this.files)
			f.sorted = [...f.rows.values()].sort((a, b) => a.line - b.line);
	}

	find(text) {
		const re = text === '' ? null : expression(text);
		this.rows = [];
		for (const f of this.files) {
			const name = this.strings[f.file];
			const lines = f.sorted.filter(r => re === null || re.test(name) || re.test(this.strings[r.text]) ||
				[...r.fns].some(fn => re.test(this.strings[fn])));
			if (lines.length === 0)
				continue;
			this.rows.push({file: f, name});
			let fn = null;
			for (const r of lines) {
				const first = [...r.fns][0];
				this.rows.push({row: r, fn: first !== fn ? this.strings[first] : ''});
				fn = first;
			}
		}
		this.empty.hidden = this.files.length > 0;
		this.list.reset(this.rows.length, false);
	}

	figure(now, was) {
		if (!this.view.base)
			return make('span', {class: 'number', text: now !== 0 ? figureText(this.view, now) : '.'});
		const change = now - was;
		return make('span', {class: 'number ' + changeClass(change), text: change !== 0 ? changeText(this.view, change) : '.'});
	}

	draw(at, row) {
		const {file, name, row: r, fn} = this.rows[at];
		row.style.gridTemplateColumns = this.grid;
		if (file) {
			row.classList.add('file');
			row.style.gridTemplateColumns = '1fr';
			row.append(make('span', {text: name + '  \u00b7  ' + countText(file.sorted.length) +
				(file.sorted.length === 1 ? ' line' : ' lines')}));
			return;
		}
		const text = this.strings[r.text];
		row.append(this.figure(r.flat, r.wasFlat), this.figure(r.cum, r.wasCum),
			make('span', {class: 'number soft', text: String(r.line)}),
			make('span', {}, make('span', {class: text !== '' ? 'code' : 'soft', text: text !== '' ? text : '(text not in the profile)'}),
				make('span', {class: 'soft', text: fn !== '' ? '    in ' + fn : ''})));
	}

	focus() {
		this.list.box.focus();
	}
}
