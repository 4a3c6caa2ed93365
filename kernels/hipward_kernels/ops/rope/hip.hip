// RoPE, forward and (HIPWARD_INVERSE) backward: a thread moves one unit of a head; see rope.h.
#include "hipward.h"

#include "rope.h"

extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(HIPWARD_THREADS)
    rotate(const T* x, const C* cos, const C* sin, T* y, i64 x_batch, i64 x_position, i64 x_head, i64 table_batch,
           i64 table_position, u32 units, u32 length, u32 heads, u32 head_units, int pairs) {
  const u32 index = block() * HIPWARD_THREADS + thread();
  if (index >= units) return;
  const u32 unit = index % head_units, row = index / head_units;
  const u32 head = row % heads, token = row / heads;
  const i64 position = token % length, batch = token / length;
  const i64 table = batch * table_batch + position * table_position;
  move_unit(x + batch * x_batch + position * x_position + head * x_head, y + i64(row) * (2 * N * head_units), cos + table,
            sin + table, unit, pairs, true);
}
