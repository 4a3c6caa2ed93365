"""The scripts of the TinyLlama workshop: `python -m hipward_kernels.workshop.SCRIPT --help`.

They have the names and options of the workshop's document, and run on a GPU or a CPU; `--size tiny` takes
seconds on a CPU.

| script | what it does |
|---|---|
| `tiny_llama_v1` … `tiny_llama_v4` | trains one version: loss, throughput, parts of a step, memory |
| `run_pytorch_profiler` | profiles a version: trace for Perfetto, kernels by count and time |
| `analyze_kernel_reduction` | compares the kernels of two profiles |
| `analyze_kernel_launches` | reads launches and gaps from a trace of PyTorch's profiler or rocprofv3 |
| `run_deepspeed_flops` | floating-point operations, bytes, roofline; needs no DeepSpeed |
| `memory_bandwidth_analyzer` | bytes that each operator moves, and the rate that a step reaches |
| `fusion_ablation_study` | every switch alone, or all combinations |
| `sequence_length_sweep` | memory and time over the sequence length |
| `optimize_batch_size` | the best batch that fits into a share of the memory |
| `validate_numerical_accuracy` | logits, loss and gradients against float64 |
| `performance_regression_test` | fails if a saved result is slower than another |
| `benchmark_suite` | versions × batch sizes × lengths |
| `decode_benchmark` | decoding one token after another |
| `ddp_scaling` | one GPU and several, by `torchrun`: throughput, efficiency, cost of averaging gradients |
| `compare_versions` | all versions side by side, with a check that they train alike |
| `generate_fusion_report` | what fusion changed, as a page |
| `record_results` | the studies whose results are in this repository |
| `run_all_profilers.sh` | all of the above for one version, and AMD's profilers where they are installed |

`hipward_kernels.models` defines the versions; the scripts do not change their computation.
"""
