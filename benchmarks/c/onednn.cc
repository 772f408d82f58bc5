// oneDNN: its matrix product, with B as it is, or packed ahead as it likes it best.
#include <cstdio>
#include <unordered_map>

#include <dnnl.hpp>

#include "contender.h"

namespace {

using dnnl::memory;
using tag = memory::format_tag;

enum { PRODUCT, PACKED };  // variants

dnnl::matmul::primitive_desc describe(const dnnl::engine &engine, const memory::desc &a,
                                      const memory::desc &b, const memory::desc &c) {
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::matmul::primitive_desc(engine, a, b, c);
#else
  return dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), engine);
#endif
}

memory::desc matrix(int64_t rows, int64_t columns, tag layout) {
  return memory::desc({rows, columns}, memory::data_type::f32, layout);
}

struct State {
  explicit State(const contender_problem &p)
      : engine(dnnl::engine::kind::cpu, 0),
        stream(engine),
        description(describe(engine, matrix(p.m, p.k, tag::ab),
                             matrix(p.k, p.n, p.variant == PACKED ? tag::any : tag::ab),
                             matrix(p.m, p.n, tag::ab))),
        product(description),
        a(description.src_desc(), engine, const_cast<void *>(p.a)),
        b(matrix(p.k, p.n, tag::ab), engine, const_cast<void *>(p.b)),
        c(description.dst_desc(), engine, p.c) {
    if (p.variant == PACKED) {
      memory packed(description.weights_desc(), engine);
      dnnl::reorder(b, packed).execute(stream, b, packed);
      stream.wait();
      b = packed;
    }
    arguments = {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}};
  }

  dnnl::engine engine;
  dnnl::stream stream;
  dnnl::matmul::primitive_desc description;
  dnnl::matmul product;
  memory a, b, c;
  std::unordered_map<int, memory> arguments;
};

}  // namespace

void *contender_open(const contender_problem *problem) try {
  return new State(*problem);
} catch (const dnnl::error &) {
  return nullptr;
}

void contender_run(void *opened) {
  State &state = *static_cast<State *>(opened);
  state.product.execute(state.stream, state.arguments);
  state.stream.wait();
}

void contender_close(void *opened) { delete static_cast<State *>(opened); }

const char *contender_about() {
  static char text[96];
  const dnnl_version_t *version = dnnl_version();
  std::snprintf(text, sizeof text, "oneDNN %d.%d.%d, instruction set %#x", version->major,
                version->minor, version->patch, unsigned(dnnl::get_effective_cpu_isa()));
  return text;
}
