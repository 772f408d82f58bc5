/* Runs a contender from C, so that timing it does not time Python. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include <stdint.h>
#include <time.h>

typedef void run(void *opened);

double harness_warm(int threads, run *function, void *opened, int64_t count);
double harness_flushed(int threads, run *function, void *opened, volatile char *memory,
                       int64_t bytes);

static double now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Seconds of some calls. Of one thread, the shorter of two times: the wall's clock also counts what
 * the processor did for other programs meanwhile; the processor's clock takes a microsecond to read
 * when caches are empty, so that it is read around the other. */
static double seconds(int threads, run *function, void *opened, int64_t count) {
  const double used = now(CLOCK_PROCESS_CPUTIME_ID);
  const double start = now(CLOCK_MONOTONIC);
  for (int64_t i = 0; i < count; i++) {
    function(opened);
  }
  const double by_wall = now(CLOCK_MONOTONIC) - start;
  const double by_processor = now(CLOCK_PROCESS_CPUTIME_ID) - used;
  return threads == 1 && by_processor < by_wall ? by_processor : by_wall;
}

static void nothing(void *opened) { (void)opened; }

/* Of calls that fill the caches: a third level takes some 20 calls until it keeps all that it will of
 * what is twice as large. */
static const double filling_seconds = 0.03;

/* Seconds of so many calls, after others that are not counted. */
double harness_warm(int threads, run *function, void *opened, int64_t count) {
  const double filled = now(CLOCK_MONOTONIC) + filling_seconds;
  do {
    function(opened);
  } while (now(CLOCK_MONOTONIC) < filled);
  return seconds(threads, function, opened, count);
}

/* Seconds of one call, after every line of `memory`, which is larger than all caches, was written. */
double harness_flushed(int threads, run *function, void *opened, volatile char *memory,
                       int64_t bytes) {
  enum { LINE = 64 };
  for (int64_t i = 0; i < bytes; i += LINE) {
    memory[i]++;
  }
  seconds(threads, nothing, opened, 1); /* what reading the clocks needs is in the caches again */
  return seconds(threads, function, opened, 1);
}
