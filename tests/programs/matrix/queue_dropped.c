/* SPDX-License-Identifier: MIT */
/* Subscribers come and go, each with a queue of eight messages. A subscriber that leaves without
 * reading leaves its queue behind: the queue is freed, the messages are lost. */
#include "matrix.h"

#define MESSAGES 8

struct queue {
	char *messages[MESSAGES];
};

static struct queue *subscriber;

SITE static char *
publish(void)
{
	return fill(malloc(2000), 2000);
}

static void
subscribe(void)
{
	subscriber = fill(malloc(sizeof(*subscriber)), sizeof(*subscriber));
	for (int i = 0; i < MESSAGES; i++)
		subscriber->messages[i] = publish();
}

static void
leave(int reads)
{
	for (int i = 0; i < MESSAGES; i++) {
		if (reads)
			free(subscriber->messages[i]);
		subscriber->messages[i] = NULL;
	}
	free(subscriber);
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "publish", "LEAK");
	subscribe();
	while (tick(10)) {
		leave(chance(5) != 0);
		subscribe();
	}
	return 0;
}
