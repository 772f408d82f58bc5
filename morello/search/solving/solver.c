// One variant solved in one pass: the recurrence of `solve.py`, with its every rounding.
//
// A table lies in memory with its last axes being sizes. Where an alternative leads to Specs of its
// own variant, these are no larger along any axis and smaller along one: they come before the Spec
// in memory. So cells are solved in the order of memory, each option being evaluated once, and all
// that it reads is final. What has no such order is found while it is evaluated.
//
// An option is evaluated on many cells at a time. Along the axes behind the last one along which
// its own-variant children are smaller (its *level*), cells do not depend on each other:
//
//   solve(prefix):                      prefix: indices along the first axes
//     options of the level of the prefix, on all cells that begin with it
//     for each index i along the next axis: solve(prefix, i)
//
// Options of the last level refer to cells of their own row. They come by tile size: what a tile
// size reads is final when all smaller ones are done.
//
// All that Python hands over are vectors of int64, written down in `compiled.py`: numbers of
// elements, and addresses. Products and sums are rounded one by one: no contraction and no
// -ffast-math.

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
  AXES = 16,            // of a table, those of length 1 not counted
  ROW = 4096,           // cells of a row of several axes, at most
  LARGE = 1 << 15,      // cells from which on a table is solved by parts that stay in a cache
  CHUNK = 1 << 16,      // bytes to ask for at least
  TILE = 1              // the bit of the axis of tile sizes in a set of axes
};

// What `solve` returns.
enum { SOLVED = 0, NO_MEMORY = 1, NO_ORDER = 2, TOO_LARGE = 3 };

// Streams of every form: what it reads and writes, cell by cell.
enum { CELL, MASK, COST, VOLUME, OWN_STREAMS };

// ------------------------------------------------------------------------------- memory

typedef struct Chunk {
  struct Chunk *before;
  int64_t left;
  char *next;
} Chunk;

static void *take(Chunk **chunks, int64_t bytes) {
  bytes = (bytes + 63) & ~(int64_t)63;
  if (!*chunks || (*chunks)->left < bytes) {
    const int64_t size = bytes > CHUNK ? bytes : CHUNK;
    Chunk *made = malloc(sizeof(Chunk) + 64 + (size_t)size);
    if (!made) return NULL;
    made->before = *chunks;
    made->left = size;
    made->next = (char *)(((uintptr_t)(made + 1) + 63) & ~(uintptr_t)63);
    *chunks = made;
  }
  char *found = (*chunks)->next;
  (*chunks)->next += bytes;
  (*chunks)->left -= bytes;
  return found;
}

static void release(Chunk *chunks) {
  while (chunks) {
    Chunk *before = chunks->before;
    free(chunks);
    chunks = before;
  }
}

// ---------------------------------------------------------------- what Python hands over

// A box: [axes, sizes], then for each axis in the order of memory
// [coordinate, length, values, ranks, last]; `ranks` has an index for each value up to `last`.
typedef struct {
  int64_t coordinate, length;
  const int64_t *values, *ranks;
  int64_t last;
} Axis;

static Axis axis_of(const int64_t *box, int64_t axis) {
  const int64_t *at = box + 2 + 5 * axis;
  return (Axis){at[0], at[1], (const int64_t *)at[2], (const int64_t *)at[3], at[4]};
}

// An array: [address, step of tile sizes, step of each coordinate]; a step is 0 where it does not
// vary. A form: [rank, tile sizes, their number, uses], then the arrays `mask` (bytes) and `cost`
// (doubles), then for each use `weight` (doubles), the number of coordinates, and an array of int64
// for each.
typedef struct {
  int64_t rank, tiles, uses;
  const int64_t *sizes, *arrays;
} Described;

static Described described(const int64_t *form) {
  return (Described){form[0], form[2], form[3], (const int64_t *)form[1], form + 4};
}

// ------------------------------------------------------------------------------- a form

// Where a stream is: elements from one tile size to the next, and along each axis of the table.
typedef struct {
  int64_t tile, step[AXES];
} Stream;

// Offsets in a child's table that vary with the same axes.
typedef struct {
  int64_t axes;  // a set of bits: TILE, and 2 << axis
  int32_t *offsets;
  Stream stream;
} Group;

typedef struct {
  const float *table;
  int own;
  const double *weight;
  int64_t fixed;                 // offset of all cells
  const Group *along;            // what varies along a row, none if nothing does
  int contiguous;                // along a row, one after the other
  int count;                     // of the others
  const Group *others[AXES + 1];
} Child;

typedef struct {
  int64_t tiles, first;          // options, and the number of the first
  const int64_t *sizes;          // of the tiles, if it has any
  int level;                     // the last axis along which own children move; -1: none
  int outer;                     // axes before those of a row
  int64_t row;                   // cells of a row
  const uint8_t *mask;
  const double *cost;            // none: 0 everywhere
  int64_t mask_step, cost_step, volume_step;  // along a row
  int64_t children, streams;
  Child *child;
  Stream *stream;                // OWN_STREAMS, then for each child weight, along, others
  int64_t *base, *at;            // positions of the streams
} Form;

// An option of the last level, in the order in which a row takes them.
typedef struct {
  int64_t size, tile;
  Form *form;
} Turn;

typedef struct {
  Chunk *chunks;
  int axes, used;                // of length over 1, and how many of them are used memory
  int64_t length[AXES], coordinate[AXES], stride[AXES], cells;
  int64_t index[AXES];
  const double *volume;
  Stream volumes;
  float *costs;
  int16_t *choices;
  int64_t forms;
  Form *form;
  int deepest;                   // level
  Turn *turn;
  int64_t turns;
  int64_t longest;               // of all rows
  float *total, *values, *weights;
  int status, again;
  int64_t read;                  // the last cell of a row that an option of its own level read
} Solver;

static Stream stream_of(const Solver *s, const int64_t *array) {
  Stream found = {.tile = array[1]};
  for (int a = 0; a < s->axes; a++) found.step[a] = array[2 + s->coordinate[a]];
  return found;
}

static int64_t axes_of(const Solver *s, const Stream *stream) {
  int64_t found = stream->tile ? TILE : 0;
  for (int a = 0; a < s->axes; a++)
    if (stream->step[a]) found |= (int64_t)2 << a;
  return found;
}

// A dense array over a set of axes.
static Stream dense(const Solver *s, int64_t axes, int64_t tiles, int64_t *size) {
  Stream found = {0};
  int64_t step = 1;
  for (int a = s->axes - 1; a >= 0; a--)
    if (axes & ((int64_t)2 << a)) {
      found.step[a] = step;
      step *= s->length[a];
    }
  if (axes & TILE) {
    found.tile = step;
    step *= tiles;
  }
  *size = step;
  return found;
}

// Positions of two streams while all indices of a set of axes are visited, the last axis first.
typedef struct {
  int64_t axes, tiles, tile, index[AXES], left, right;
} Walk;

static int next(const Solver *s, Walk *w, const Stream *left, const Stream *right) {
  for (int a = s->axes - 1; a >= 0; a--) {
    if (!(w->axes & ((int64_t)2 << a))) continue;
    w->left += left->step[a];
    w->right += right->step[a];
    if (++w->index[a] < s->length[a]) return 1;
    w->left -= left->step[a] * s->length[a];
    w->right -= right->step[a] * s->length[a];
    w->index[a] = 0;
  }
  if (!(w->axes & TILE)) return 0;
  w->left += left->tile;
  w->right += right->tile;
  return ++w->tile < w->tiles;
}

static int64_t rank_of(const Axis *axis, int64_t value) {
  if (!axis->ranks) return 0;
  return axis->ranks[value < 0 ? 0 : value > axis->last ? axis->last : value];
}

// The group of a child for a set of axes; a new one is full of zeros.
static Group *group_for(Solver *s, Group *groups, int *count, int64_t axes, int64_t tiles) {
  for (int g = 0; g < *count; g++)
    if (groups[g].axes == axes) return &groups[g];
  if (*count == AXES + 1) return NULL;  // of a child with more axes than any table here
  Group *made = &groups[*count];
  int64_t size;
  made->axes = axes;
  made->stream = dense(s, axes, tiles, &size);
  made->offsets = take(&s->chunks, size * (int64_t)sizeof(int32_t));
  if (!made->offsets) return NULL;
  memset(made->offsets, 0, (size_t)size * sizeof(int32_t));
  ++*count;
  return made;
}

// Whether a coordinate of an own child is the Spec's.
static int stays(const Solver *s, const int64_t *array, const Stream *from, int a, Axis axis) {
  if (axes_of(s, from) != (int64_t)2 << a) return 0;
  const int64_t *values = (const int64_t *)array[0];
  if (from->step[a] == 1 && values == axis.values) return 1;
  for (int64_t i = 0; i < axis.length; i++)
    if (rank_of(&axis, values[i * from->step[a]]) != i) return 0;
  return 1;
}

// Add the ranks of one coordinate, times its stride, to the offsets of a child.
static int add_ranks(Solver *s, Child *child, Group *groups, int *count, const int64_t *array,
                     const Stream *from, Axis axis, int64_t stride, int64_t tiles) {
  const int64_t axes = axes_of(s, from);
  const int64_t *values = (const int64_t *)array[0];
  if (!axes) {
    child->fixed += rank_of(&axis, values[0]) * stride;
    return 1;
  }
  Group *group = group_for(s, groups, count, axes, tiles);
  if (!group) return 0;
  Walk walk = {.axes = axes, .tiles = tiles};
  do group->offsets[walk.left] += (int32_t)(rank_of(&axis, values[walk.right]) * stride);
  while (next(s, &walk, &group->stream, from));
  return 1;
}

// The axes from one on.
static int64_t from_axis(const Solver *s, int a) {
  return (((int64_t)2 << s->axes) - 1) & ~(((int64_t)2 << a) - 1);
}

typedef struct {
  Group groups[AXES + 1];
  int count;
} Groups;

// The first axis of a form's rows: of those behind its level, as many of the last ones as the form
// is the same along, but for offsets and volumes.
static int first_of_row(const Solver *s, const Form *f, const Groups *groups) {
  int first = s->axes - 1;
  int64_t row = s->length[first];
  while (first > f->level + 1) {
    const int a = first - 1;
    const int64_t behind = from_axis(s, a);
    // Volumes are there for sizes alone: a row over used memory would walk past their end.
    if (row * s->length[a] > ROW || (f->cost && a < s->used)) break;
    int same = !(axes_of(s, &f->stream[MASK]) & behind);
    same &= !f->cost || !(axes_of(s, &f->stream[COST]) & behind);
    int64_t next_stream = OWN_STREAMS;
    for (int64_t c = 0; c < f->children && same; c++) {
      same &= !(axes_of(s, &f->stream[next_stream]) & behind);
      for (int g = 0; g < groups[c].count; g++) {
        const int64_t axes = groups[c].groups[g].axes;
        // `join` makes one array of all that varies along a row. With no outer axis it stays small.
        same &= !(axes & behind) || !(axes & ~behind & ~(int64_t)TILE);
      }
      next_stream += 2 + groups[c].count;
    }
    if (!same) break;
    row *= s->length[a];
    first = a;
  }
  return first;
}

// All groups that vary along rows, as one that has every cell of them.
static Group *join(Solver *s, const Groups *from, int first, int64_t tiles) {
  const int64_t behind = from_axis(s, first);
  int64_t axes = 0;
  for (int g = 0; g < from->count; g++)
    if (from->groups[g].axes & behind) axes |= from->groups[g].axes;
  if (!axes) return NULL;
  Group *made = take(&s->chunks, sizeof(Group));
  int count = 0;
  if (!made || !(made = group_for(s, made, &count, axes | behind, tiles))) {
    s->status = NO_MEMORY;
    return NULL;
  }
  for (int g = 0; g < from->count; g++) {
    const Group *group = &from->groups[g];
    if (!(group->axes & behind)) continue;
    Walk walk = {.axes = made->axes, .tiles = tiles};
    do made->offsets[walk.left] += group->offsets[walk.right];
    while (next(s, &walk, &made->stream, &group->stream));
  }
  return made;
}

// A joined group is dense over the axes of rows, which are its innermost ones.
static int is_contiguous(const Solver *s, const Group *group, int64_t row, int64_t tiles) {
  int64_t size;
  dense(s, group->axes, tiles, &size);
  for (int64_t start = 0; start < size; start += row)
    for (int64_t i = 1; i < row; i++)
      if (group->offsets[start + i] != group->offsets[start] + i) return 0;
  return 1;
}

// A child: its streams go where the form's next ones are.
static int make_child(Solver *s, Form *f, int64_t number, const int64_t *box, const int64_t *arrays,
                      int64_t record, Groups *groups) {
  Child *child = &f->child[number];
  int64_t stride = 1;
  groups->count = 0;
  const int64_t *coordinates = arrays + record + 1;
  for (int64_t n = box[0] - 1; n >= 0; n--) {
    const Axis axis = axis_of(box, n);
    if (axis.length == 1) continue;
    const int64_t *array = coordinates + axis.coordinate * record;
    const Stream from = stream_of(s, array);
    if (child->own)
      for (int a = 0; a < s->axes; a++)
        if (s->coordinate[a] == axis.coordinate && a > f->level && !stays(s, array, &from, a, axis))
          f->level = a;
    if (!add_ranks(s, child, groups->groups, &groups->count, array, &from, axis, stride, f->tiles))
      return NO_MEMORY;
    // Offsets are less than this product, so that it bounds them. Those made so far are not used
    // then.
    stride *= axis.length;
    if (stride > INT32_MAX) return TOO_LARGE;
  }
  return SOLVED;
}

static int make_form(Solver *s, Form *f, const int64_t *form, int64_t first,
                     const int64_t *const *boxes, const float *const *tables) {
  const Described d = described(form);
  const int64_t record = 2 + d.rank;
  *f = (Form){.tiles = d.tiles, .sizes = d.sizes, .first = first, .children = d.uses, .level = -1};
  f->mask = (const uint8_t *)d.arrays[0];
  f->cost = (const double *)d.arrays[record];
  f->child = take(&s->chunks, d.uses * (int64_t)sizeof(Child));
  Groups *groups = take(&s->chunks, d.uses * (int64_t)sizeof(Groups));
  // Of each child: the weight, what varies along a row, and at most AXES + 1 groups.
  const int64_t most = OWN_STREAMS + d.uses * (AXES + 3);
  f->stream = take(&s->chunks, most * (int64_t)sizeof(Stream));
  f->base = take(&s->chunks, most * (int64_t)sizeof(int64_t));
  f->at = take(&s->chunks, most * (int64_t)sizeof(int64_t));
  if (!f->child || !groups || !f->stream || !f->base || !f->at) return NO_MEMORY;

  f->stream[CELL] = (Stream){0};
  for (int a = 0; a < s->axes; a++) f->stream[CELL].step[a] = s->stride[a];
  f->stream[MASK] = stream_of(s, d.arrays);
  f->stream[COST] = stream_of(s, d.arrays + record);
  f->stream[VOLUME] = s->volumes;
  if (!axes_of(s, &f->stream[COST]) && f->cost[0] == 0) f->cost = NULL;

  const int64_t *arrays = d.arrays + 2 * record;
  int64_t streams = OWN_STREAMS;
  for (int64_t c = 0; c < d.uses; c++) {
    f->child[c] = (Child){.table = tables[c], .own = tables[c] == s->costs};
    f->child[c].weight = (const double *)arrays[0];
    f->stream[streams] = stream_of(s, arrays);
    const int status = make_child(s, f, c, boxes[c], arrays, record, &groups[c]);
    if (status) return status;
    streams += 2 + groups[c].count;
    arrays += record + 1 + arrays[record] * record;
  }
  // A form without own children may be evaluated at any level. Of a large table it is done for one
  // amount of used memory at a time: all options then find the same part in a cache.
  if (f->level < 0 && s->cells > LARGE) f->level = (s->used < s->axes ? s->used : s->axes - 1) - 1;

  f->outer = first_of_row(s, f, groups);
  f->row = 1;
  for (int a = f->outer; a < s->axes; a++) f->row *= s->length[a];
  if (f->row > s->longest) s->longest = f->row;
  const int64_t behind = from_axis(s, f->outer);
  const int last = s->axes - 1;
  f->mask_step = f->stream[MASK].step[last];
  f->cost_step = f->stream[COST].step[last];
  f->volume_step = f->stream[VOLUME].step[last];
  f->streams = OWN_STREAMS;
  for (int64_t c = 0, from = OWN_STREAMS; c < d.uses; c++) {
    Child *child = &f->child[c];
    const int64_t skipped = 2 + groups[c].count;
    f->stream[f->streams++] = f->stream[from];
    from += skipped;
    child->along = join(s, &groups[c], f->outer, f->tiles);
    if (s->status) return s->status;
    f->stream[f->streams++] = child->along ? child->along->stream : (Stream){0};
    child->contiguous = child->along && is_contiguous(s, child->along, f->row, f->tiles);
    for (int g = 0; g < groups[c].count; g++)
      if (!(groups[c].groups[g].axes & behind)) {
        child->others[child->count++] = &groups[c].groups[g];
        f->stream[f->streams++] = groups[c].groups[g].stream;
      }
  }
  return SOLVED;
}

// ------------------------------------------------------------------------------- a row

static void set(float *restrict r, float v, int64_t n) {
  for (int64_t j = 0; j < n; j++) r[j] = v;
}

// A term of a row: set, or added to those before it.
// A weight of 0 says that the sub-Spec is not there. What was read in its place may be infinite,
// and infinity times 0 is no number: so 0 is put there.
static void term(float *restrict r, const float *restrict v, const float *restrict w, float weight,
                 int64_t n, int first) {
  if (w && first)
    for (int64_t j = 0; j < n; j++) r[j] = w[j] > 0 ? v[j] * w[j] : 0;
  else if (w)
    for (int64_t j = 0; j < n; j++) r[j] += w[j] > 0 ? v[j] * w[j] : 0;
  else if (weight == 1 && first)
    memcpy(r, v, (size_t)n * sizeof(float));
  else if (weight == 1)
    for (int64_t j = 0; j < n; j++) r[j] += v[j];
  else if (first)
    for (int64_t j = 0; j < n; j++) r[j] = v[j] * weight;
  else
    for (int64_t j = 0; j < n; j++) r[j] += v[j] * weight;
}

static void add_base(float *restrict r, const double *cost, int64_t cost_step, const double *volume,
                     int64_t volume_step, int64_t n, int first) {
  if (first) set(r, 0, n);
  if (!cost_step && volume_step == 1)
    for (int64_t j = 0; j < n; j++) r[j] += (float)(*cost / volume[j]);
  else
    for (int64_t j = 0; j < n; j++) r[j] += (float)(cost[j * cost_step] / volume[j * volume_step]);
}

static int choose(const float *restrict r, float *restrict costs, int16_t *restrict choices,
                  int16_t option, int64_t n) {
  // The first pass only reads: an option that improves nothing writes nothing. Where nothing
  // applies, both costs are infinite, and the choice of -1 stays: no option comes before it.
  int any = 0;
  for (int64_t j = 0; j < n; j++)
    any |= (r[j] < costs[j]) | ((r[j] == costs[j]) & (choices[j] > option));
  if (any)
    for (int64_t j = 0; j < n; j++) {
      const int better = (r[j] < costs[j]) | ((r[j] == costs[j]) & (choices[j] > option));
      choices[j] = better ? option : choices[j];
      costs[j] = better ? r[j] : costs[j];
    }
  return any;
}

// What an own child reads has to be final: in a row before this one, or, for options of the last
// level, at cells of this row that no option will change any more.
static void check_order(Solver *s, const Form *f, int64_t cell, int64_t n, int64_t start,
                        const int32_t *along) {
  if (f->level < s->axes - 1) {
    if (start + (along ? *along : 0) >= cell) s->status = NO_ORDER;
    return;
  }
  int64_t top = start;
  if (along) {
    int32_t most = along[0];
    for (int64_t j = 1; j < n; j++) most = along[j] > most ? along[j] : most;
    top += most;
  }
  if (top >= cell) s->again = 1;
  if (top >= f->at[CELL] + f->row) s->status = NO_ORDER;
  if (top > s->read) s->read = top;
}

static int evaluate_row(Solver *s, const Form *f, int64_t option) {
  const int64_t *at = f->at;
  // What the mask refuses at both ends is cut off. What it refuses in between is evaluated with
  // the rest, and made infinite at the end.
  const uint8_t *mask = f->mask + at[MASK];
  int64_t low = 0, high = f->row;
  if (!f->mask_step) {
    if (!*mask) return 0;
  } else {
    while (low < high && !mask[low * f->mask_step]) low++;
    while (high > low && !mask[(high - 1) * f->mask_step]) high--;
    if (low == high) return 0;
  }
  const int64_t n = high - low, cell = at[CELL] + low;
  // An option before this one read cells that this one may still change.
  if (f->level == s->axes - 1 && cell <= s->read) s->again = 1;
  float *total = s->total;
  int first = 1;
  int64_t stream = OWN_STREAMS;
  for (int64_t c = 0; c < f->children; c++) {
    const Child *child = &f->child[c];
    const int64_t weight_step = f->stream[stream].step[s->axes - 1];
    const double *weight = child->weight + at[stream] + low * weight_step;
    const int32_t *along = child->along ? child->along->offsets + at[stream + 1] + low : NULL;
    stream += 2;
    int64_t start = child->fixed;
    for (int g = 0; g < child->count; g++) start += child->others[g]->offsets[at[stream++]];
    if (!weight_step && !(*weight > 0)) continue;
    if (child->own) {
      check_order(s, f, cell, n, start, along);
      if (s->status) return 0;
    }
    const float *values = child->table + start, *weights = NULL;
    if (weight_step) {
      for (int64_t j = 0; j < n; j++) s->weights[j] = (float)weight[j * weight_step];
      for (int64_t j = 0; j < n; j++)
        if (!(weight[j * weight_step] > 0)) s->weights[j] = 0;
      weights = s->weights;
    }
    if (!along && !weights) {
      const float value = (float)*weight == 1 ? *values : *values * (float)*weight;
      if (first) set(total, value, n);
      else for (int64_t j = 0; j < n; j++) total[j] += value;
    } else {
      if (!along) {
        set(s->values, *values, n);
        values = s->values;
      } else if (child->contiguous) {
        values += *along;
      } else {
        for (int64_t j = 0; j < n; j++) s->values[j] = values[along[j]];
        values = s->values;
      }
      term(total, values, weights, weights ? 0 : (float)*weight, n, first);
    }
    first = 0;
  }
  if (f->cost) {
    const double *cost = f->cost + at[COST] + low * f->cost_step;
    const double *volume = s->volume + at[VOLUME] + low * f->volume_step;
    add_base(total, cost, f->cost_step, volume, f->volume_step, n, first);
  } else if (first) {
    set(total, 0, n);
  }
  if (f->mask_step)
    for (int64_t j = 0; j < n; j++)
      if (!mask[(low + j) * f->mask_step]) total[j] = INFINITY;
  return choose(total, s->costs + cell, s->choices + cell, (int16_t)option, n);
}

// ------------------------------------------------------------------------------- a table

// Where a form's streams are for a prefix, without tile size.
static void go_to(const Solver *s, Form *f, int depth) {
  for (int64_t i = 0; i < f->streams; i++) {
    int64_t at = 0;
    for (int a = 0; a < depth; a++) at += s->index[a] * f->stream[i].step[a];
    f->base[i] = at;
  }
}

static int evaluate(Solver *s, Form *f, int64_t tile, int depth) {
  int64_t index[AXES] = {0};
  int any = 0;
  for (int64_t i = 0; i < f->streams; i++) f->at[i] = f->base[i] + tile * f->stream[i].tile;
  for (;;) {
    any |= evaluate_row(s, f, f->first + tile);
    int a = f->outer - 1;
    for (; a >= depth; a--) {
      if (++index[a] < s->length[a]) {
        for (int64_t i = 0; i < f->streams; i++) f->at[i] += f->stream[i].step[a];
        break;
      }
      index[a] = 0;
      const int64_t back = s->length[a] - 1;
      for (int64_t i = 0; i < f->streams; i++) f->at[i] -= f->stream[i].step[a] * back;
    }
    if (a < depth || s->status) return any;
  }
}

// Options that refer to cells of their own row, by tile size; again, should one have come too late.
static void solve_row(Solver *s) {
  for (int64_t i = 0; i < s->forms; i++)
    if (s->form[i].level == s->axes - 1) go_to(s, &s->form[i], s->axes - 1);
  // A cell depends on earlier ones of its row alone. So each round makes one more final, at least,
  // and this ends.
  int changed;
  do {
    s->read = -1;
    s->again = changed = 0;
    for (int64_t i = 0; i < s->turns && !s->status; i++)
      changed |= evaluate(s, s->turn[i].form, s->turn[i].tile, s->axes - 1);
  } while (s->again && changed && !s->status);
}

// Smaller tile sizes first; of one size, the earlier option.
static int by_size(const void *left, const void *right) {
  const Turn *a = left, *b = right;
  if (a->size != b->size) return a->size < b->size ? -1 : 1;
  if (a->form != b->form) return a->form < b->form ? -1 : 1;
  return 0;
}

static int take_turns(Solver *s) {
  const int last = s->axes - 1;
  for (int64_t i = 0; i < s->forms; i++)
    if (s->form[i].level == last) s->turns += s->form[i].tiles;
  s->turn = take(&s->chunks, s->turns * (int64_t)sizeof(Turn));
  if (!s->turn) return NO_MEMORY;
  Turn *turn = s->turn;
  for (int64_t i = 0; i < s->forms; i++) {
    Form *f = &s->form[i];
    if (f->level == last)
      for (int64_t tile = 0; tile < f->tiles; tile++)
        *turn++ = (Turn){f->sizes ? f->sizes[tile] : 0, tile, f};
  }
  qsort(s->turn, (size_t)s->turns, sizeof(Turn), by_size);
  return SOLVED;
}

static void solve_from(Solver *s, int depth) {
  for (int64_t i = 0; i < s->forms; i++) {
    Form *f = &s->form[i];
    if (f->level != depth - 1 || f->level == s->axes - 1) continue;
    go_to(s, f, depth);
    for (int64_t tile = 0; tile < f->tiles; tile++) {
      evaluate(s, f, tile, depth);
      if (s->status) return;
    }
  }
  if (s->deepest < depth) return;
  if (depth == s->axes - 1) {
    solve_row(s);
    return;
  }
  for (int64_t i = 0; i < s->length[depth] && !s->status; i++) {
    s->index[depth] = i;
    solve_from(s, depth + 1);
  }
}

static int make_table(Solver *s, const int64_t *box) {
  s->cells = 1;
  for (int64_t n = 0; n < box[0]; n++) {
    const Axis axis = axis_of(box, n);
    s->cells *= axis.length;
    if (axis.length == 1) continue;
    if (s->axes == AXES) return TOO_LARGE;
    s->used += axis.coordinate >= box[1];
    s->coordinate[s->axes] = axis.coordinate;
    s->length[s->axes++] = axis.length;
  }
  // Rows need an axis. No array has a step along this one.
  if (!s->axes) s->length[s->axes++] = 1;
  for (int64_t a = s->axes - 1, stride = 1; a >= 0; stride *= s->length[a--]) s->stride[a] = stride;

  // The volume of each combination of sizes: a product in the order of the dimensions.
  int64_t sizes = 1;
  for (int a = s->used; a < s->axes; a++) {
    sizes *= s->length[a];
    s->volumes.step[a] = s->stride[a];
  }
  double *volume = take(&s->chunks, sizes * (int64_t)sizeof(double));
  if (!volume) return NO_MEMORY;
  for (int64_t i = 0; i < sizes; i++) volume[i] = 1;
  int64_t inner = sizes;
  for (int64_t n = 0; n < box[0]; n++) {
    const Axis axis = axis_of(box, n);
    if (axis.coordinate >= box[1]) continue;
    inner /= axis.length;
    for (int64_t i = 0; i < sizes; i++) volume[i] *= (double)axis.values[i / inner % axis.length];
  }
  s->volume = volume;
  return SOLVED;
}

// Solve every Spec of a box.
//
// forms, firsts: of each alternative, and its first option. boxes, tables: of each use, those of a
// form after those of the one before. costs, choices: to be written.
int solve(const int64_t *box, int64_t count, const int64_t *const *forms, const int64_t *firsts,
          const int64_t *const *boxes, const float *const *tables, float *costs, int16_t *choices);

int solve(const int64_t *box, int64_t count, const int64_t *const *forms, const int64_t *firsts,
          const int64_t *const *boxes, const float *const *tables, float *costs, int16_t *choices) {
  Solver s = {.costs = costs, .choices = choices, .forms = count, .deepest = -1};
  s.status = make_table(&s, box);
  s.form = take(&s.chunks, count * (int64_t)sizeof(Form));
  if (!s.form) s.status = NO_MEMORY;
  for (int64_t i = 0; i < count && !s.status; i++) {
    s.status = make_form(&s, &s.form[i], forms[i], firsts[i], boxes, tables);
    boxes += s.form[i].children;
    tables += s.form[i].children;
    if (s.form[i].level > s.deepest) s.deepest = s.form[i].level;
  }
  if (!s.status) s.status = take_turns(&s);
  if (!s.status) {
    s.total = take(&s.chunks, s.longest * (int64_t)sizeof(float));
    s.values = take(&s.chunks, s.longest * (int64_t)sizeof(float));
    s.weights = take(&s.chunks, s.longest * (int64_t)sizeof(float));
    if (!s.total || !s.values || !s.weights) s.status = NO_MEMORY;
  }
  if (!s.status) {
    for (int64_t i = 0; i < s.cells; i++) costs[i] = INFINITY;
    for (int64_t i = 0; i < s.cells; i++) choices[i] = -1;
    solve_from(&s, 0);
  }
  release(s.chunks);
  return s.status;
}
