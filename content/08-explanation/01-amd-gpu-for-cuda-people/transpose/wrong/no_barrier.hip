// fails: case_values
// fails: case_banks
// fails: case_segments
// message: A wavefront reads the tile before the others have written their rows. A barrier is missing.
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
  // end: barrier
  for (int row = threadIdx.y; row < TILE; row += ROWS)
    // hole: store
    y[(left + row) * rows + top + threadIdx.x] = tile[threadIdx.x][row];
    // end: store
}
