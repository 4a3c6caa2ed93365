// fails: case_banks
// message: With rows of 34 words, lanes 0 and 16 access the same bank. The length of a row must be odd.
#include <hip/hip_runtime.h>

constexpr int TILE = 32, ROWS = 8;  // a workgroup has TILE x ROWS threads: 4 wavefronts

// Transposes a matrix whose sizes are multiples of TILE, one tile for each workgroup.
extern "C" __global__ void transpose(const float* x, float* y, int rows, int columns) {
  // hole: tile
  __shared__ float tile[TILE][TILE + 2];
  // end: tile
  const int top = blockIdx.y * TILE, left = blockIdx.x * TILE;
  for (int row = threadIdx.y; row < TILE; row += ROWS)
    tile[row][threadIdx.x] = x[(top + row) * columns + left + threadIdx.x];
  // hole: barrier
  // Other wavefronts wrote most of the column that this one reads.
  __syncthreads();
  // end: barrier
  for (int row = threadIdx.y; row < TILE; row += ROWS)
    // hole: store
    y[(left + row) * rows + top + threadIdx.x] = tile[threadIdx.x][row];
    // end: store
}
