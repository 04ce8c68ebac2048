// SPDX-License-Identifier: MIT
// list.js -- elements, and lists of any length of which only what is seen exists.

/** Makes an element. `of` may have class, text, title and attributes; text is never markup. */
export function make(tag, of, ...children) {
	const e = document.createElement(tag);
	for (const key in of) {
		if (key === 'class')
			e.className = of[key];
		else if (key === 'text')
			e.textContent = of[key];
		else
			e.setAttribute(key, of[key]);
	}
	e.append(...children);
	return e;
}

const ROW = 26, MORE = 6;

/** A list in a box that scrolls; a heading may be put before `inner`. `draw(index, row)` fills the row; `open(index)` is Enter or a
 *  double click; `pick(index)` is told what is chosen; `key(event, index)` may use other keys. */
export class List {
	constructor(role, rowRole, on) {
		this.on = on;
		this.count = 0;
		this.chosen = -1;
		this.rowRole = rowRole;
		this.inner = make('div', {class: 'inner', role: 'presentation'});
		this.box = make('div', {class: 'list', role, tabindex: '0'}, this.inner);
		this.box.addEventListener('scroll', () => this.update());
		this.box.addEventListener('keydown', event => this.onKey(event));
		this.box.addEventListener('click', event => this.onClick(event, false));
		this.box.addEventListener('dblclick', event => this.onClick(event, true));
		new ResizeObserver(() => this.update()).observe(this.box);
	}

	/** Shows `count` rows from the beginning, or where it stands. */
	reset(count, keep) {
		this.count = count;
		if (this.chosen >= count)
			this.chosen = count - 1;
		if (!keep) {
			this.chosen = -1;
			this.box.scrollTop = 0;
		}
		this.inner.style.height = count * ROW + 'px';
		this.update();
	}

	update() {
		const from = Math.max(0, Math.floor(this.box.scrollTop / ROW) - MORE);
		const to = Math.min(this.count, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW) + MORE);
		const rows = [];
		for (let i = from; i < to; i++) {
			const row = make('div', {class: 'row', role: this.rowRole, id: this.rowId(i), 'aria-rowindex': i + 1});
			row.style.top = i * ROW + 'px';
			row.style.height = ROW + 'px';
			row.dataset.index = i;
			this.on.draw(i, row);
			if (i === this.chosen) {
				row.classList.add('chosen');
				row.setAttribute('aria-selected', 'true');
			}
			rows.push(row);
		}
		this.inner.replaceChildren(...rows);
		if (this.chosen >= from && this.chosen < to)
			this.box.setAttribute('aria-activedescendant', this.rowId(this.chosen));
		else
			this.box.removeAttribute('aria-activedescendant');
	}

	rowId(i) {
		return this.box.id + '-row-' + i;
	}

	choose(i) {
		if (i < 0 || i >= this.count)
			return;
		this.chosen = i;
		const top = i * ROW, height = this.box.clientHeight - this.inner.offsetTop;
		if (top < this.box.scrollTop)
			this.box.scrollTop = top;
		else if (top + ROW > this.box.scrollTop + height)
			this.box.scrollTop = top + ROW - height;
		if (this.on.pick)
			this.on.pick(i);
		this.update();
	}

	onClick(event, open) {
		const row = event.target.closest('.row');
		if (row === null)
			return;
		const i = Number(row.dataset.index);
		if (this.on.click && this.on.click(event, i))
			return;
		this.choose(i);
		if (open && this.on.open)
			this.on.open(i);
	}

	onKey(event) {
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		const page = Math.max(1, Math.floor(this.box.clientHeight / ROW) - 1);
		const moves = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.count, End: this.count};
		if (this.on.key && this.on.key(event, this.chosen)) {
			event.preventDefault();
		} else if (moves[event.key] !== undefined) {
			event.preventDefault();
			const from = this.chosen < 0 ? (moves[event.key] > 0 ? -1 : 0) : this.chosen;
			this.choose(Math.max(0, Math.min(this.count - 1, from + moves[event.key])));
		} else if (event.key === 'Enter' && this.chosen >= 0 && this.on.open) {
			event.preventDefault();
			this.on.open(this.chosen);
		}
	}
}

/** A cell with a bar behind its text, as wide as the share. */
export function shareCell(text, share, style) {
	const bar = make('i', {});
	bar.style.width = Math.max(0, Math.min(100, 100 * share)) + '%';
	return make('span', {class: 'share ' + (style || '')}, bar, make('span', {text}));
}

/** The word for how a change looks. */
export function changeClass(change) {
	return change > 0 ? 'grew' : change < 0 ? 'shrank' : 'soft';
}
