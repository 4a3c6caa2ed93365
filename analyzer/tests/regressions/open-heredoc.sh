pip install \
  'pynvml' "torch==2.4.0+cu121" <<é && nvidia-smi $(nvcc -gencode `arch=
export CUDA_HOME=${X:-"
