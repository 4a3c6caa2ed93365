// Tiles in shared memory, both orders, with the C launch function in addition to <<<>>>. No header: nvcc includes its own.
template <int TILE>
__global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float left[TILE][TILE + 1], right[TILE][TILE + 1];
    const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int tile = 0; tile < (k + TILE - 1) / TILE; ++tile) {
        const int x = tile * TILE + threadIdx.x, y = tile * TILE + threadIdx.y;
        left[threadIdx.y][threadIdx.x] = row < m && x < k ? a[row * k + x] : 0.0f;
        right[threadIdx.y][threadIdx.x] = y < k && column < n ? b[y * n + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum = fmaf(left[threadIdx.y][i], right[i][threadIdx.x], sum);
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

#if defined(__CUDACC__)
#define TILE_OF_FILE 16
#endif

cudaError_t multiply(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t stream) {
    const dim3 block(TILE_OF_FILE, TILE_OF_FILE), grid((n + 15) / 16, (m + 15) / 16);
    matmul<TILE_OF_FILE><<<grid, block, 0, stream>>>(a, b, c, m, n, k);
    void* arguments[] = {&a, &b, &c, &m, &n, &k};
    cudaError_t status = cudaLaunchKernel(matmul<32>, dim3((n + 31) / 32, (m + 31) / 32), dim3(32, 32), arguments, 0, stream);
    if (status == cudaErrorInvalidConfiguration || status == cudaErrorMemoryAllocation) return status;
    return cudaGetLastError();
}
