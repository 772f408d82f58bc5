/* The limit of memory where B is as the problem has it. */
#include "reading.h"

#include "contender.h"

void *contender_open(const contender_problem *problem) { return (void *)problem; }

void contender_run(void *opened) {
  const contender_problem *p = opened;
  read_once(p->b, p->k * p->n * p->b_bytes, (int)p->threads);
}

const char *contender_about(void) { return "B read once"; }
