// QKV split + RoPE: splits the joined tensor into queries, keys and values; HIPWARD_INVERSE joins their gradients. A thread
// processes one unit of a head; see rope.h. Compile-time macros: those of rope.h, and HIPWARD_KV_HEADS, heads of the keys.
#include "hipward.h"

#include "rope.h"

constexpr u32 KV_HEADS = HIPWARD_KV_HEADS, Q_HEADS = HEADS - 2 * KV_HEADS;

extern "C" __global__ void HIPWARD_LAUNCH_BOUNDS(HIPWARD_THREADS)
    split(T* qkv, T* q, T* k, T* v, const C* cos, const C* sin, i64 qkv_batch, i64 qkv_position, i64 q_batch, i64 q_position,
          i64 q_head, i64 k_batch, i64 k_position, i64 k_head, i64 v_batch, i64 v_position, i64 v_head, i64 table_batch,
          i64 table_position, u32 units, u32 length) {
  const Place at(length);
  if (!HIPWARD_WHOLE && at.index >= units) return;
  T* joined = qkv + at.batch * qkv_batch + at.position * qkv_position + at.head * HEAD_DIM;
  T* part;
  if (at.head < Q_HEADS) {
    part = q + at.batch * q_batch + at.position * q_position + at.head * q_head;
  } else if (at.head < Q_HEADS + KV_HEADS) {
    part = k + at.batch * k_batch + at.position * k_position + (at.head - Q_HEADS) * k_head;
  } else {
    part = v + at.batch * v_batch + at.position * v_position + (at.head - Q_HEADS - KV_HEADS) * v_head;
  }
  const i64 table = at.batch * table_batch + at.position * table_position;
  const bool turns = at.head < Q_HEADS + KV_HEADS;
  if (HIPWARD_INVERSE) {
    move_unit(part, joined, cos + table, sin + table, at.unit, turns);
  } else {
    move_unit(joined, part, cos + table, sin + table, at.unit, turns);
  }
}
