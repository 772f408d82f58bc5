// Eigen: headers only, so it is compiled with the target's flags.
#include <cstdio>

#include <eigen3/Eigen/Core>

#include "contender.h"

namespace {
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
}

void *contender_open(const contender_problem *problem) {
  Eigen::setNbThreads(static_cast<int>(problem->threads));
  return const_cast<contender_problem *>(problem);
}

void contender_run(void *opened) {
  const contender_problem &p = *static_cast<const contender_problem *>(opened);
  const Eigen::Map<const Matrix> a(static_cast<const float *>(p.a), p.m, p.k);
  const Eigen::Map<const Matrix> b(static_cast<const float *>(p.b), p.k, p.n);
  Eigen::Map<Matrix>(static_cast<float *>(p.c), p.m, p.n).noalias() = a * b;
}

const char *contender_about() {
  static char text[96];
  std::snprintf(text, sizeof text, "Eigen %d.%d.%d, %s", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION,
                EIGEN_MINOR_VERSION, Eigen::SimdInstructionSetsInUse());
  return text;
}
