// RoPE, forward and (HIPWARD_INVERSE) backward: a thread processes one unit of a head; see rope.h.
#include "hipward.h"

#include "rope.h"

extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(HIPWARD_THREADS)
    rotate(const T* x, const C* cos, const C* sin, T* y, i64 x_batch, i64 x_position, i64 x_head, i64 table_batch,
           i64 table_position, u32 units, u32 length) {
  const Place at(length);
  if (!HIPWARD_WHOLE && at.index >= units) return;
  const i64 table = at.batch * table_batch + at.position * table_position;
  move_unit(x + at.batch * x_batch + at.position * x_position + at.head * x_head,
            y + (i64(at.token) * HEADS + at.head) * HEAD_DIM, cos + table, sin + table, at.unit, true);
}
