// QKV split + RoPE: from the joined tensor into queries, keys and values, and (HIPWARD_INVERSE) their gradients back. A thread
// moves one unit of a head; see rope.h.
#include "hipward.h"

#include "rope.h"

extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(HIPWARD_THREADS)
    split(T* qkv, T* q, T* k, T* v, const C* cos, const C* sin, i64 qkv_batch, i64 qkv_position, i64 q_batch, i64 q_position,
          i64 q_head, i64 k_batch, i64 k_position, i64 k_head, i64 v_batch, i64 v_position, i64 v_head, i64 table_batch,
          i64 table_position, u32 units, u32 length, u32 heads, u32 kv_heads, u32 head_units, int pairs) {
  const u32 index = block() * HIPWARD_THREADS + thread();
  if (index >= units) return;
  const u32 all_heads = heads + 2 * kv_heads;
  const u32 unit = index % head_units, row = index / head_units;
  const u32 head = row % all_heads, token = row / all_heads;
  const i64 position = token % length, batch = token / length;
  T* joined = qkv + batch * qkv_batch + position * qkv_position + i64(head) * (2 * N * head_units);
  T* part;
  if (head < heads) {
    part = q + batch * q_batch + position * q_position + head * q_head;
  } else if (head < heads + kv_heads) {
    part = k + batch * k_batch + position * k_position + (head - heads) * k_head;
  } else {
    part = v + batch * v_batch + position * v_position + (head - heads - kv_heads) * v_head;
  }
  const i64 table = batch * table_batch + position * table_position;
  const bool turns = head < heads + kv_heads;
  if (HIPWARD_INVERSE) {
    move_unit(part, joined, cos + table, sin + table, unit, pairs, turns);
  } else {
    move_unit(joined, part, cos + table, sin + table, unit, pairs, turns);
  }
}
