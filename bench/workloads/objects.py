# SPDX-License-Identifier: MIT
"""Object work in Python: dicts, lists, tuples, strings, class instances, some JSON.

Run with PYTHONMALLOC=malloc, so that every object is a block of the C library's allocator.
Usage: objects.py ITEMS
Prints what it made; how many blocks that takes is the interpreter's affair, so it does not
say."""

import json
import sys

BATCH = 5000


class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y


class Order:
    def __init__(self, number, name, lines):
        self.number = number
        self.name = name
        self.lines = lines

    def total(self):
        return sum(quantity * price for quantity, price in self.lines)


def points(first, count):
    """Short-lived instances and tuples, from numbers too large to be shared."""
    made = [Point(n * 1009, n * 2003) for n in range(first, first + count)]
    moved = [(p.x + 70000, p.y - 90000) for p in made]
    return sum(x ^ y for x, y in moved)


def words(first, count):
    """Strings cut, joined and counted in a dict."""
    seen = {}
    for n in range(first, first + count):
        for word in ("name %d of %d" % (n, n % 701)).split():
            seen[word] = seen.get(word, 0) + 1
    return len(seen)


def orders(first, count):
    for n in range(first, first + count):
        yield Order(n, "customer %d" % (n % 997), [(n % 5 + k, n % 89 + 300) for k in range(n % 4)])


def main():
    items = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    kept = {}
    points_sum = words_seen = characters = total = 0
    for first in range(0, items, BATCH):
        count = min(BATCH, items - first)
        points_sum += points(first, count)
        words_seen += words(first, count)
        batch = list(orders(first, count))
        total += sum(order.total() for order in batch)
        for order in batch[::10]:
            kept.setdefault(order.name, []).append(order)
        text = json.dumps([vars(order) for order in batch[::5]])
        characters += len(text)
        total += sum(len(order["lines"]) for order in json.loads(text))
    print("items %d: points %d, words %d, total %d, %d characters of JSON, %d orders kept"
          % (items, points_sum, words_seen, total, characters, sum(map(len, kept.values()))))


main()
