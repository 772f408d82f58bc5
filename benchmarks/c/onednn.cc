// oneDNN: its matrix product, with B as it is, or packed ahead as it likes it best.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include <dnnl.hpp>

#include "contender.h"

namespace {

using dnnl::memory;
using tag = memory::format_tag;
using type = memory::data_type;

enum { PRODUCT, PACKED };  // variants

dnnl::matmul::primitive_desc describe(const dnnl::engine &engine, const memory::desc &a,
                                      const memory::desc &b, const memory::desc &c) {
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::matmul::primitive_desc(engine, a, b, c);
#else
  return dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), engine);
#endif
}

struct Types {
  type a, b, c;
};

const Types &types_of(const contender_problem &problem) {
  static const std::unordered_map<std::string, Types> known = {
      {"f32", {type::f32, type::f32, type::f32}},
      {"bf16", {type::bf16, type::bf16, type::f32}},
      {"u8s8", {type::u8, type::s8, type::s32}},
  };
  return known.at(problem.dtypes);
}

memory::desc matrix(int64_t rows, int64_t columns, type element, tag layout = tag::ab) {
  return memory::desc({rows, columns}, element, layout);
}

struct State {
  explicit State(const contender_problem &p)
      : engine(dnnl::engine::kind::cpu, 0),
        stream(engine),
        types(types_of(p)),
        description(describe(engine, matrix(p.m, p.k, types.a),
                             matrix(p.k, p.n, types.b, p.variant == PACKED ? tag::any : tag::ab),
                             matrix(p.m, p.n, types.c))),
        product(description),
        a(description.src_desc(), engine, const_cast<void *>(p.a)),
        b(matrix(p.k, p.n, types.b), engine, const_cast<void *>(p.b)),
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
  Types types;
  dnnl::matmul::primitive_desc description;
  dnnl::matmul product;
  memory a, b, c;
  std::unordered_map<int, memory> arguments;
};

}  // namespace

void *contender_open(const contender_problem *problem) try {
  return new State(*problem);
} catch (const std::exception &) {  // dnnl::error, or unknown element types
  return nullptr;
}

void contender_run(void *opened) {
  State &state = *static_cast<State *>(opened);
  state.product.execute(state.stream, state.arguments);
  state.stream.wait();
}

const char *contender_about() {
  static char text[96];
  const dnnl_version_t *version = dnnl_version();
  std::snprintf(text, sizeof text, "oneDNN %d.%d.%d, instruction set %#x", version->major,
                version->minor, version->patch, unsigned(dnnl::get_effective_cpu_isa()));
  return text;
}
