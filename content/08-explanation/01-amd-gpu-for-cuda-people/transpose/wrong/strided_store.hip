// fails: case_segments
// message: Neighbouring lanes store to different rows of `y`. Let the tile turn the matrix, not the store.
#include <hip/hip_runtime.h>

constexpr int TILE = 32, ROWS = 8;  // a workgroup has TILE x ROWS threads: 4 wavefronts

// Transposes a matrix whose sizes are multiples of TILE, one tile for each workgroup.
extern "C" __global__ void transpose(const float* x, float* y, int rows, int columns) {
  // hole: tile
  // Rows of 33 words: the words of a column are in different banks.
  __shared__ float tile[TILE][TILE + 1];
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
    y[(left + threadIdx.x) * rows + top + row] = tile[row][threadIdx.x];
    // end: store
}
