/* Runs a contender from C, so that timing it does not time Python. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include <stdint.h>
#include <time.h>

typedef void run(void *opened);

void harness_repeat(run *function, void *opened, int64_t count);
double harness_flushed(run *function, void *opened, volatile char *memory, int64_t bytes);

void harness_repeat(run *function, void *opened, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    function(opened);
  }
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Seconds of one call, after every line of `memory`, which is larger than all caches, was written. */
double harness_flushed(run *function, void *opened, volatile char *memory, int64_t bytes) {
  enum { LINE = 64 };
  for (int64_t i = 0; i < bytes; i += LINE) {
    memory[i]++;
  }
  now(); /* what reading the clock needs is in the caches again */
  const double start = now();
  function(opened);
  return now() - start;
}
