/* SPDX-License-Identifier: MIT */
/* A binary tree of about 20 nodes. Deleting a node with two children moves the next larger key up
 * and unlinks the node that it came from, but forgets to free it. */
#include "matrix.h"

struct leaf {
	struct leaf *left, *right;
	unsigned key;
	char payload[1600];
};

static struct leaf *root;
static unsigned count;

SITE static struct leaf *
new_leaf(unsigned key)
{
	struct leaf *l = fill(calloc(1, sizeof(*l)), sizeof(*l));

	l->left = l->right = NULL;
	l->key = key;
	return l;
}

static void
insert(unsigned key)
{
	struct leaf **at = &root;

	while (*at != NULL) {
		if ((*at)->key == key)
			return;
		at = key < (*at)->key ? &(*at)->left : &(*at)->right;
	}
	*at = new_leaf(key);
	count++;
}

static void
delete_key(unsigned key)
{
	struct leaf **at = &root, *gone;

	while (*at != NULL && (*at)->key != key)
		at = key < (*at)->key ? &(*at)->left : &(*at)->right;
	gone = *at;
	if (gone == NULL)
		return;
	count--;
	if (gone->left == NULL || gone->right == NULL) {
		*at = gone->left != NULL ? gone->left : gone->right;
		free(gone);
		return;
	}
	at = &gone->right;
	while ((*at)->left != NULL)
		at = &(*at)->left;
	gone->key = (*at)->key;
	*at = (*at)->right; /* lost here */
}

/* The key of a node that is up to four steps below the root. */
static unsigned
some_key(void)
{
	struct leaf *l = root;

	for (unsigned steps = chance(5); steps > 0; steps--) {
		struct leaf *next = chance(2) ? l->left : l->right;

		if (next == NULL)
			break;
		l = next;
	}
	return l->key;
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "new_leaf", "LEAK");
	while (tick(2)) {
		while (count < 20)
			insert(chance(100000));
		delete_key(some_key());
	}
	return 0;
}
