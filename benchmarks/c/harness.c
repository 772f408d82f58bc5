/* Runs a contender from C, so that timing it does not time Python. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include <stdint.h>
#include <time.h>

typedef void run(void *opened);

double harness_warm(int clock, run *function, void *opened, int64_t count);
double harness_flushed(int clock, run *function, void *opened, volatile char *memory,
                       int64_t bytes);

static double now(int clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Seconds of so many calls, after one that is not counted and fills the caches. */
double harness_warm(int clock, run *function, void *opened, int64_t count) {
  function(opened);
  const double start = now(clock);
  for (int64_t i = 0; i < count; i++) {
    function(opened);
  }
  return now(clock) - start;
}

/* Seconds of one call, after every line of `memory`, which is larger than all caches, was written. */
double harness_flushed(int clock, run *function, void *opened, volatile char *memory,
                       int64_t bytes) {
  enum { LINE = 64 };
  for (int64_t i = 0; i < bytes; i += LINE) {
    memory[i]++;
  }
  now(clock); /* what reading the clock needs is in the caches again */
  const double start = now(clock);
  function(opened);
  return now(clock) - start;
}
