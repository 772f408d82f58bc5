// Runs of equal cells, merged into boxes: those of `merged_by_numpy` in `compression.py`.
//
// A box is two flat positions, of its first and of its last cell. Boxes are numbered in the order
// of their first cells. `owner` says of every cell in which run it lies. Where boxes have merged,
// the first one stays, and the others are gone.

#include <stdint.h>
#include <stdlib.h>

enum { RANK = 32 };  // MAX_RANK in `page.py`

static const uint32_t GONE = UINT32_MAX;

typedef struct {
  uint32_t size, stride;
  double equal;  // the share of equal neighbours along it
} axis;

static double equal_share(const int32_t *table, uint32_t cells, uint32_t size, uint32_t stride) {
  uint64_t equal = 0;
  uint32_t pairs = (size - 1) * stride;
  for (uint32_t outer = 0; outer < cells; outer += size * stride) {
    const int32_t *here = table + outer, *next = here + stride;
    uint32_t found = 0;
    for (uint32_t i = 0; i < pairs; i++) found += here[i] == next[i];
    equal += found;
  }
  return (double)equal / ((double)pairs * (cells / (size * stride)));
}

// The axes of more than one cell: the greatest share first, of equal ones the first axis.
static int order_axes(
    const int32_t *table, uint32_t cells, int64_t rank, const int64_t *shape, axis *axes) {
  int count = 0;
  uint32_t stride = cells;
  for (int64_t a = 0; a < rank; a++) {
    uint32_t size = (uint32_t)shape[a];
    stride /= size;
    if (size == 1) continue;
    axis found = {size, stride, equal_share(table, cells, size, stride)};
    int place = count++;
    for (; place > 0 && axes[place - 1].equal < found.equal; place--) axes[place] = axes[place - 1];
    axes[place] = found;
  }
  return count;
}

static uint32_t find_runs(
    const int32_t *table, uint32_t cells, axis along, uint32_t *owner, uint32_t *first,
    uint32_t *last) {
  uint32_t size = along.size, stride = along.stride, runs = 0;
  for (uint32_t at = 0; at < cells;) {
    for (uint32_t j = 0; j < stride; j++, at++) first[runs] = at, owner[at] = runs++;
    for (uint32_t j = stride; j < size * stride; j++, at++) {
      uint32_t before = at - stride;
      if (table[at] == table[before]) {
        owner[at] = owner[before];
      } else {
        last[owner[before]] = before;
        first[runs] = at, owner[at] = runs++;
      }
    }
    for (uint32_t end = at - stride; end < at; end++) last[owner[end]] = end;
  }
  return runs;
}

// Two boxes merge where the second one begins at the cell behind the first, and they agree in value
// and in their extent on all other axes: then their last cells differ by the second one's extent.
static void merge(
    const int32_t *table, axis along, uint32_t runs, const uint32_t *owner, uint32_t *first,
    uint32_t *last) {
  uint32_t size = along.size, stride = along.stride;
  for (uint32_t box = 0; box < runs; box++) {
    uint32_t begin = first[box];
    if (begin == GONE) continue;
    uint32_t low = begin / stride % size;
    for (;;) {
      uint32_t behind = last[box] / stride % size + 1;
      if (behind == size) break;
      uint32_t cell = begin + (behind - low) * stride, next = owner[cell];
      if (first[next] != cell || table[cell] != table[begin]) break;
      uint32_t extent = last[next] / stride % size + 1 - behind;
      if (last[next] - last[box] != extent * stride) break;
      last[box] = last[next];
      first[next] = GONE;
    }
  }
}

// Finds the boxes; the arrays have a place for each cell.
//
// Returns how many there are: the first places of `first` and `last`.
int64_t merge_runs(
    const int32_t *table, int64_t cells, int64_t rank, const int64_t *shape, uint32_t *owner,
    uint32_t *first, uint32_t *last) {
  axis axes[RANK];
  int count = order_axes(table, (uint32_t)cells, rank, shape, axes);
  axis single = {1, 1, 0};
  uint32_t runs = find_runs(table, (uint32_t)cells, count ? axes[0] : single, owner, first, last);
  for (int a = 1; a < count; a++) merge(table, axes[a], runs, owner, first, last);
  int64_t boxes = 0;
  for (uint32_t run = 0; run < runs; run++) {
    if (first[run] == GONE) continue;
    first[boxes] = first[run];
    last[boxes++] = last[run];
  }
  return boxes;
}

static int ascending(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void coordinates(
    uint32_t flat, int64_t rank, const int64_t *shape, uint32_t behind, uint32_t *out) {
  for (int64_t a = rank - 1; a >= 0; a--) {
    uint32_t size = (uint32_t)shape[a];
    out[a] = flat % size + behind;
    flat /= size;
  }
}

// Puts the boxes in order, without those of the value that has most of them, the least such one.
//
// `keys` has a place for each box, as `low`, `high` (of `rank` numbers each) and `value` have: the
// first box is the whole table. Returns how many boxes there are then.
int64_t paint(
    const int32_t *table, int64_t rank, const int64_t *shape, int64_t boxes, const uint32_t *first,
    const uint32_t *last, uint64_t *keys, uint32_t *low, uint32_t *high, int32_t *value) {
  for (int64_t i = 0; i < boxes; i++) {
    uint32_t rising = (uint32_t)table[first[i]] ^ 0x80000000u;
    keys[i] = (uint64_t)rising << 32 | (uint64_t)i;
  }
  qsort(keys, (size_t)boxes, sizeof *keys, ascending);
  int64_t from = 0, to = 0;
  for (int64_t begin = 0, end; begin < boxes; begin = end) {
    for (end = begin; end < boxes && keys[end] >> 32 == keys[begin] >> 32;) end++;
    if (end - begin > to - from) from = begin, to = end;
  }
  for (int64_t a = 0; a < rank; a++) low[a] = 0, high[a] = (uint32_t)shape[a];
  value[0] = table[first[keys[from] & UINT32_MAX]];
  int64_t out = 1;
  for (int64_t i = 0; i < boxes; i++) {
    if (i >= from && i < to) continue;
    uint64_t box = keys[i] & UINT32_MAX;
    coordinates(first[box], rank, shape, 0, low + out * rank);
    coordinates(last[box], rank, shape, 1, high + out * rank);
    value[out++] = table[first[box]];
  }
  return out;
}
